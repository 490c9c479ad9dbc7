"""Scikit-learn estimators: thin shells over targets, methods and posteriors."""

from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.regressor import PMCNetRegressor
from pmcnet.estimators.results import Uncertainty

__all__ = ["PMCNetClassifier", "PMCNetRegressor", "Uncertainty"]

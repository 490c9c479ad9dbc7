"""Scikit-learn estimators: thin shells over targets, methods and posteriors."""

from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.predictions import Uncertainty
from pmcnet.estimators.regressor import PMCNetRegressor

__all__ = ["PMCNetClassifier", "PMCNetRegressor", "Uncertainty"]

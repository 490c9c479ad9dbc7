"""scikit-learn's linear models: Bayesian ridge regression, and logistic regression."""

from dataclasses import dataclass
from typing import ClassVar

from pmcnet.competitors.base import Array, CompetingModel, FittedModel, Rows, fitted_classifier
from pmcnet.competitors.gaussians import Gaussians

_MODULES = ("sklearn.linear_model", "sklearn.pipeline", "sklearn.preprocessing")


@dataclass(frozen=True)
class LinearNumbers(CompetingModel):
    """`BayesianRidge`, a Gaussian for each row."""

    modules: ClassVar[tuple[str, ...]] = _MODULES
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs are scaled; noise and prior are found by the evidence."""
        from sklearn.linear_model import BayesianRidge  # type: ignore[import-untyped]
        from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
        from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

        model = make_pipeline(StandardScaler(), BayesianRidge()).fit(rows.values, y)

        def predict(rows: Rows) -> Gaussians:
            mean, deviation = model.predict(rows.values, return_std=True)
            return Gaussians(mean[None], deviation[None])

        return FittedModel(predict)


@dataclass(frozen=True)
class LinearClasses(CompetingModel):
    """`LogisticRegression`.

    Args:
        max_iter: of its optimiser.
    """

    max_iter: int = 1000

    modules: ClassVar[tuple[str, ...]] = _MODULES
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs are scaled."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        logistic = LogisticRegression(max_iter=self.max_iter, random_state=seed)
        return fitted_classifier(make_pipeline(StandardScaler(), logistic).fit(rows.values, y))

"""scikit-learn's random forest; of numbers with a noise that its out-of-bag residuals show."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pmcnet.competitors.base import Array, CompetingModel, FittedModel, Rows, fitted_classifier
from pmcnet.competitors.gaussians import Gaussians


@dataclass(frozen=True)
class RandomForestNumbers(CompetingModel):
    """`RandomForestRegressor`, and a Gaussian of one width for all rows."""

    modules: ClassVar[tuple[str, ...]] = ("sklearn.ensemble",)
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """The variance is the mean square of what trees miss on rows that they were not given."""
        from sklearn.ensemble import RandomForestRegressor  # type: ignore[import-untyped]

        model = RandomForestRegressor(oob_score=True, random_state=seed).fit(rows.values, y)
        residual = np.sqrt(np.mean((model.oob_prediction_ - y) ** 2))
        width = max(float(residual), np.finfo(np.float64).tiny ** 0.25)

        def predict(rows: Rows) -> Gaussians:
            mean = model.predict(rows.values)
            return Gaussians(mean[None], np.full((1, len(mean)), width))

        return FittedModel(predict, "noise: mean square of the out-of-bag residuals")


@dataclass(frozen=True)
class RandomForestClasses(CompetingModel):
    """`RandomForestClassifier`."""

    modules: ClassVar[tuple[str, ...]] = ("sklearn.ensemble",)
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """The package's defaults: a class that no tree votes for has probability 0."""
        from sklearn.ensemble import RandomForestClassifier

        return fitted_classifier(RandomForestClassifier(random_state=seed).fit(rows.values, y))

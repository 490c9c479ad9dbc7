"""Five of scikit-learn's perceptrons with early stopping, averaged."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pmcnet.competitors.base import Array, Classes, CompetingModel, FittedModel, Rows
from pmcnet.competitors.gaussians import Gaussians, Units


@dataclass(frozen=True)
class MLPEnsemble(CompetingModel):
    """Knobs of both.

    Args:
        n_members: networks.
    """

    n_members: int = 5

    modules: ClassVar[tuple[str, ...]] = (
        "sklearn.neural_network",
        "sklearn.pipeline",
        "sklearn.preprocessing",
    )
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fitted(self, model: type, rows: Rows, y: Array, seed: int) -> list[Any]:
        """Members of this class of scikit-learn's, each with a seed of its own, inputs scaled."""
        from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
        from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

        first = self.n_members * seed % (2**32 - self.n_members)  # numpy takes no larger seeds
        seeds = range(first, first + self.n_members)
        members = [
            make_pipeline(StandardScaler(), model(early_stopping=True, random_state=own))
            for own in seeds
        ]
        return [member.fit(rows.values, y) for member in members]


@dataclass(frozen=True)
class MLPEnsembleNumbers(MLPEnsemble):
    """`MLPRegressor(early_stopping=True)`, and one noise variance."""

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs and y are scaled."""
        from sklearn.neural_network import MLPRegressor  # type: ignore[import-untyped]

        units = Units.of(y)
        members = self.fitted(MLPRegressor, rows, units.scaled(y), seed)

        def each(rows: Rows) -> Array:
            return np.stack([member.predict(rows.values) for member in members])  # (K, N)

        noise = np.mean((units.scaled(y) - each(rows).mean(0)) ** 2)

        def predict(rows: Rows) -> Gaussians:
            found = each(rows)
            deviation = np.sqrt(found.var(0) + noise)
            return Gaussians.in_units(found.mean(0)[None], deviation[None], units)

        return FittedModel(
            predict, "noise: mean square of the ensemble's residuals on the training rows"
        )


@dataclass(frozen=True)
class MLPEnsembleClasses(MLPEnsemble):
    """`MLPClassifier(early_stopping=True)`, their probabilities averaged."""

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs are scaled."""
        from sklearn.neural_network import MLPClassifier

        members = self.fitted(MLPClassifier, rows, y, seed)

        def predict(rows: Rows) -> Classes:
            return Classes(np.mean([member.predict_proba(rows.values) for member in members], 0))

        return FittedModel(predict)

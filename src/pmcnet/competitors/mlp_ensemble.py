"""Five of scikit-learn's perceptrons with early stopping, averaged."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pmcnet.competitors.base import Array, Classes, CompetingModel, FittedModel, Rows
from pmcnet.competitors.gaussians import Gaussians, Units

_MODULES = ("sklearn.neural_network", "sklearn.pipeline", "sklearn.preprocessing")


@dataclass(frozen=True)
class MLPEnsembleNumbers(CompetingModel):
    """`MLPRegressor(early_stopping=True)`, and one noise variance.

    Args:
        n_members: networks.
    """

    n_members: int = 5

    modules: ClassVar[tuple[str, ...]] = _MODULES
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs and y are scaled."""
        from sklearn.neural_network import MLPRegressor  # type: ignore[import-untyped]
        from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
        from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

        units = Units.of(y)
        members = [
            make_pipeline(StandardScaler(), MLPRegressor(early_stopping=True, random_state=own))
            for own in _seeds(seed, self.n_members)
        ]
        for member in members:
            member.fit(rows.values, units.scaled(y))

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
class MLPEnsembleClasses(CompetingModel):
    """`MLPClassifier(early_stopping=True)`, their probabilities averaged.

    Args:
        n_members: networks.
    """

    n_members: int = 5

    modules: ClassVar[tuple[str, ...]] = _MODULES
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs are scaled."""
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        members = [
            make_pipeline(StandardScaler(), MLPClassifier(early_stopping=True, random_state=own))
            for own in _seeds(seed, self.n_members)
        ]
        for member in members:
            member.fit(rows.values, y)

        def predict(rows: Rows) -> Classes:
            return Classes(np.mean([member.predict_proba(rows.values) for member in members], 0))

        return FittedModel(predict)


def _seeds(seed: int, n: int) -> range:
    """One for each network, below the largest that numpy takes."""
    first = n * seed % (2**32 - n)
    return range(first, first + n)

"""Conformal intervals by MAPIE around a point model of scikit-learn."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pmcnet.competitors.base import Array, FittedModel, Rows
from pmcnet.competitors.quantile_grid import QuantileGrid, QuantileModel


@dataclass(frozen=True)
class ConformalModel(QuantileModel):
    """Split conformal: the residuals of rows kept apart are the offsets, alike for all rows.

    Args:
        levels: of quantiles, symmetric about one half; pairs of them are the ends of intervals.
        share: of the training rows that is kept apart.
    """

    share: float = 0.2

    packages: ClassVar[tuple[str, ...]] = ("MAPIE", "scikit-learn")

    @abstractmethod
    def point_model(self, seed: int) -> Any:
        """What the intervals are around."""

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """The point model, then the offsets."""
        from mapie.regression import SplitConformalRegressor

        order = np.random.default_rng(seed).permutation(len(y))
        n_kept = round(self.share * len(y))
        kept, fitted = order[:n_kept], order[n_kept:]
        low = np.array(self.levels[: len(self.levels) // 2])
        model = SplitConformalRegressor(
            self.point_model(seed), confidence_level=(1 - 2 * low).tolist(), prefit=False
        )
        model.fit(rows.values[fitted], y[fitted])
        model.conformalize(rows.values[kept], y[kept])

        def predict(rows: Rows) -> QuantileGrid:
            mean, ends = model.predict_interval(rows.values)  # (N,), (N, 2, Q / 2)
            values = np.concatenate([ends[:, 0].T, ends[:, 1, ::-1].T])  # (Q, N)
            return QuantileGrid.sorted(mean, np.array(self.levels), values)

        return FittedModel(predict, f"offsets of {n_kept} rows")


@dataclass(frozen=True)
class ConformalLinear(ConformalModel):
    """Around `BayesianRidge`."""

    modules: ClassVar[tuple[str, ...]] = ("mapie.regression", "sklearn.linear_model")

    def point_model(self, seed: int) -> Any:
        """A linear regression."""
        from sklearn.linear_model import BayesianRidge  # type: ignore[import-untyped]

        return BayesianRidge()


@dataclass(frozen=True)
class ConformalForest(ConformalModel):
    """Around `RandomForestRegressor`."""

    modules: ClassVar[tuple[str, ...]] = ("mapie.regression", "sklearn.ensemble")

    def point_model(self, seed: int) -> Any:
        """A random forest."""
        from sklearn.ensemble import RandomForestRegressor  # type: ignore[import-untyped]

        return RandomForestRegressor(random_state=seed)


@dataclass(frozen=True)
class ConformalBoosting(ConformalModel):
    """Around `HistGradientBoostingRegressor`."""

    modules: ClassVar[tuple[str, ...]] = ("mapie.regression", "sklearn.ensemble")

    def point_model(self, seed: int) -> Any:
        """Boosted trees."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(random_state=seed)

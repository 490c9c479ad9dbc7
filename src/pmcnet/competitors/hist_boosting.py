"""scikit-learn's histogram gradient boosting; of numbers a regression for each quantile."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pmcnet.competitors.base import (
    Array,
    CompetingModel,
    FittedModel,
    Rows,
    fitted_classifier,
)
from pmcnet.competitors.quantile_grid import QuantileModel, fitted_quantiles

MOST_LEVELS = 255
"""Of a category, as scikit-learn has them; the places of more levels are plain numbers."""


@dataclass(frozen=True)
class HistBoostingNumbers(QuantileModel):
    """One `HistGradientBoostingRegressor` for the mean, and one for each quantile."""

    modules: ClassVar[tuple[str, ...]] = ("sklearn.ensemble",)
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """The package's defaults."""
        from sklearn.ensemble import (  # type: ignore[import-untyped]
            HistGradientBoostingRegressor,
        )

        common: dict[str, Any] = {"categorical_features": _categories(rows), "random_state": seed}
        mean = HistGradientBoostingRegressor(**common)
        each = [
            HistGradientBoostingRegressor(loss="quantile", quantile=level, **common)
            for level in self.levels
        ]
        for model in (mean, *each):
            model.fit(rows.values, y)
        return fitted_quantiles(mean, each, self.levels)


@dataclass(frozen=True)
class HistBoostingClasses(CompetingModel):
    """`HistGradientBoostingClassifier`."""

    modules: ClassVar[tuple[str, ...]] = ("sklearn.ensemble",)
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """The package's defaults."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(
            categorical_features=_categories(rows), random_state=seed
        )
        model.fit(rows.values, y)
        return fitted_classifier(model)


def _categories(rows: Rows) -> list[int]:
    """Columns of few enough levels."""
    return [
        column for column in rows.categories if len(np.unique(rows.values[:, column])) < MOST_LEVELS
    ]

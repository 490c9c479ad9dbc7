"""LightGBM: boosted trees that know categories; of numbers a regression for each quantile."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pmcnet.competitors.base import (
    Array,
    CompetingModel,
    FittedModel,
    Rows,
    fitted_classifier,
)
from pmcnet.competitors.quantile_grid import QuantileModel, fitted_quantiles


@dataclass(frozen=True)
class LightGBMNumbers(QuantileModel):
    """One `LGBMRegressor` for the mean, and one for each quantile."""

    modules: ClassVar[tuple[str, ...]] = ("lightgbm",)
    packages: ClassVar[tuple[str, ...]] = ("lightgbm",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """The package's defaults, on as many threads as OpenMP may use."""
        from lightgbm import LGBMRegressor

        quiet: dict[str, Any] = {"random_state": seed, "verbosity": -1, "n_jobs": 0}
        mean = LGBMRegressor(**quiet)
        each = [LGBMRegressor(objective="quantile", alpha=level, **quiet) for level in self.levels]
        for model in (mean, *each):
            model.fit(rows.values, y, categorical_feature=list(rows.categories))
        return fitted_quantiles(mean, each, self.levels)


@dataclass(frozen=True)
class LightGBMClasses(CompetingModel):
    """`LGBMClassifier`."""

    modules: ClassVar[tuple[str, ...]] = ("lightgbm",)
    packages: ClassVar[tuple[str, ...]] = ("lightgbm",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """The package's defaults, on as many threads as OpenMP may use."""
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(random_state=seed, verbosity=-1, n_jobs=0)
        model.fit(rows.values, y, categorical_feature=list(rows.categories))
        return fitted_classifier(model)

"""CatBoost: boosted trees that know categories."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pmcnet.competitors.base import (
    Array,
    Classes,
    CompetingModel,
    FittedModel,
    Rows,
)
from pmcnet.competitors.gaussians import Gaussians
from pmcnet.competitors.validation_rows import ValidationRows, n_kept

_QUIET = {"verbose": False, "allow_writing_files": False}


@dataclass(frozen=True)
class CatBoostModel(CompetingModel):
    """Knobs of both.

    Args:
        validated: whether a tenth of the rows is kept apart, by which trees are cut off.
    """

    validated: bool = True

    modules: ClassVar[tuple[str, ...]] = ("catboost",)
    packages: ClassVar[tuple[str, ...]] = ("catboost",)


@dataclass(frozen=True)
class CatBoostNumbers(CatBoostModel):
    """`RMSEWithUncertainty` with posterior sampling: the mixture of virtual ensembles.

    Args:
        n_virtual: virtual ensembles, at most.
    """

    n_virtual: int = 10

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Each virtual ensemble has a mean and a variance; few trees make few of them."""
        from catboost import CatBoostRegressor

        model = CatBoostRegressor(
            loss_function="RMSEWithUncertainty",
            posterior_sampling=True,
            random_seed=seed,
            **_QUIET,
        )
        split = ValidationRows.of_numbers(len(y), n_kept(len(y), self.validated))
        _fit(model, rows, y, split)
        n_virtual = max(1, min(self.n_virtual, model.tree_count_ // 2))

        def predict(rows: Rows) -> Gaussians:
            found = model.virtual_ensembles_predict(
                _cells(rows), virtual_ensembles_count=n_virtual
            )  # (N, E, 2)
            return Gaussians(found[..., 0].T, np.sqrt(found[..., 1].T))

        return FittedModel(predict, f"{model.tree_count_} trees")


@dataclass(frozen=True)
class CatBoostClasses(CatBoostModel):
    """`CatBoostClassifier`."""

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """The loss is that of two or of more classes."""
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(random_seed=seed, **_QUIET)
        _fit(model, rows, y, ValidationRows.of_classes(y, n_kept(len(y), self.validated)))

        def predict(rows: Rows) -> Classes:
            return Classes(np.asarray(model.predict_proba(_cells(rows)), dtype=np.float64))

        return FittedModel(predict, f"{model.tree_count_} trees")


def _fit(model: Any, rows: Rows, y: Array, split: ValidationRows) -> None:
    cells = _cells(rows)
    kept = (cells[split.kept], y[split.kept]) if len(split.kept) else None
    categories = list(rows.categories)
    model.fit(cells[split.fitted], y[split.fitted], cat_features=categories, eval_set=kept)


def _cells(rows: Rows) -> Any:
    """Numbers as they are, and levels as the whole numbers that CatBoost asks for."""
    if not rows.categories:
        return rows.values
    cells = rows.values.astype(object)
    for column in rows.categories:
        codes = rows.values[:, column]
        cells[:, column] = np.where(np.isnan(codes), -1, codes).astype(np.int64)
    return cells

"""NGBoost: natural gradient boosting of a distribution."""

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


@dataclass(frozen=True)
class NGBoostNumbers(CompetingModel):
    """`NGBRegressor`, one Gaussian for each row.

    Args:
        validated: whether a tenth of the rows is kept apart to find the best iteration.
    """

    validated: bool = True

    modules: ClassVar[tuple[str, ...]] = ("ngboost", "sklearn.tree")
    packages: ClassVar[tuple[str, ...]] = ("ngboost", "scikit-learn")

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Trees take numbers of any scale."""
        from ngboost import NGBRegressor

        model = NGBRegressor(Base=_learner(seed), random_state=seed, verbose=False)
        split = ValidationRows.of_numbers(len(y), n_kept(len(y), self.validated))
        _fit(model, rows, y, split)

        def predict(rows: Rows) -> Gaussians:
            found = model.pred_dist(rows.values, max_iter=model.best_val_loss_itr).params
            return Gaussians(found["loc"][None], found["scale"][None])

        return FittedModel(predict, _note(model))


@dataclass(frozen=True)
class NGBoostClasses(CompetingModel):
    """`NGBClassifier`.

    Args:
        validated: whether a tenth of the rows is kept apart to find the best iteration.
    """

    validated: bool = True

    modules: ClassVar[tuple[str, ...]] = ("ngboost", "sklearn.tree")
    packages: ClassVar[tuple[str, ...]] = ("ngboost", "scikit-learn")

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """A categorical distribution for each row."""
        from ngboost import NGBClassifier
        from ngboost.distns import k_categorical

        model = NGBClassifier(
            Dist=k_categorical(int(y.max()) + 1),
            Base=_learner(seed),
            random_state=seed,
            verbose=False,
        )
        split = ValidationRows.of_classes(y, n_kept(len(y), self.validated))
        _fit(model, rows, y.astype(np.int64), split)

        def predict(rows: Rows) -> Classes:
            found = model.predict_proba(rows.values, max_iter=model.best_val_loss_itr)
            return Classes(np.asarray(found, dtype=np.float64))

        return FittedModel(predict, _note(model))


def _learner(seed: int) -> Any:
    """The package's own tree, with a seed of its own."""
    from ngboost.learners import default_tree_learner
    from sklearn import clone  # type: ignore[import-untyped]

    return clone(default_tree_learner).set_params(random_state=seed)


def _fit(model: Any, rows: Rows, y: Any, split: ValidationRows) -> None:
    x, (fitted, kept) = rows.values, split
    model.fit(x[fitted], y[fitted], *((x[kept], y[kept]) if len(kept) else ()))


def _note(model: Any) -> str:
    return f"trees up to iteration {model.best_val_loss_itr or 500}"

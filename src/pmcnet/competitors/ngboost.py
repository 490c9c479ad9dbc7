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
class NGBoostModel(CompetingModel):
    """Knobs of both.

    Args:
        validated: whether a tenth of the rows is kept apart to find the best iteration.
        n_estimators: iterations.
    """

    validated: bool = True
    n_estimators: int = 500

    modules: ClassVar[tuple[str, ...]] = ("ngboost", "sklearn.tree")
    packages: ClassVar[tuple[str, ...]] = ("ngboost", "scikit-learn")

    def settings(self, seed: int) -> dict[str, Any]:
        """Of both classes; the package's own tree gets a seed too."""
        from ngboost.learners import default_tree_learner
        from sklearn import clone  # type: ignore[import-untyped]

        tree = clone(default_tree_learner).set_params(random_state=seed)
        common = {"n_estimators": self.n_estimators, "random_state": seed, "verbose": False}
        return {"Base": tree, **common}

    def note(self, model: Any) -> str:
        """How many trees are used."""
        return f"trees up to iteration {model.best_val_loss_itr or self.n_estimators}"


@dataclass(frozen=True)
class NGBoostNumbers(NGBoostModel):
    """`NGBRegressor`, one Gaussian for each row."""

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Trees take numbers of any scale."""
        from ngboost import NGBRegressor

        model = NGBRegressor(**self.settings(seed))
        split = ValidationRows.of_numbers(len(y), n_kept(len(y), self.validated))
        _fit(model, rows, y, split)

        def predict(rows: Rows) -> Gaussians:
            found = model.pred_dist(rows.values, max_iter=model.best_val_loss_itr).params
            return Gaussians(found["loc"][None], found["scale"][None])

        return FittedModel(predict, self.note(model))


@dataclass(frozen=True)
class NGBoostClasses(NGBoostModel):
    """`NGBClassifier`."""

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """A categorical distribution for each row."""
        from ngboost import NGBClassifier
        from ngboost.distns import k_categorical

        model = NGBClassifier(Dist=k_categorical(int(y.max()) + 1), **self.settings(seed))
        split = ValidationRows.of_classes(y, n_kept(len(y), self.validated))
        _fit(model, rows, y.astype(np.int64), split)

        def predict(rows: Rows) -> Classes:
            found = model.predict_proba(rows.values, max_iter=model.best_val_loss_itr)
            return Classes(np.asarray(found, dtype=np.float64))

        return FittedModel(predict, self.note(model))


def _fit(model: Any, rows: Rows, y: Any, split: ValidationRows) -> None:
    x, (fitted, kept) = rows.values, split
    model.fit(x[fitted], y[fitted], *((x[kept], y[kept]) if len(kept) else ()))

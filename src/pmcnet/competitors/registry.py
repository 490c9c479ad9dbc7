"""Competing libraries by name, cheap ones first.

A line here is all that one needs besides its own file.
"""

from typing import Literal, NamedTuple

from pmcnet.competitors.base import CompetingModel
from pmcnet.competitors.bde import BDEClasses, BDENumbers
from pmcnet.competitors.catboost import CatBoostClasses, CatBoostNumbers
from pmcnet.competitors.gaussian_process import GaussianProcessClasses, GaussianProcessNumbers
from pmcnet.competitors.hist_boosting import HistBoostingClasses, HistBoostingNumbers
from pmcnet.competitors.lightgbm import LightGBMClasses, LightGBMNumbers
from pmcnet.competitors.linear_models import LinearClasses, LinearNumbers
from pmcnet.competitors.mapie_intervals import (
    ConformalBoosting,
    ConformalForest,
    ConformalLinear,
)
from pmcnet.competitors.mlp_ensemble import MLPEnsembleClasses, MLPEnsembleNumbers
from pmcnet.competitors.ngboost import NGBoostClasses, NGBoostNumbers
from pmcnet.competitors.random_forest import RandomForestClasses, RandomForestNumbers
from pmcnet.requirements import MAPIE, Library

Task = Literal["regression", "classification"]
Form = Literal["encoded", "levels"]


class Competitor(NamedTuple):
    """A model for each task that it has, the form of rows that it takes, and its library.

    Args:
        regression: the model of numbers.
        classification: the model of classes.
        form: "encoded" rows are the inputs of pmcnet's networks; with "levels" categorical columns
            are places of levels, and missing values are not-a-number.
        library: None for scikit-learn, which is always there.
    """

    regression: CompetingModel | None
    classification: CompetingModel | None
    form: Form = "encoded"
    library: Library | None = None

    def model(self, task: Task) -> CompetingModel | None:
        """That of a task."""
        return {"regression": self.regression, "classification": self.classification}[task]

    @property
    def installed(self) -> bool:
        """Whether its library is there."""
        return self.library is None or self.library.installed


_CATBOOST = Library("CatBoost", "catboost", "catboost")
_LIGHTGBM = Library("LightGBM", "lightgbm", "lightgbm")
_NGBOOST = Library("NGBoost", "ngboost", "ngboost")
_BDE = Library("sklearn-contrib-bde", "bde", "bde")

COMPETITORS: dict[str, Competitor] = {
    "linear": Competitor(LinearNumbers(), LinearClasses()),
    "random-forest": Competitor(RandomForestNumbers(), RandomForestClasses()),
    "hist-boosting": Competitor(HistBoostingNumbers(), HistBoostingClasses(), "levels"),
    "lightgbm": Competitor(LightGBMNumbers(), LightGBMClasses(), "levels", _LIGHTGBM),
    "catboost": Competitor(CatBoostNumbers(), CatBoostClasses(), "levels", _CATBOOST),
    "ngboost": Competitor(NGBoostNumbers(), NGBoostClasses(), library=_NGBOOST),
    "mlp-ensemble": Competitor(MLPEnsembleNumbers(), MLPEnsembleClasses()),
    "gaussian-process": Competitor(GaussianProcessNumbers(), GaussianProcessClasses()),
    "conformal-linear": Competitor(ConformalLinear(), None, library=MAPIE),
    "conformal-forest": Competitor(ConformalForest(), None, library=MAPIE),
    "conformal-boosting": Competitor(ConformalBoosting(), None, library=MAPIE),
    "bde": Competitor(BDENumbers(), BDEClasses(), library=_BDE),
}

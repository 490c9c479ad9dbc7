"""The models that `versus_packages.py` compares, one fit in one process.

    python package_models.py NAME ROWS.npz FOUND.npz SEED SECONDS

Those of other packages are `pmcnet.competitors`; an interpreter needs numpy, scipy, scikit-learn
and that one package only. pmcnet itself is here, behind the same contract.
"""

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pmcnet.competitors import CompetingModel, FittedModel, RowPredictions, Rows
from pmcnet.competitors.bde import BDENumbers
from pmcnet.competitors.catboost import CatBoostNumbers
from pmcnet.competitors.child import run
from pmcnet.competitors.gaussian_process import GaussianProcessNumbers
from pmcnet.competitors.mlp_ensemble import MLPEnsembleNumbers
from pmcnet.competitors.ngboost import NGBoostNumbers

Array = np.ndarray


class PMCNetPrediction(NamedTuple):
    """The mixture of all networks on some rows."""

    model: Any
    x: Array
    mean: Array

    def tested(self, y: Array, levels: Array) -> RowPredictions:
        """Log-density and quantiles are exact."""
        log_density = self.model.log_predictive(self.x, y)
        return RowPredictions(
            self.mean, log_density, self.model.predict_quantiles(self.x, levels).T
        )


@dataclass(frozen=True)
class PMCNet(CompetingModel):
    """`PMCNetRegressor()`, which scales rows itself."""

    modules: ClassVar[tuple[str, ...]] = ("pmcnet.estimators",)
    packages: ClassVar[tuple[str, ...]] = ("pmcnet", "torch")

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """With the budget's default."""
        from pmcnet import PMCNetRegressor

        model = PMCNetRegressor(random_state=seed).fit(rows.values, y)
        return FittedModel(partial(_predicted, model), f"{model.method_}, {model.verdict_.status}")


def _predicted(model: Any, rows: Rows) -> PMCNetPrediction:
    """What a user asks for: the mean and the standard deviation."""
    return PMCNetPrediction(model, rows.values, model.predict(rows.values, return_std=True)[0])


BDE_CONSTRUCTOR = {
    "hidden_layers": (4, 4),
    "n_members": 2,
    "epochs": 20,
    "patience": None,
    "warmup_steps": 50,
    "n_samples": 10,
}
"""What `BdeRegressor()` takes."""

MODELS: dict[str, CompetingModel] = {
    "pmcnet": PMCNet(),
    "bde": BDENumbers(),
    "bde-constructor": BDENumbers(**BDE_CONSTRUCTOR),
    "ngboost": NGBoostNumbers(validated=False),
    "ngboost-validated": NGBoostNumbers(),
    "catboost": CatBoostNumbers(validated=False),
    "catboost-validated": CatBoostNumbers(),
    "gp": GaussianProcessNumbers(),
    "mlp-ensemble": MLPEnsembleNumbers(),
}

if __name__ == "__main__":
    run(MODELS[sys.argv[1]], *sys.argv[2:])

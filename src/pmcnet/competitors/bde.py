"""bde: Bayesian deep ensembles, trained and then sampled, on JAX."""

import os
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pmcnet.competitors.base import Array, Classes, CompetingModel, FittedModel, Rows
from pmcnet.competitors.gaussians import Gaussians, Units


@dataclass(frozen=True)
class BDEModel(CompetingModel):
    """Knobs of both; the defaults are those of the regression example in its description.

    Args:
        hidden_layers: units of each.
        n_members: networks that chains start from.
        epochs: of training.
        patience: of early stopping, in epochs.
        warmup_steps: of each chain.
        n_samples: of each chain, before thinning.
    """

    hidden_layers: tuple[int, ...] = (16, 16)
    n_members: int = 8
    epochs: int = 200
    patience: int | None = 10
    warmup_steps: int = 5000
    n_samples: int = 2000

    modules: ClassVar[tuple[str, ...]] = ("bde", "sklearn.preprocessing")
    packages: ClassVar[tuple[str, ...]] = ("sklearn-contrib-bde", "jax", "blackjax")

    def load(self) -> None:
        """With a device for each core, as its documentation asks for."""
        flags = f"--xla_force_host_platform_device_count={os.cpu_count()}"
        os.environ.setdefault("XLA_FLAGS", flags)
        super().load()

    def settings(self, seed: int) -> dict[str, Any]:
        """As its constructors take them."""
        return {**vars(self), "hidden_layers": list(self.hidden_layers), "seed": seed}


@dataclass(frozen=True)
class BDENumbers(BDEModel):
    """`BdeRegressor`: the mixture of all draws of all members."""

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs and y are scaled, as its documentation asks for."""
        from bde import BdeRegressor
        from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

        scaler, units = StandardScaler().fit(rows.values), Units.of(y)
        model = BdeRegressor(**self.settings(seed))
        model.fit(scaler.transform(rows.values), units.scaled(y))

        def predict(rows: Rows) -> Gaussians:
            raw = model.predict(scaler.transform(rows.values), raw=True)
            found = np.asarray(raw, dtype=np.float64)  # (members, draws, N, 2)
            mean, scale = np.moveaxis(found.reshape(-1, *found.shape[2:]), 2, 0)  # (K, N) each
            return Gaussians.in_units(mean, np.logaddexp(0, scale) + 1e-6, units)

        return FittedModel(predict, str(vars(self)))


@dataclass(frozen=True)
class BDEClasses(BDEModel):
    """`BdeClassifier`."""

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs are scaled."""
        from bde import BdeClassifier
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler().fit(rows.values)
        model = BdeClassifier(**self.settings(seed))
        model.fit(scaler.transform(rows.values), y.astype(np.int64))

        def predict(rows: Rows) -> Classes:
            found = model.predict_proba(scaler.transform(rows.values))
            return Classes(np.asarray(found, dtype=np.float64))

        return FittedModel(predict, str(vars(self)))

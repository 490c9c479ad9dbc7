"""The models that `versus_packages.py` compares, behind one contract, one fit in one process.

    python package_models.py NAME ROWS.npz FOUND.npz SEED SECONDS

Reads `x_train y_train x_test y_test`, and writes the prediction of the test rows in units of y:
mean, log-density of y_test and the quantiles `LEVELS`, with seconds and peak memory until the
prediction was there. A fit of more than SECONDS is ended by SIGALRM. A package is imported where
its model is made, untimed, so that an interpreter needs numpy, scipy and that one package only.

A model, made from a seed, has `fit(x, y)` and `predict(x)`, both of the table's own numbers, its
`packages`, and a `note` on its results. A prediction has a `mean` (N,), `log_density(y)` (N,) and
`quantiles(levels)` (Q, N).
"""

import os
import signal
import sys
import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri

Array = np.ndarray
LEVELS = (np.arange(110) + 0.5) / 110
"""Midpoints of equal parts of (0, 1); 0.05 and 0.95 are among them."""
GP_ROWS, N_VIRTUAL, N_DRAWS = 2000, 10, 10_000  # draws: of a row, at least, for quantiles
BDE_NETWORKS = {"hidden_layers": [16, 16], "n_members": 8, "epochs": 200, "patience": 10}
BDE_SAMPLING = {"warmup_steps": 5000, "n_samples": 2000}
"""The regression example in the description of bde, where it is not the constructor's default."""


class Scale(NamedTuple):
    """Where numbers lie and how far they spread, of the training rows."""

    centre: Array
    spread: Array

    @classmethod
    def of(cls, values: Array) -> "Scale":
        """Of each column; a constant one is only centred."""
        spread = values.std(0)
        return cls(values.mean(0), np.where(spread > 0, spread, 1.0))

    def scaled(self, values: Array) -> Array:
        """With mean 0 and deviation 1 on the training rows."""
        return (values - self.centre) / self.spread


@dataclass(frozen=True)
class Gaussians:
    """A mixture of K equally weighted Gaussians on each of N rows: `means`, `deviations` (K, N)."""

    means: Array
    deviations: Array

    @classmethod
    def in_units(cls, means: Array, deviations: Array, scale: Scale) -> "Gaussians":
        """Of what was predicted for a scaled y."""
        return cls(scale.centre + scale.spread * means, scale.spread * deviations)

    @property
    def mean(self) -> Array:
        """Of the mixture (N,)."""
        return self.means.mean(0)

    def log_density(self, y: Array) -> Array:
        """Of the mixture at each y (N,)."""
        z = (y - self.means) / self.deviations
        each = -0.5 * z**2 - np.log(np.sqrt(2 * np.pi) * self.deviations)
        return logsumexp(each, axis=0) - np.log(len(each))

    def quantiles(self, levels: Array) -> Array:
        """Exact for one Gaussian; of a mixture from draws, equally many of each component."""
        if len(self.means) == 1:
            return self.means + self.deviations * ndtri(levels)[:, None]
        source, found = np.random.default_rng(0), []
        n_each = -(-N_DRAWS // len(self.means))
        for mean, deviation in zip(self.means.T, self.deviations.T, strict=True):  # (K,) of a row
            level = np.arange(n_each)[:, None] + source.uniform(size=(n_each, len(mean)))
            found.append(np.quantile(mean + deviation * ndtri(level / n_each), levels))
        return np.stack(found, axis=1)


class PMCNet:
    """`PMCNetRegressor()`, which scales rows itself; it is its own prediction."""

    packages = ("pmcnet", "torch")

    def __init__(self, seed: int) -> None:
        from pmcnet import PMCNetRegressor

        self.model = PMCNetRegressor(random_state=seed)

    def fit(self, x: Array, y: Array) -> None:
        """With the budget's default."""
        self.model.fit(x, y)
        self.note = f"{self.model.method_}, {self.model.verdict_.status}"

    def predict(self, x: Array) -> "PMCNet":
        """What a user asks for: the mean and the standard deviation."""
        self.x, self.mean = x, self.model.predict(x, return_std=True)[0]
        return self

    def log_density(self, y: Array) -> Array:
        """Of the mixture of all networks."""
        return self.model.log_predictive(self.x, y)

    def quantiles(self, levels: Array) -> Array:
        """Of the mixture of all networks, by inversion."""
        return self.model.predict_quantiles(self.x, levels).T


class BDE:
    """`BdeRegressor`: the mixture of all draws of all members."""

    packages = ("sklearn-contrib-bde", "jax", "blackjax")

    def __init__(self, seed: int, **settings: Any) -> None:
        n_devices = len(os.sched_getaffinity(0))  # as its documentation asks for
        os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={n_devices}")
        from bde import BdeRegressor

        self.model = BdeRegressor(seed=seed, **settings)
        self.note = str(settings or "defaults of the constructor")

    def fit(self, x: Array, y: Array) -> None:
        """Both scaled, as its documentation asks for."""
        self.x, self.y = Scale.of(x), Scale.of(y)
        self.model.fit(self.x.scaled(x), self.y.scaled(y))

    def predict(self, x: Array) -> Gaussians:
        """From the raw output (members, draws, N, 2): a mean and, by softplus, a deviation."""
        raw = np.asarray(self.model.predict(self.x.scaled(x), raw=True), dtype=np.float64)
        mean, scale = np.moveaxis(raw.reshape(-1, *raw.shape[2:]), 2, 0)  # (K, N) each
        return Gaussians.in_units(mean, np.logaddexp(0, scale) + 1e-6, self.y)


def validation_split(x: Array, y: Array, n: int) -> tuple[tuple[Array, Array], Any]:
    """Rows to fit, and n others at random to choose the number of trees by, or None."""
    order = np.random.default_rng(0).permutation(len(x)) if n else np.arange(len(x))
    chosen, rest = order[:n], order[n:]
    return (x[rest], y[rest]), (x[chosen], y[chosen]) if n else None


class NGBoost:
    """`NGBRegressor()`, one Gaussian for each row; trees take numbers of any scale."""

    packages = ("ngboost", "scikit-learn")

    def __init__(self, seed: int, *, validated: bool = False) -> None:
        from ngboost import NGBRegressor

        self.model = NGBRegressor(random_state=seed, verbose=False)
        self.validated = validated

    def fit(self, x: Array, y: Array) -> None:
        """On all rows, or with a tenth of them to find the best iteration."""
        rows, validation = validation_split(x, y, len(x) // 10 if self.validated else 0)
        self.model.fit(*rows, *(validation or ()))
        self.note = f"trees up to iteration {self.model.best_val_loss_itr or 500}"

    def predict(self, x: Array) -> Gaussians:
        """By the trees up to the best iteration, where there is one."""
        found = self.model.pred_dist(x, max_iter=self.model.best_val_loss_itr).params
        return Gaussians(found["loc"][None], found["scale"][None])


class CatBoost:
    """`CatBoostRegressor` with posterior sampling, the mixture of its virtual ensembles."""

    packages = ("catboost",)

    def __init__(self, seed: int, *, validated: bool = False) -> None:
        from catboost import CatBoostRegressor

        settings = {"loss_function": "RMSEWithUncertainty", "posterior_sampling": True}
        quiet = {"verbose": False, "allow_writing_files": False}
        self.model = CatBoostRegressor(**settings, **quiet, random_seed=seed)
        self.validated = validated

    def fit(self, x: Array, y: Array) -> None:
        """On all rows, or with a tenth of them by which the package cuts off trees."""
        rows, validation = validation_split(x, y, len(x) // 10 if self.validated else 0)
        self.model.fit(*rows, eval_set=validation)
        self.note = f"{self.model.tree_count_} trees"

    def predict(self, x: Array) -> Gaussians:
        """Each virtual ensemble (N, E, 2) has a mean and a variance; few trees make few of them."""
        n_virtual = max(1, min(N_VIRTUAL, self.model.tree_count_ // 2))
        found = self.model.virtual_ensembles_predict(x, virtual_ensembles_count=n_virtual)
        return Gaussians(found[..., 0].T, np.sqrt(found[..., 1].T))


class GaussianProcess:
    """scikit-learn's, with a length scale for each input; of the first rows, as it is cubic."""

    packages = ("scikit-learn",)

    def __init__(self, seed: int) -> None:
        from sklearn.gaussian_process import GaussianProcessRegressor, kernels

        self.kernels, self.make = kernels, partial(GaussianProcessRegressor, random_state=seed)

    def fit(self, x: Array, y: Array) -> None:
        """Inputs scaled; `normalize_y` scales y."""
        x, y = x[:GP_ROWS], y[:GP_ROWS]
        self.x = Scale.of(x)
        smooth = self.kernels.ConstantKernel() * self.kernels.RBF(np.ones(x.shape[1]))
        self.model = self.make(smooth + self.kernels.WhiteKernel(), normalize_y=True)
        self.model.fit(self.x.scaled(x), y)
        self.note = f"{len(x)} rows; {self.model.kernel_}"

    def predict(self, x: Array) -> Gaussians:
        """The white kernel makes the deviation one of y, noise included."""
        mean, deviation = self.model.predict(self.x.scaled(x), return_std=True)
        return Gaussians(mean[None], deviation[None])


class MLPEnsemble:
    """Five of scikit-learn's `MLPRegressor(early_stopping=True)`, and one noise variance."""

    packages = ("scikit-learn",)
    note = "noise: mean square of the ensemble's residuals on the training rows"

    def __init__(self, seed: int) -> None:
        from sklearn.neural_network import MLPRegressor

        seeds = range(5 * seed, 5 * seed + 5)
        self.models = [MLPRegressor(early_stopping=True, random_state=own) for own in seeds]

    def fit(self, x: Array, y: Array) -> None:
        """Both scaled."""
        self.x, self.y = Scale.of(x), Scale.of(y)
        for model in self.models:
            model.fit(self.x.scaled(x), self.y.scaled(y))
        self.noise = np.mean((self.y.scaled(y) - self.each(x).mean(0)) ** 2)

    def each(self, x: Array) -> Array:
        """What each network predicts for the scaled y (5, N)."""
        return np.stack([model.predict(self.x.scaled(x)) for model in self.models])

    def predict(self, x: Array) -> Gaussians:
        """A Gaussian with the variance between the networks and that of the residuals."""
        each = self.each(x)
        deviation = np.sqrt(each.var(0) + self.noise)
        return Gaussians.in_units(each.mean(0)[None], deviation[None], self.y)


MODELS = {
    "pmcnet": PMCNet,
    "bde": partial(BDE, **BDE_NETWORKS, **BDE_SAMPLING),
    "bde-constructor": BDE,
    "ngboost": NGBoost,
    "ngboost-validated": partial(NGBoost, validated=True),
    "catboost": CatBoost,
    "catboost-validated": partial(CatBoost, validated=True),
    "gp": GaussianProcess,
    "mlp-ensemble": MLPEnsemble,
}


def peak_mib() -> float:
    """VmHWM of this process: `ru_maxrss` would start from that of the process which started it."""
    fields = Path("/proc/self/status").read_text().split()
    return int(fields[fields.index("VmHWM:") + 1]) / 1024


def main() -> None:
    """One fit."""
    name, rows, out, seed, limit = sys.argv[1:]
    data = np.load(rows)
    np.random.seed(int(seed))  # noqa: NPY002 - the trees of NGBoost draw from it
    model = MODELS[name](int(seed))
    signal.setitimer(signal.ITIMER_REAL, float(limit))
    start = time.perf_counter()
    model.fit(data["x_train"], data["y_train"])
    fitted = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, 0)
    found = model.predict(data["x_test"])
    predicted, peak = time.perf_counter(), peak_mib()
    np.savez(
        out,
        fit_seconds=fitted - start,
        predict_seconds=predicted - fitted,
        peak_mib=peak,
        mean=found.mean,
        log_density=found.log_density(data["y_test"]),
        quantiles=found.quantiles(LEVELS),
        versions=", ".join(f"{package} {version(package)}" for package in model.packages),
        note=model.note,
    )


if __name__ == "__main__":
    main()

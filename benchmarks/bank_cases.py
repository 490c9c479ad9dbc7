"""The cases of `bank.py`: tables, networks and priors, and how their references are made.

Every case is a posterior of a small network. Most tables come with scikit-learn or pmcnet, or are
drawn here; four come from the UCI files of `uci_regression.py`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn import datasets
from torch import Tensor

from pmcnet import ais, bnn, data
from pmcnet.ais.agreement import IslandMoments, student_factor
from pmcnet.bnn.island_predictions import predicted
from pmcnet.errors import InputError
from pmcnet.methods.extras.nuts import NUTSMethod

Array = NDArray[Any]

LEAST_COMPARED, MOST_COMPARED = 64, 128
"""Rows whose predictions are compared; training rows where fewer are held out."""
REFERENCE_SEED = 1000


class Raw(NamedTuple):
    """All rows of a table. Those before `first_held_out` are never held out."""

    x: Array
    y: Array
    first_held_out: int = 0


@dataclass(frozen=True)
class Table:
    """Columns, classes (0 for regression), and how it is read; None is a file of the UCI folder."""

    n_columns: int
    n_classes: int
    read: Callable[[], Raw] | None = None


def _shuffled(x: Array, y: Array) -> Raw:
    order = np.random.default_rng(0).permutation(len(x))
    return Raw(x[order], y[order])


def _scikit(name: str) -> Raw:
    return _shuffled(*getattr(datasets, f"load_{name}")(return_X_y=True))


def _shipped(name: str) -> Raw:
    table = data.load(name)
    return _shuffled(table.x, table.y)


def _friedman(n: int, noise: float) -> Raw:
    return Raw(*datasets.make_friedman1(n, n_features=10, noise=noise, random_state=0))


def _moons() -> Raw:
    return Raw(*datasets.make_moons(400, noise=0.25, random_state=0))


def _digits() -> Raw:
    """Images of 4 x 4 pixels, each the mean of four."""
    x, y = datasets.load_digits(return_X_y=True)
    return _shuffled(x.reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(-1, 16), y)


def _sine() -> Raw:
    """Inputs on both sides of a gap, and a grid over the gap and beyond the ends."""
    source = np.random.default_rng(0)
    x = source.uniform(0.5, 2.0, 60) * source.choice([-1, 1], 60)
    grid = np.linspace(-2.5, 2.5, 96)
    y = np.sin(3 * np.concatenate([x, grid]))
    y[:60] += 0.1 * source.standard_normal(60)
    return Raw(np.concatenate([x, grid])[:, None], y, 60)


def _correlated() -> Raw:
    """Eight columns of two factors with a little noise, and a linear response."""
    source = np.random.default_rng(0)
    factors = source.standard_normal((300, 2))
    x = factors @ source.standard_normal((2, 8)) + 0.1 * source.standard_normal((300, 8))
    return Raw(x, x @ source.standard_normal(8) + source.standard_normal(300))


TABLES: Mapping[str, Table] = {
    "sine": Table(1, 0, _sine),
    "moons": Table(2, 2, _moons),
    "iris": Table(4, 3, partial(_scikit, "iris")),
    "wine": Table(13, 3, partial(_scikit, "wine")),
    "glass": Table(9, 6, partial(_shipped, "glass")),
    "ionosphere": Table(33, 2, partial(_shipped, "ionosphere")),
    "breast-cancer": Table(30, 2, partial(_scikit, "breast_cancer")),
    "diabetes": Table(10, 0, partial(_scikit, "diabetes")),
    "friedman-quiet": Table(10, 0, partial(_friedman, 400, 0.5)),
    "friedman-noisy": Table(10, 0, partial(_friedman, 500, 3.0)),
    "correlated": Table(8, 0, _correlated),
    "digits": Table(16, 10, _digits),
    "concrete": Table(8, 0),
    "energy": Table(8, 0),
    "wine-quality-red": Table(11, 0),
    "kin8nm": Table(8, 0),
}


class Problem(NamedTuple):
    """The posterior of a case, the rows that are compared, and what shows that data are alike."""

    target: bnn.BayesianTarget
    x: Tensor
    fingerprint: Array


@dataclass(frozen=True)
class Case:
    """One posterior: a table's first rows, a network and a prior, and how its reference is made."""

    name: str
    table: str
    hidden: tuple[int, ...]
    activation: Literal["tanh", "relu", "silu"]
    prior: Literal["gaussian", "layer"]
    sigma: float
    n_rows: int
    reference: Literal["nuts", "islands"]

    @property
    def n_classes(self) -> int:
        """0 for regression."""
        return TABLES[self.table].n_classes

    @property
    def needs_files(self) -> bool:
        """Whether the table is a file of the UCI folder."""
        return TABLES[self.table].read is None

    @property
    def likelihood(self) -> bnn.Likelihood:
        """By the table's task."""
        if not self.n_classes:
            return bnn.LearnedGaussian()
        return bnn.Bernoulli() if self.n_classes == 2 else bnn.Categorical(self.n_classes)

    @property
    def network(self) -> bnn.MLP:
        """Fully connected."""
        sizes = (TABLES[self.table].n_columns, *self.hidden, self.likelihood.n_outputs)
        return bnn.MLP(sizes, self.activation)

    @property
    def dim(self) -> int:
        """Parameters of network and likelihood."""
        return self.network.layout.dim + self.likelihood.n_extra

    def problem(self, folder: Path | None = None, device: str = "cpu") -> Problem:
        """Standardised by the training rows; the folder is that of the data, with `uci/` in it."""
        raw = self._read(folder)
        n = min(self.n_rows, raw.first_held_out or len(raw.x))
        x, y = raw.x[:n].astype(float), raw.y[:n].astype(float)
        centre, spread = x.mean(0), x.std(0)
        spread = np.where(spread > 0, spread, 1)
        if not self.n_classes:
            y = (y - y.mean()) / y.std()
        others = raw.x[max(n, raw.first_held_out) :]
        compared = (others if len(others) >= LEAST_COMPARED else x)[:MOST_COMPARED]
        parts = (x - centre) / spread, y, (compared - centre) / spread
        rows, values, held_out = (torch.as_tensor(p).to(device, torch.float32) for p in parts)
        kind = bnn.GaussianPrior if self.prior == "gaussian" else bnn.LayerGaussianPrior
        return Problem(
            bnn.BayesianTarget(self.network, self.likelihood, rows, values, prior=kind(self.sigma)),
            held_out,
            np.array([np.cos(part).sum() for part in parts]),
        )

    def _read(self, folder: Path | None) -> Raw:
        if read := TABLES[self.table].read:
            return read()
        if folder is None:
            raise InputError(f"{self.name} needs uci/{self.table}.npz. Give its folder by --data.")
        file = np.load(folder / "uci" / f"{self.table}.npz")
        train, test = (file[f"index_{part}"][0].astype(int) for part in ("train", "test"))
        order = np.concatenate([train, test])
        return Raw(file["X"][order], file["y"][order], len(train))


def _case(table: str, hidden: tuple[int, ...], activation: Any, *others: Any) -> Case:
    """A case named by its table and its network."""
    name = f"{table}-{'x'.join(map(str, hidden))}-{activation}"
    return Case(name, table, hidden, activation, *others)


CASES = (
    _case("sine", (5,), "tanh", "layer", 2.0, 40, "nuts"),
    _case("sine", (20,), "relu", "gaussian", 1.0, 40, "nuts"),
    _case("sine", (10, 10), "tanh", "layer", 3.0, 60, "nuts"),
    _case("moons", (5,), "tanh", "gaussian", 2.0, 100, "nuts"),
    _case("moons", (10, 10), "relu", "layer", 2.0, 200, "nuts"),
    _case("iris", (4,), "tanh", "gaussian", 1.0, 80, "nuts"),
    _case("iris", (8, 8), "silu", "layer", 2.0, 80, "nuts"),
    _case("wine", (5,), "tanh", "layer", 1.0, 110, "nuts"),
    _case("glass", (5,), "tanh", "gaussian", 1.0, 140, "nuts"),
    _case("glass", (16,), "silu", "layer", 2.0, 140, "islands"),
    _case("ionosphere", (3,), "tanh", "gaussian", 1.0, 200, "nuts"),
    _case("ionosphere", (10,), "relu", "layer", 1.0, 250, "islands"),
    _case("breast-cancer", (3,), "relu", "gaussian", 1.0, 300, "nuts"),
    _case("breast-cancer", (10, 10), "tanh", "layer", 2.0, 400, "islands"),
    _case("diabetes", (5,), "tanh", "layer", 1.0, 300, "nuts"),
    _case("diabetes", (25,), "silu", "gaussian", 0.5, 300, "islands"),
    _case("diabetes", (8, 8), "silu", "layer", 2.0, 300, "nuts"),
    _case("friedman-quiet", (10,), "tanh", "layer", 2.0, 200, "nuts"),
    _case("friedman-noisy", (6,), "tanh", "gaussian", 1.0, 300, "nuts"),
    _case("friedman-noisy", (50,), "silu", "layer", 1.0, 300, "islands"),
    _case("correlated", (8,), "relu", "gaussian", 1.0, 150, "nuts"),
    _case("correlated", (20, 10), "tanh", "layer", 2.0, 150, "islands"),
    _case("digits", (10,), "tanh", "layer", 2.0, 300, "islands"),
    _case("digits", (25,), "relu", "gaussian", 0.5, 300, "islands"),
    _case("concrete", (50,), "tanh", "layer", 3.0, 927, "islands"),
    _case("energy", (20, 20), "silu", "layer", 2.0, 691, "islands"),
    _case("wine-quality-red", (10,), "relu", "gaussian", 1.0, 1439, "islands"),
    _case("kin8nm", (50, 10), "tanh", "layer", 2.0, 2000, "islands"),
)


ISLANDS = ais.Islands(
    annealing=ais.AnnealedPMC(n_particles=64, n_islands=64, ess_fraction=0.7, n_moves=2),
    n_islands=64,
    polish=1.5,
    n_draws=16384,
)
NUTS = NUTSMethod(n_chains=8, n_warmup=1000, n_draws=2000)


def moments(target: bnn.BayesianTarget, islands: Tensor, x: Tensor) -> IslandMoments:
    """What each island (G, k, D) predicts for rows, one island at a time."""
    network, likelihood = target.network, target.likelihood
    each = [IslandMoments.of(predicted(network, likelihood, theta, x), 1) for theta in islands]
    return IslandMoments.joined(each)


def plain_error(moments: IslandMoments) -> Array:
    """Standard error of the average (N, C), without Student's factor; infinite for one island."""
    return (moments.mean_error / student_factor(max(2, moments.n_islands))).cpu().numpy()


def reference(case: Case, problem: Problem, method: ais.Islands | NUTSMethod) -> dict[str, Any]:
    """The reference of a case, as it is stored: predictions, their error, and how it was made.

    Chains of NUTS count as islands.
    """
    start = time.monotonic()
    by_nuts = isinstance(method, NUTSMethod)
    islands, notes = (_chains if by_nuts else _islands)(case, problem, method)
    found = moments(problem.target, islands, problem.x)
    return {
        "mean": found.mean.mean(0).cpu().numpy(),
        "standard_error": plain_error(found),
        "std": found.variance.sqrt().cpu().numpy(),
        "rhat": float(found.nested_rhat.max()),
        "fingerprint": problem.fingerprint,
        "how": str(method),
        "seconds": time.monotonic() - start,
        **notes,
    }


def _islands(case: Case, problem: Problem, method: ais.Islands) -> tuple[Tensor, dict[str, Any]]:
    result = method.run(problem.target, seed=REFERENCE_SEED)
    return result.islands, {
        "reason": f"{result.verdict.status}: {result.verdict.reason}",
        "log_evidence": result.log_evidence,
        "log_evidence_error": result.log_evidence_error,
    }


def _chains(case: Case, problem: Problem, method: NUTSMethod) -> tuple[Tensor, dict[str, Any]]:
    if not method.library.installed:
        raise InputError(
            f"the reference of {case.name} is made by NUTS, and NumPyro is not installed. Use: pip "
            "install 'pmcnet[nuts]', or --kind islands."
        )
    from numpyro.diagnostics import split_gelman_rubin

    posterior = method.fit(problem.target, seed=REFERENCE_SEED).posterior
    chains = posterior.theta.reshape(method.n_chains, method.n_draws, -1)
    network, likelihood = problem.target.network, problem.target.likelihood
    means = [predicted(network, likelihood, theta, problem.x).mean for theta in chains]
    rhat = split_gelman_rubin(torch.stack(means).flatten(2).cpu().numpy())  # of (C, K, N C)
    return chains, {"rhat": float(np.nanmax(rhat)), "reason": posterior.verdict.reason}

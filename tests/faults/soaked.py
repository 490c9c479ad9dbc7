"""What a soak repeats: fits, predictions, files, runs and refusals, with sizes that change.

Sizes change so that whatever is kept for each size that was ever seen would show as growth.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from torch import nn

from faults.finite import LEVELS
from pmcnet import PMCNetClassifier, PMCNetRegressor, ais, data, metrics
from pmcnet.ais import analytic
from pmcnet.errors import InputError, PMCNetError
from pmcnet.reports.progress import FitProgress
from pmcnet.runs.config import RunSettings
from pmcnet.runs.evaluate import evaluate_rows
from pmcnet.runs.fit import fit_run
from pmcnet.runs.folder import RunFolder
from pmcnet.runs.known_rows import known_rows

PMC = {"n_proposals": 4, "n_draws": 10, "n_steps": 3, "n_epochs": 5}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "annealed": {"n_islands": 4, "n_particles": 8},
    "hmc": {"n_chains": 4, "n_warmup": 6, "n_draws": 6, "max_leapfrog": 4, "n_epochs": 3},
    "pmcnet": PMC,
    "pmcnet-light": PMC,
    "adam-map": {"n_epochs": 5},
    "ensemble": {"n_epochs": 5, "n_members": 3},
    "bbp": {"n_epochs": 5, "n_kept": 10},
    "sgld": {"n_epochs": 5, "n_kept": 10},
    "sghmc": {"n_epochs": 8, "n_kept": 10},
    "mc-dropout": {"n_epochs": 5, "n_passes": 10},
    "sae": {"n_epochs": 5, "n_next_epochs": 1, "n_chains": 2, "n_members": 3},
}

Activity = Callable[[int, Path], None]
Array = NDArray[Any]


def _rows(number: int) -> tuple[Array, Array, Array]:
    """A table of this round: x (N, D), y (N,), classes (N,)."""
    source = np.random.default_rng(number)
    x = source.normal(size=(30 + number % 37, 2 + number % 5))
    slope = x[:, 0] - x[:, 1]
    return (
        x,
        slope + 0.1 * source.normal(size=len(x)),
        np.digitize(slope, [-0.5, 0.5] if number % 2 else [0.0]),
    )


def _settings(name: str, number: int) -> dict[str, Any]:
    common = {
        "prior_std": 1.0,
        "random_state": number,
        "device": "cpu",
        "hidden_layer_sizes": (2 + number % 7,),
    }
    return {"method": name, "method_options": METHODS[name], **common}


def regressors(number: int, folder: Path) -> None:
    """Every method on numbers, and everything that can be asked of what it found."""
    x, y, _ = _rows(number)
    for name in METHODS:
        model = PMCNetRegressor(**_settings(name, number)).fit(x, y)
        path = model.save(folder / "model")
        again = PMCNetRegressor.load(path, device="cpu")
        assert np.array_equal(again.predict(x), model.predict(x))
        again.predict_quantiles(x, LEVELS)
        again.uncertainty(x)
        again.sample_y(x, 2)
        draws = torch.as_tensor(again.predict_draws(x, 8))
        metrics.summarise_all(metrics.regression_metrics(draws, torch.as_tensor(y)))


def classifiers(number: int, folder: Path) -> None:
    """Every method on classes, and everything that can be asked of what it found."""
    x, _, classes = _rows(number)
    for name in METHODS:
        model = PMCNetClassifier(**_settings(name, number)).fit(x, classes)
        path = model.save(folder / "model")
        again = PMCNetClassifier.load(path, device="cpu")
        assert np.array_equal(again.predict_proba(x), model.predict_proba(x))
        again.uncertainty(x)
        again.thinned(5).predict(x)
        draws = torch.as_tensor(again.predict_draws(x, 8))
        found = metrics.binary_metrics if draws.shape[-1] == 2 else metrics.multiclass_metrics
        metrics.summarise_all(found(draws, torch.as_tensor(classes)))


def own_networks(number: int, folder: Path) -> None:
    """A module with buffers, which is mapped over its parameters."""
    x, _, classes = _rows(number)
    model = PMCNetClassifier(**_settings("annealed", number), module=_norm).fit(x, classes)
    PMCNetClassifier.load(model.save(folder / "own"), module=_norm, device="cpu").predict_proba(x)


def _norm(n_inputs: int, n_outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(n_inputs, 3), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, n_outputs)
    )


def samplers(number: int, folder: Path) -> None:
    """Runs on a known target, continued from a checkpoint."""
    known = analytic.banana(2 + number % 4).target
    for name, algorithm in ais.VARIANTS.items():
        first = ais.run(
            algorithm, known, algorithm.init(torch.zeros(5, known.dim), seed=number), n_steps=2
        )
        path = ais.save_state(first.state, folder / f"{name}.safetensors")
        state = ais.load_state(path)
        assert isinstance(state, ais.PMCState)
        ais.run(replace(algorithm, keep="mixture"), known, state, n_steps=2)


def runs(number: int, folder: Path) -> None:
    """A run folder with its page, shown on what claims to be a terminal, and read again."""
    x, y, _ = _rows(number)
    table = folder / "table.csv"
    np.savetxt(
        table,
        np.column_stack([x, y]),
        delimiter=",",
        header=",".join("abcdefgh"[: x.shape[1]]) + ",y",
    )
    source, target = (str(table), "y") if number % 2 else ("wine", "")
    method = list(METHODS)[number % len(METHODS)]
    settings = RunSettings(
        data=source,
        target=target,
        hidden=(3,),
        method=method,
        method_options=dict(METHODS[method]),
        prior_std=1.0,
        n_passes=10,
        seed=number,
        device="cpu",
    )
    with FitProgress(Console(file=StringIO(), force_terminal=True)) as shown:
        finished = fit_run(settings, folder / "run", shown=shown)
    path = RunFolder.open(finished.folder.path).path
    model = type(finished.model).load(finished.folder.model, device="cpu")
    evaluate_rows(model, known_rows(model, path, data.open_table(source)), n_passes=5, seed=0)


def searches(number: int, folder: Path) -> None:
    """A prior chosen on validation rows."""
    x, y, _ = _rows(number)
    given = _settings("adam-map", number) | {"prior_std": "validation"}
    PMCNetRegressor(**given).fit(x, y)


def refusals(number: int, folder: Path) -> None:
    """Files, rows and settings that are refused: nothing of them may stay."""
    x, y, _ = _rows(number)
    damaged = folder / "damaged"
    damaged.write_bytes(np.random.default_rng(number).bytes(1000 + 10 * (number % 100)))
    fast = {"method": "sgld", "method_options": {"learning_rate": 1e3, "n_epochs": 5}}
    diverging = _settings("adam-map", number) | fast
    refused(lambda: PMCNetRegressor(**diverging).fit(x, y))
    refused(lambda: PMCNetRegressor(**_settings("adam-map", number)).fit(x * np.inf, y))
    refused(lambda: PMCNetRegressor.load(damaged))
    refused(lambda: ais.load_state(damaged))
    refused(lambda: data.read_frame(shutil.copy(damaged, folder / "damaged.csv")))


def refused(attempt: Callable[[], Any]) -> None:
    """Make an attempt that must fail with a sentence."""
    try:
        attempt()
    except (PMCNetError, InputError, ValueError):
        return
    raise AssertionError("it was not refused")


ACTIVITIES: tuple[Activity, ...] = (
    regressors,
    classifiers,
    own_networks,
    samplers,
    runs,
    searches,
    refusals,
)


def soaked(number: int) -> None:
    """One round of everything, in a folder that is then deleted."""
    with tempfile.TemporaryDirectory() as place:
        for activity in ACTIVITIES:
            activity(number, Path(place))

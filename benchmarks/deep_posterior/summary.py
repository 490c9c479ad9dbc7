"""Runs of a study as one table: parts that ran alone, or seeds from several GPUs and days.

Every draw of every chain counts once in the average, and R-hat is over all chains.
"""

import json
import math
from collections.abc import Sequence
from functools import reduce
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from average import Average
from baseline_methods import Records, known
from checkpoint import Stage, load_stage, save_json
from problem import Problem
from study import Study

from pmcnet import ais
from pmcnet.io.atomic import write_whole

CHAINS, ENSEMBLE, START = "SGHMC chains", "ensemble, same time", "starting networks"
_NOT_CORRECTED = (
    "steps on mini-batches are never corrected: nothing measures how far draws are from the "
    "posterior"
)
_COLUMNS = ("accuracy", "nll", "ece", "auroc_entropy", "auroc_information", "single_accuracy")


def summarise(study: Study, problem: Problem, folders: Sequence[Path], out: Path) -> str:
    """Write OUT/results.json and the averaged probabilities of the chains; the table as text."""
    settings = _settings(folders)
    starts, ensembles, chains = (
        _by_seed(folders, name, problem.device) for name in ("start", "ensemble", "chains")
    )
    # parts of one seed may have trained starting networks of their own: any of them will do
    rows: Records = {START: _row(problem, {seed: stages[0] for seed, stages in starts.items()})}
    if ensembles:
        rows[ENSEMBLE] = _row(problem, _single(ensembles, "ensembles"))
    others: list[Records] = [known(folder) for folder in folders]
    rows |= max(others, key=len)
    if chains:
        drawn = _single(chains, "chains")
        rows[CHAINS] = _row(problem, drawn) | _diagnosed(list(drawn.values()))
        _save_probability(out / "probability.npz", problem, drawn)
    save_json(out / "results.json", {"settings": settings, "rows": rows})
    return _table(study, rows)


def _settings(folders: Sequence[Path]) -> dict[str, Any]:
    """Of all runs, which may differ in nothing but the seed."""
    found: list[dict[str, Any]] = []
    for folder in folders:
        path = folder / "settings.json"
        if not path.exists():
            raise SystemExit(f"{folder} holds no run. Name a folder that an earlier call wrote to.")
        found.append(json.loads(path.read_text()))
    if any(each | {"seed": 0} != found[0] | {"seed": 0} for each in found):
        raise SystemExit(f"these runs have different settings: {found}.")
    return found[0] | {"seed": sorted({each["seed"] for each in found})}


def _by_seed(folders: Sequence[Path], name: str, device: torch.device) -> dict[int, list[Stage]]:
    """Stages of that name, of the runs that have one."""
    found: dict[int, list[Stage]] = {}
    for folder in folders:
        seed = json.loads((folder / "settings.json").read_text())["seed"]
        if (stage := load_stage(folder / f"{name}.safetensors", device)) is not None:
            found.setdefault(seed, []).append(stage)
    return found


def _single(stages: dict[int, list[Stage]], what: str) -> dict[int, Stage]:
    """One of each seed: the same networks must not count twice."""
    if twice := [seed for seed, each in stages.items() if len(each) > 1]:
        raise SystemExit(f"two of these runs have {what} of seed {twice[0]}. Name one of them.")
    return {seed: each[0] for seed, each in stages.items()}


def _row(problem: Problem, stages: dict[int, Stage]) -> dict[str, Any]:
    """Scores of all networks together; seconds and history of each seed."""
    return {
        "seconds": [stage.record["seconds"] for stage in stages.values()],
        "scores": _merged(stages).scores(problem.label),
        "history": {seed: stage.record.get("history", []) for seed, stage in stages.items()},
    }


def _merged(stages: dict[int, Stage]) -> Average:
    return reduce(Average.merged, (Average.of(stage.tensors) for stage in stages.values()))


def _diagnosed(stages: list[Stage]) -> dict[str, Any]:
    """Of all chains side by side, with as many of the last draws as each has."""
    n = min(len(stage.tensors["log_density"]) for stage in stages)
    density, monitors = (
        torch.cat([stage.tensors[name][-n:] for stage in stages], dim=1)
        for name in ("log_density", "monitors")
    )
    result = ais.ChainResult(density.new_empty(0), density, monitors, (), True)
    within, between = result.disagreement
    found = {"rhat": result.rhat, "ess": result.ess, "drift": result.drift}
    found |= {"disagreement_within": within, "disagreement_between": between}
    plain: dict[str, Any] = {k: v if math.isfinite(v) else None for k, v in found.items()}
    n_resets = sum(stage.record.get("n_resets", 0) for stage in stages)
    return plain | {"n_resets": n_resets, "verdict": ["doubtful", _NOT_CORRECTED]}


def _save_probability(path: Path, problem: Problem, stages: dict[int, Stage]) -> None:
    """The averaged probabilities of the test rows, in their order."""
    file = BytesIO()
    mean = _merged(stages).mean[: len(problem.label)]
    np.savez_compressed(file, probability=mean.half().cpu().numpy())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, file.getvalue())


def _table(study: Study, rows: Records) -> str:
    columns = [name for name in _COLUMNS if name in rows[START]["scores"]]
    lines = [f"{'':30}" + "".join(f"{name:>18}" for name in ("networks", *columns))]
    for label, record in rows.items():
        scores = record["scores"]
        cells = ["inf" if scores[name] is None else f"{scores[name]:.4f}" for name in columns]
        values = (str(scores["n_networks"]), *cells)
        lines.append(f"{label:30}" + "".join(f"{value:>18}" for value in values))
    lines.append(f"Averaged predictions; likelihood weight {study.likelihood_weight:g} for all.")
    if CHAINS in rows:
        rhat, ess = (rows[CHAINS][name] for name in ("rhat", "ess"))
        shown = ["unknown" if value is None else f"{value:.3g}" for value in (rhat, ess)]
        effective = f"R-hat of predictions {shown[0]}, {shown[1]} effective draws"
        lines.append(f"{CHAINS}: {effective}; doubtful: {_NOT_CORRECTED}.")
    return "\n".join(lines)

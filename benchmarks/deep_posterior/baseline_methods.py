"""Baselines of the chains: an ensemble of the same minutes, SGLD, MC dropout, PMCnet-light."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from average import Average, scores_line
from chains import Run
from checkpoint import Stage, load_stage, save_json, save_stage, seconds_since

from pmcnet import ais, tune
from pmcnet.bnn import ParticlePosterior
from pmcnet.errors import DivergedError
from pmcnet.methods import Given, PMCMethod
from pmcnet.methods.mc_dropout import MCDropout
from pmcnet.methods.sgmcmc.sgld import SGLD

ENSEMBLE_SEED = TUNING_SEED = 1000  # apart from the seeds of studies, 0 to 999
N_PASSES = 100
_TUNING_SHARE = 0.25  # of the epochs
_BATCH_ROWS, _SIGMA = 1000, 0.005  # of PMCnet-light

Choice = Mapping[str, float]
Records = dict[str, dict[str, Any]]
"""Seconds, scores and more, by the label of a row."""

LANGEVIN_RATES, DROPOUT_RATES = (3e-6, 1e-5, 3e-5), (0.02, 0.05, 0.2)
"""Validation rows choose among them; Langevin rates are divided by the likelihood weight."""


def ensemble(run: Run) -> None:
    """All networks that can be trained within the budget, the starting ones first."""
    path, problem = run.folder / "ensemble.safetensors", run.problem
    stage = load_stage(path, problem.device)
    if stage is None:
        start = run.started()
        seconds = start.record["seconds"]
        record: dict[str, Any] = {
            "seconds": seconds,
            # the last one's, by which another fits or not: the first also compiles
            "round_seconds": seconds,
            "n_rounds": 0,
            "history": [],
        }
        average = problem.added(problem.average(), start.tensors["theta"])
        stage = Stage(record, average._asdict())
        save_stage(path, stage)
    record, average = stage.record, Average.of(stage.tensors)
    while record["seconds"] + record["round_seconds"] <= run.budget:
        begun = time.monotonic()
        theta = run.trained(ENSEMBLE_SEED * (1 + run.seed) + record["n_rounds"])
        average = problem.added(average, theta)
        record["round_seconds"] = seconds_since(begun, problem.device)
        record["seconds"] += record["round_seconds"]
        record["n_rounds"] += 1
        scores = average.scores(problem.label)
        record["history"].append({"seconds": record["seconds"], "scores": scores})
        save_stage(path, Stage(record, average._asdict()))
        networks = f"ensemble of {scores['n_networks']}"
        print(f"{record['seconds']:.0f} s: {networks}, {scores_line(scores)}", flush=True)


def others(run: Run) -> None:
    """SGLD, MC dropout and PMCnet-light, which the budget does not concern."""
    for name, method in METHODS.items():
        path = run.folder / f"{name}.json"
        if path.exists():
            continue
        found = method(run)
        for label, record in found.items():
            print(f"{label}: {scores_line(record['scores'])}", flush=True)
        save_json(path, found)


def known(folder: Path) -> Records:
    """What `others` has found in a folder."""
    paths = [folder / f"{name}.json" for name in METHODS]
    found = [json.loads(path.read_text()) for path in paths if path.exists()]
    return {label: record for part in found for label, record in part.items()}


def _tuned(
    run: Run, make: Callable[..., SGLD | MCDropout], choices: Sequence[Choice]
) -> dict[str, Any]:
    """A method with the setting that validation rows choose after a share of the epochs."""
    study, problem = run.study, run.problem
    tuning_target, (x, y) = problem.held_out()
    method = partial(make, batch_size=study.adam.batch_size)

    def loss(choice: Choice) -> float:
        n_epochs = max(1, round(_TUNING_SHARE * study.baseline_epochs))
        fit = method(n_epochs=n_epochs, **choice).fit(
            tuning_target, seed=TUNING_SEED, validation=(x, y)
        )
        return float(-fit.posterior.log_predictive(x, y).mean())

    def fitted(choice: Choice) -> ParticlePosterior:
        whole = method(n_epochs=study.baseline_epochs, **choice)
        return whole.fit(problem.target, seed=run.seed, validation=problem.validation).posterior

    begun = time.monotonic()
    search = tune.grid_search(choices, loss)
    tuning_seconds, begun = seconds_since(begun, problem.device), time.monotonic()
    choice, posterior = _first_finite(search.ranked, fitted)
    return {
        "seconds": seconds_since(begun, problem.device),
        "tuning_seconds": tuning_seconds,
        "choice": dict(choice),
        "scores": problem.posterior_scores(posterior, N_PASSES),
    }


def _first_finite(
    ranked: Sequence[Choice], fitted: Callable[[Choice], ParticlePosterior]
) -> tuple[Choice, ParticlePosterior]:
    """The best choice whose whole training, longer than the tuning, does not diverge."""
    *better, last = ranked
    for choice in better:
        try:
            return choice, fitted(choice)
        except DivergedError:
            continue
    return last, fitted(last)


def sgld(run: Run) -> Records:
    """Stochastic gradient Langevin dynamics, one chain."""
    weight = run.study.likelihood_weight
    choices = [{"learning_rate": rate * (1 / weight)} for rate in LANGEVIN_RATES]
    return {"SGLD": _tuned(run, partial(SGLD, n_kept=N_PASSES), choices)}


def mc_dropout(run: Run) -> Records:
    """One network with dropout."""
    choices = [{"rate": rate} for rate in DROPOUT_RATES]
    return {"MC dropout": _tuned(run, partial(MCDropout, n_passes=N_PASSES), choices)}


def light(run: Run) -> Records:
    """PMCnet-light from the starting networks, with exact and with equal weights."""
    study, problem = run.study, run.problem
    n_batches = max(1, len(problem.target.x) // _BATCH_ROWS)
    method = PMCMethod(
        algorithm=replace(ais.pmcnet_light, n_draws=study.light.n_draws),
        n_proposals=study.n_chains,
        n_steps=study.light.n_steps,
        sigma=_SIGMA,
        start=Given(run.started().tensors["theta"]),
    )
    begun = time.monotonic()
    fit = method.fit(replace(problem.target, n_batches=n_batches), seed=run.seed)
    seconds = seconds_since(begun, problem.device)
    weights = {"exact": fit.posterior, "equal": fit.posterior.equally_weighted()}
    return {
        f"PMCnet-light, {kind} weights": {
            "seconds": seconds,
            "ess": posterior.ess,
            "scores": problem.posterior_scores(posterior, N_PASSES),
        }
        for kind, posterior in weights.items()
    }


METHODS: Mapping[str, Callable[[Run], Records]] = {
    "sgld": sgld,
    "mc-dropout": mc_dropout,
    "pmcnet-light": light,
}

"""PMCnet-light at the paper's full scale, and every method it is compared with, under the same conditions.

All networks are trained on the same rows with the same random changes of images and for the same
number of epochs. The M starting networks are ADAM-MLE; averaged they are the deep ensemble of the
table. Each of the other methods chooses one setting of its own among three, by its log predictive
density on validation rows after a share of the epochs.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch

from pmcnet import ais
from pmcnet.bnn import ParticlePosterior, Population
from pmcnet.methods import Restarts
from pmcnet.methods.base import Observer
from pmcnet.methods.point_estimates import MANY, ONE
from pmcnet.methods.training.state import EpochInfo, TrainingState
from pmcnet.paper import deep_problems
from pmcnet.paper.deep_baselines import CHOICES, trained
from pmcnet.paper.deep_settings import Settings
from pmcnet.paper.deep_table import deep_figures, deep_table, deep_timing
from pmcnet.paper.paper_scores import Say, regression_score, score, since
from pmcnet.paper.problem import Problem
from pmcnet.paper.stages import Stages
from pmcnet.runs.figure_data import Record


def run(
    name: str, *, settings: Settings, device: torch.device, say: Say, folder: Path | None = None
) -> Record:
    """The whole experiment as plain data.

    Args:
        name: of the data.
        settings: sizes.
        device: where to run.
        say: told a line at a time.
        folder: keeps checkpoints, from which a run that was interrupted goes on.
    """
    how = settings.evaluation(device)
    if name in deep_problems.IMAGES:
        problem = deep_problems.image_problem(
            name, device, how, augmented=settings.augmented, limits=settings.limits
        )
    else:
        problem = deep_problems.table_problem(
            name, device, memory=how.memory, limits=settings.limits
        )
    fixed = {
        key: value for key, value in asdict(settings).items() if key != "n_seeds"
    }  # seeds may be added
    stages = Stages(folder, name, fixed | {"device": device.type})
    runs: dict[str, list[Record]] = {}
    for seed in range(settings.n_seeds):
        for method, record in _light(problem, settings, seed, stages, say).items():
            runs.setdefault(method, []).append(record)
        for method in CHOICES if settings.baselines else ():
            runs.setdefault(method, []).append(
                _baseline(method, problem, settings, seed, stages, say)
            )
    return {
        "experiment": name,
        "settings": asdict(settings) | {"device": _device_name(device)},
        "classes": list(problem.classes),
        "table": deep_table(name, runs),
        "timing": deep_timing(name, runs),
        "runs": runs,
        "figures": deep_figures(name, runs),
    }


def _light(
    problem: Problem, settings: Settings, seed: int, stages: Stages, say: Say
) -> dict[str, Record]:
    """The starting networks, one and all of them, and PMCnet-light with exact and with equal weights."""
    key = f"light-{seed}"
    if (finished := stages.record(key)) is not None:
        return dict(finished)
    prior_variance, n_rows = settings.prior_std**2, len(problem.train[0])
    target = problem.target(prior_variance, n_batches=max(1, n_rows // settings.batch_rows))
    device = target.device
    state, known = stages.state(key, device), stages.record(f"start-{seed}")
    if state is None or known is None:
        start = time.monotonic()
        restarts = Restarts(settings.adam())
        loc = restarts(
            target,
            settings.n_proposals,
            seed=seed,
            observers=[_epochs(say, f"{problem.name}: start")],
        )
        seconds = since(start, device)
        known = {
            "adam-mle": _scored(problem, Population.of(target, loc[:1], ONE), settings)
            | {"seconds": seconds}
        }
        known["ensemble"] = _scored(problem, Population.of(target, loc, MANY), settings) | {
            "seconds": seconds
        }
        state = settings.method(loc).algorithm.init(loc, sigma=settings.sigma, seed=seed)
        stages.keep_record(f"start-{seed}", known)
        stages.keep_state(key, state)
        say(
            f"{problem.name}, seed {seed}: {settings.n_proposals} networks trained in "
            f"{seconds:.1f} s, {_said(known)}"
        )
    assert isinstance(state, ais.PMCState)
    lines: list[Record] = stages.record(f"history-{seed}") or []
    del lines[state.step :]

    def after(state: ais.PMCState, info: ais.PMCInfo) -> None:
        lines.append({"step": state.step, "ess": info.ess, **info.phases._asdict()})
        if state.step < settings.n_steps:
            stages.keep_record(f"history-{seed}", lines)
            stages.keep_state(key, state)
        seconds = info.phases
        say(
            f"{problem.name}, seed {seed}, step {state.step} of {settings.n_steps}: ESS "
            f"{info.ess:.2f}, "
            f"{seconds.target:.2f} s for the weights, {seconds.moves:.2f} s for the moves"
        )

    fit = settings.method(state.proposals.loc).fit(
        target, seed=seed, observers=[after], state=state
    )
    own = {
        "seconds": sum(line["proposals"] + line["target"] + line["moves"] for line in lines),
        "phases": lines,
    }
    found: dict[str, Record] = known | {
        "pmcnet-light": _scored(problem, fit.posterior, settings) | own,
        "pmcnet-light, equal weights": _scored(problem, fit.posterior.equally_weighted(), settings)
        | own,
    }
    say(f"{problem.name}, seed {seed}: {_said(found)}")
    stages.keep_record(key, found)
    return found


def _baseline(
    method: str, problem: Problem, settings: Settings, seed: int, stages: Stages, say: Say
) -> Record:
    """One method: its setting chosen on validation rows, then trained and scored."""
    if (finished := stages.record(f"{method}-{seed}")) is not None:
        return dict(finished)
    (posterior, *points), record = trained(method, problem, settings, seed)
    record |= _scored(problem, posterior, settings)
    if points:
        record["at_mean"] = _scored(problem, points[0], settings)
    say(f"{problem.name}, seed {seed}: {_said({method: record})}, {record['choice']}")
    stages.keep_record(f"{method}-{seed}", record)
    return record


def _scored(problem: Problem, posterior: ParticlePosterior, settings: Settings) -> Record:
    start = time.monotonic()
    posterior.draws(problem.test[0], n_passes=settings.n_passes)
    per_row = 1e3 * since(start, problem.test[0].device) / len(problem.test[0])
    if problem.classes:
        found = score(posterior, *problem.test, n_passes=settings.n_passes)
    else:
        found = regression_score(
            posterior, *problem.test, unit=problem.unit, n_passes=settings.n_passes
        )
    return found | {"milliseconds_per_row": per_row}


def _said(records: Mapping[str, Record]) -> str:
    parts = []
    for method, record in records.items():
        name = "accuracy" if "accuracy" in record["bma"] else "mse"
        parts.append(
            f"{method} {name} {record['per_draw'][name]['mean']:.5g}, averaged "
            f"{record['bma'][name]:.5g}"
        )
    return "; ".join(parts)


def _epochs(say: Say, what: str) -> Observer:
    def report(state: TrainingState, info: EpochInfo) -> None:
        if info.epoch == info.n_epochs or info.epoch % max(1, info.n_epochs // 10) == 0:
            say(f"{what}, epoch {info.epoch} of {info.n_epochs}")

    return report


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type

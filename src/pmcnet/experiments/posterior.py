"""Posteriors of deep networks: parallel Hamiltonian chains beside the ensemble they start from, at the same minutes.

Chains begin at networks trained by Adam under the prior, walk on mini-batches to where the posterior's mass is, and
then make corrected trajectories on all images until the budget is spent. Their averaged prediction is compared with
that of the starting networks and of as many more as can be trained in the same time. Images are not changed at random.
"""

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pmcnet import ais
from pmcnet.ais.tiling import free_memory
from pmcnet.bnn import BayesianTarget
from pmcnet.bnn.arithmetic import Precision
from pmcnet.experiments import deep_problems
from pmcnet.experiments.averaging import Average
from pmcnet.experiments.problem import Problem
from pmcnet.experiments.scoring import Say, since
from pmcnet.experiments.stages import Stages
from pmcnet.methods import Adam, Restarts
from pmcnet.methods.hmc import decisive
from pmcnet.methods.sghmc import SGHMC
from pmcnet.runs.curves import Record, finite

ENSEMBLE_SEED = 1000
_SECONDS_BETWEEN_CHECKPOINTS = 60.0
_AT_ONCE = 2000  # test rows


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the experiments run.

    Args:
        n_chains: P.
        prior_variance: of every parameter.
        n_epochs: of the starting networks.
        batch_size: rows per step of their training.
        learning_rate: of Adam, with a cosine schedule.
        walk_epochs: of the warm-up on mini-batches.
        walk_step: its first step.
        walk_batch: its rows per step.
        n_warmup: trajectories that tune themselves and are thrown away.
        max_leapfrog: longest trajectory.
        budget: seconds in all, those of the start and the warm-up included.
        marks: seconds at which the averaged prediction is scored on the way.
        ensemble: whether the budget is spent a second time on training more networks.
        precision: of gradients; values that decide are more accurate where need be.
        compiled: whether networks are compiled, on a GPU.
        memory: bytes for temporaries at most.
        limits: at most so many training, validation and test images.
    """

    n_chains: int = 20
    prior_variance: float = 0.1
    n_epochs: int = 15
    batch_size: int = 500
    learning_rate: float = 3e-3
    walk_epochs: int = 60
    walk_step: float = 2e-3
    walk_batch: int = 1000
    n_warmup: int = 10
    max_leapfrog: int = 60
    budget: float = 1500.0
    marks: tuple[float, ...] = (600.0,)
    ensemble: bool = True
    precision: Precision = "tf32"
    compiled: bool = True
    memory: int = 16 << 30
    limits: tuple[int, int, int] | None = None

    def quick(self) -> "Settings":
        """Sizes that finish in seconds on two cores, with ResNet-20 in minutes."""
        sizes = replace(self, n_chains=2, n_epochs=1, batch_size=25, walk_epochs=1, walk_batch=25, n_warmup=2)
        sizes = replace(sizes, max_leapfrog=2, budget=4.0, marks=(), limits=(50, 10, 20))
        return replace(sizes, compiled=False, memory=1 << 31, precision="float32")


def run(name: str, *, settings: Settings, device: torch.device, say: Say, folder: Path | None = None) -> Record:
    """The whole experiment as plain data.

    Args:
        name: a key of `deep_problems.POSTERIORS`.
        settings: sizes.
        device: where to run.
        say: told a line at a time.
        folder: keeps checkpoints, from which a run that was interrupted, or whose budget was raised, goes on.
    """
    memory = min(settings.memory, free_memory(device))
    how = deep_problems.Evaluation(settings.precision, settings.compiled and device.type == "cuda", memory)
    problem = deep_problems.posterior_problem(name, device, how, limits=settings.limits)
    fixed = {k: v for k, v in asdict(settings).items() if k not in ("budget", "marks", "ensemble")}
    stages = Stages(folder, name, fixed | {"device": device.type})
    target = problem.target(settings.prior_variance)
    start, begun = _start(problem, target, settings, stages, say)
    chains, probability = _chains(problem, target, settings, start, begun["seconds"], stages, say)
    if folder is not None:  # in the order of the test set
        np.savez_compressed(folder / f"{name}-probability.npz", probability=probability.half().cpu().numpy())
    scored = {"start": begun["scores"], "chains": chains["scores"]}
    if settings.ensemble:
        scored["ensemble"] = _ensemble(problem, target, settings, start, begun["seconds"], stages, say)
    return {
        "experiment": name,
        "settings": asdict(settings) | {"device": device.type},
        "table": _table(name, scored),
        "start": begun,
        "chains": chains,
        "scores": scored,
        "figures": {},
    }


def _start(
    problem: Problem, target: BayesianTarget, settings: Settings, stages: Stages, say: Say
) -> tuple[Tensor, Record]:
    """The starting networks (P, D), and what they score."""
    known, found = stages.record("start"), stages.tensors("start", target.device)
    if known is None or not found:
        start = time.monotonic()
        theta = _adam(settings)(target, settings.n_chains, seed=0)
        seconds = since(start, target.device)
        average = _added(_nothing(problem), problem, target, theta)
        known = {"seconds": seconds, "scores": average.scores(problem.test[1].long())}
        stages.keep_tensors("start", {"theta": theta})
        stages.keep_record("start", known)
        found = {"theta": theta}
        say(f"{problem.name}: {settings.n_chains} networks trained in {seconds:.1f} s, {_said(known['scores'])}")
    return found["theta"], known


def _walk(
    problem: Problem, target: BayesianTarget, settings: Settings, start: Tensor, stages: Stages, say: Say
) -> tuple[Tensor, Tensor, float]:
    """Where chains are after the warm-up on mini-batches, the scales it has found, and its seconds."""
    known, found = stages.record("walk"), stages.tensors("walk", target.device)
    if known is None or not found:
        begun = time.monotonic()
        walk = SGHMC(
            n_cycles=1,
            exploration=0.0,
            step=settings.walk_step,
            batch_size=settings.walk_batch,
            n_epochs=settings.walk_epochs,
            n_kept=1,
        ).walk(target, start, seed=0)
        known = {"seconds": since(begun, target.device)}
        found = {"theta": walk.theta, "sigma": walk.sigma}
        stages.keep_tensors("walk", found)
        stages.keep_record("walk", known)
        say(f"{problem.name}: {settings.walk_epochs} epochs of the warm-up in {known['seconds']:.1f} s")
    return found["theta"], found["sigma"], float(known["seconds"])


def _chains(
    problem: Problem,
    target: BayesianTarget,
    settings: Settings,
    start: Tensor,
    seconds: float,
    stages: Stages,
    say: Say,
) -> tuple[Record, Tensor]:
    """Trajectories until the budget is spent: their record and the averaged probabilities of the test rows."""
    theta, sigma, walked = _walk(problem, target, settings, start, stages, say)
    path, error = decisive(target, theta)
    sampler = ais.HMCPopulation(
        n_warmup=settings.n_warmup,
        n_draws=1 << 20,
        max_leapfrog=settings.max_leapfrog,
        adapt_scale=False,
        keep=False,
    )
    state = stages.state("chains", target.device)
    label, average = problem.test[1].long(), _nothing(problem)
    record: Record = {"seconds": seconds + walked, "history": [], "marks": {}}
    if state is None:
        state = sampler.init(path, theta, seed=0, sigma=sigma)
    else:
        assert isinstance(state, ais.ChainState)
        record = stages.record("chains")
        average = Average(**stages.tensors("average", target.device))
    before, saved = float(record["seconds"]), time.monotonic()
    begun = saved
    while record["seconds"] < settings.budget or average.n == 0:  # at least one draw
        state, line = sampler.step(state, path)
        if not line.warming:
            average = _added(average, problem, target, state.points.theta)
        record["seconds"] = before + since(begun, target.device)
        record["history"].append(line._replace(seconds=record["seconds"])._asdict())
        say(f"{problem.name}, {record['seconds']:.0f} s: {_line(line, average, label)}")
        for mark in settings.marks:
            if record["seconds"] >= mark and str(mark) not in record["marks"] and average.n > 0:
                record["marks"][str(mark)] = average.scores(label)
        if time.monotonic() - saved > _SECONDS_BETWEEN_CHECKPOINTS or record["seconds"] >= settings.budget:
            stages.keep_state("chains", state)
            stages.keep_tensors("average", average._asdict())
            stages.keep_record("chains", record)
            saved = time.monotonic()
    result = ais.ChainResult(state.kept, state.log_density, state.monitors, (), True)
    known = {"energy_error": error, "rhat": result.rhat, "ess": result.ess, "drift": result.drift}
    known |= dict(zip(("disagreement_within", "disagreement_between"), result.disagreement, strict=True))
    record |= {name: finite(value) for name, value in known.items()} | {"verdict": list(result.verdict)}
    return record | {"scores": average.scores(label)}, average.mean


def _ensemble(
    problem: Problem,
    target: BayesianTarget,
    settings: Settings,
    start: Tensor,
    seconds: float,
    stages: Stages,
    say: Say,
) -> Record:
    """The averaged prediction of all networks that can be trained within the budget, the starting ones first."""
    if (finished := stages.record("ensemble")) is not None and finished["seconds"] >= settings.budget:
        return dict(finished["scores"])
    average = _added(_nothing(problem), problem, target, start)
    spent, seed = seconds, ENSEMBLE_SEED
    while spent + seconds <= settings.budget:
        begun = time.monotonic()
        more = _adam(settings)(target, settings.n_chains, seed=seed)
        spent, seed = spent + since(begun, target.device), seed + 1
        average = _added(average, problem, target, more)
    scores = average.scores(problem.test[1].long())
    stages.keep_record("ensemble", {"seconds": max(spent, settings.budget), "scores": scores})
    say(f"{problem.name}: ensemble of {scores['n_networks']} in {spent:.0f} s, {_said(scores)}")
    return scores


def _adam(settings: Settings) -> Restarts:
    adam = Adam(
        objective="map",
        learning_rate=settings.learning_rate,
        batch_size=settings.batch_size,
        n_epochs=settings.n_epochs,
        schedule="cosine",
    )
    return Restarts(adam)


def _nothing(problem: Problem) -> Average:
    x, _ = problem.test
    return Average.nothing(len(x), len(problem.classes), x.device)


def _added(average: Average, problem: Problem, target: BayesianTarget, theta: Tensor) -> Average:
    (x, y), (weights, _) = problem.test, target.parts(theta)
    with torch.no_grad():
        drawn = [target.likelihood.mean(target.network(weights, rows)) for rows in torch.split(x, _AT_ONCE)]
    return average.plus(torch.cat(drawn, dim=1), y.long())


def _line(line: ais.ChainRecord, average: Average, label: Tensor) -> str:
    text = f"log pi {line.log_density:.0f}, acceptance {line.acceptance:.2f}, {line.n_leapfrog} steps"
    return text if line.warming else f"{text}, {_said(average.scores(label))}"


def _said(scores: Record) -> str:
    single = f"one network {scores['single_accuracy']:.4f}"
    return f"accuracy {scores['accuracy']:.4f}, NLL {scores['nll']:.4f}, {single}"


def _table(name: str, scored: dict[str, Record]) -> Record:
    labels = {"start": "starting networks", "ensemble": "ensemble, same time", "chains": "Hamiltonian chains"}
    rows = []
    for key, label in labels.items():
        if key not in scored:
            continue
        scores = scored[key]
        cells = {n: {"mean": scores[n], "std": 0.0, "spread": None, "paper": None} for n in ("accuracy", "nll", "ece")}
        note = f"{scores['n_networks']} networks, one of them {scores['single_accuracy']:.4f}"
        rows.append({"label": label, "cells": cells, "note": note})
    caption = "Averaged predictions, all within the same time. Images were not changed at random for any of them."
    return {"title": name, "columns": ["accuracy", "nll", "ece"], "rows": rows, "caption": caption}

"""The methods that PMCnet is compared with: tuned on validation rows, scored over seeds."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pmcnet import metrics, tune
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.methods.base import Method
from pmcnet.methods.bbp import BBP
from pmcnet.methods.registry import METHODS, options
from pmcnet.methods.settings import parts
from pmcnet.paper.experiment import Say
from pmcnet.paper.paper_scores import milliseconds_per_row, score
from pmcnet.paper.problem import Problem, Rows
from pmcnet.paper.result_table import BASELINES

TUNING_SEED = 1000
"""Of the searches for settings: apart from the seeds that are reported."""


def run_baseline(
    name: str,
    problem: Problem,
    *,
    n_seeds: int,
    n_choices: int,
    n_passes: int,
    extra: Mapping[str, Any],
    say: Say,
) -> list[Record]:
    """Tune one method on validation rows, fit it with each seed, score it on test rows.

    The choice is by accuracy; the NLL decides between equal ones.

    Args:
        name: of the method.
        problem: rows and network.
        n_seeds: repetitions.
        n_choices: settings tried, the same number for every method.
        n_passes: R.
        extra: settings that are not tuned, e.g. fewer epochs.
        say: called with a line of progress at a time.
    """
    assert problem.validation is not None
    x, y = problem.validation

    def loss(choice: Mapping[str, Any]) -> float:
        method, target = made(name, problem, choice, extra)
        posterior = method.fit(target, seed=TUNING_SEED, validation=problem.validation).posterior
        accuracy = metrics.accuracy(posterior.draws(x, n_passes=n_passes), y.long()).mean()
        return float(-accuracy - 1e-4 * posterior.log_predictive(x, y).mean())

    start = time.monotonic()
    found = tune.grid_search(METHODS[name].grid[:n_choices], loss)
    tuning_seconds = time.monotonic() - start
    method, target = made(name, problem, found.best, extra)
    runs = []
    for seed in range(n_seeds):
        start = time.monotonic()
        posterior, *points = posteriors(method, target, seed=seed, validation=problem.validation)
        seconds = time.monotonic() - start
        per_row = milliseconds_per_row(posterior, problem.test[0], n_passes)
        record: Record = {
            "method": name,
            "seed": seed,
            **score(posterior, *problem.test, n_passes=n_passes),
            "choice": dict(found.best),
            "seconds": seconds,
            "tuning_seconds": tuning_seconds,
            "milliseconds_per_row": per_row,
        }
        if points:
            record["at_mean"] = score(points[0], *problem.test, n_passes=1)
        runs.append(record)
    accuracy = [run["per_draw"]["accuracy"]["mean"] for run in runs]
    say(
        f"{problem.name}, {BASELINES[name]}: accuracy {sum(accuracy) / len(accuracy):.4f}, "
        f"{dict(found.best)}"
    )
    return runs


def posteriors(
    method: Method, target: BayesianTarget, *, seed: int, validation: Rows | None
) -> list[ParticlePosterior]:
    """What the method gives; for BBP also the network at the mean, which is what the paper reports.

    Args:
        method: to fit.
        target: to fit it to.
        seed: decides everything random.
        validation: rows held out.
    """
    if not isinstance(method, BBP):
        return [method.fit(target, seed=seed, validation=validation).posterior]
    found, _ = method.trained(target, seed=seed, validation=validation)
    return [
        each.posterior(target, found, seed=seed)
        for each in (method, replace(method, predict="mean"))
    ]


def made(
    name: str, problem: Problem, choice: Mapping[str, Any], extra: Mapping[str, Any]
) -> tuple[Method, BayesianTarget]:
    """The method and its target.

    Args:
        name: of the method.
        problem: rows and network.
        choice: settings of its own and the prior's scale.
        extra: settings that are not chosen.
    """
    own, prior_std = parts(choice)
    method = options(name, {**own, **extra}, len(problem.train[0])).method(name)
    return method, problem.target(prior_std**2)

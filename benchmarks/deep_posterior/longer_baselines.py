"""Do SGLD and MC dropout come near to chains of LeNet-5 on MNIST-C when they have as many minutes?

In `run.py` they are one network of 60 epochs each. Here the budget is spent on rounds: SGLD in as
many chains as the study has, MC dropout on one network more each time, and what all rounds predict
is averaged. Their setting is chosen on validation images first, within the budget, among more
values than there; the chains' settings were chosen before, outside of theirs. Prior, likelihood
weight and images are the study's. Prints and writes the test scores of the average after every
round.

    python benchmarks/deep_posterior/longer_baselines.py sgld --epochs 300 --json sgld.json
    python benchmarks/deep_posterior/longer_baselines.py mc-dropout --epochs 60 --json dropout.json
"""

import argparse
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from average import scores_line
from checkpoint import seconds_since
from problem import Problem
from study import STUDIES, Study

from pmcnet import tune
from pmcnet.bnn import ParticlePosterior
from pmcnet.methods.mc_dropout import MCDropout
from pmcnet.methods.sgmcmc.sgld import SGLD

TUNING_SEED = 1000
# Where each was at an end of the range of `run.py`, the range goes on.
CHOICES: dict[str, list[dict[str, float]]] = {
    "sgld": [{"learning_rate": rate} for rate in (3e-8, 1e-7, 3e-7, 1e-6)],
    "mc-dropout": [{"rate": rate} for rate in (0.01, 0.02, 0.05, 0.1)],
}


def method_of(name: str, study: Study, n_epochs: int, choice: Mapping[str, float]) -> Any:
    """The method with a choice."""
    sizes = {"n_epochs": n_epochs, "batch_size": study.adam.batch_size}
    if name == "mc-dropout":
        return MCDropout(**sizes, **choice)
    return SGLD(**sizes, **choice, n_chains=study.n_chains, n_kept=50 * study.n_chains)


def run(study: Study, problem: Problem, arguments: argparse.Namespace) -> dict[str, Any]:
    """Choose, then rounds until the time is over; at least one."""
    method, begun = arguments.method, time.monotonic()
    assert problem.validation is not None
    x, y = problem.validation

    def fitted(choice: Mapping[str, float], n_epochs: int, seed: int) -> ParticlePosterior:
        made = method_of(method, study, n_epochs, choice)
        return made.fit(problem.target, seed=seed, validation=problem.validation).posterior

    def loss(choice: Mapping[str, float]) -> float:
        found = fitted(choice, arguments.tuning_epochs, TUNING_SEED)
        nll = float(-found.log_predictive(x, y).mean())
        seconds = seconds_since(begun, problem.device)
        print(f"{seconds:.0f} s: {method} {choice}, validation NLL {nll:.4f}", flush=True)
        return nll

    search = tune.grid_search(CHOICES[method], loss)
    tuned = seconds_since(begun, problem.device)
    found: dict[str, Any] = {
        "method": method,
        "epochs": arguments.epochs,
        "tuning_seconds": tuned,
        "rounds": [],
    }
    found |= {
        "trials": [[dict(choice), nll] for choice, nll in search.trials],
        "choice": dict(search.best),
    }
    average, seconds = problem.average(), tuned
    while (
        not found["rounds"] or seconds + found["rounds"][-1]["round_seconds"] <= arguments.seconds
    ):
        posterior = fitted(search.best, arguments.epochs, seed=len(found["rounds"]))
        for some in posterior.theta.split(study.n_chains):
            average = problem.added(average, some)
        before, seconds = seconds, seconds_since(begun, problem.device)
        scores = average.scores(problem.label)
        found["rounds"].append(
            {"seconds": seconds, "round_seconds": seconds - before, "scores": scores}
        )
        print(
            f"{seconds:.0f} s: {method}, {scores['n_networks']} networks, {scores_line(scores)}",
            flush=True,
        )
        if arguments.json:
            arguments.json.write_text(json.dumps(found) + "\n")
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", choices=list(CHOICES))
    parser.add_argument("--epochs", type=int, default=60, help="of a round")
    parser.add_argument("--tuning-epochs", type=int, default=40, help="of each choice")
    parser.add_argument("--seconds", type=float, default=1500.0)
    parser.add_argument("--device", type=torch.device, default=torch.device("cuda"))
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try it")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    study = STUDIES["mnist-c"].quick() if arguments.quick else STUDIES["mnist-c"]
    run(study, Problem.of(study, arguments.device), arguments)


if __name__ == "__main__":
    main()

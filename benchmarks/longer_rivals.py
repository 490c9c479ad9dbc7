"""Do SGLD and MC dropout come near to chains of LeNet-5 on MNIST-C when they have as many minutes?

In `pmcnet reproduce mnist-c-posterior` they are one network of 60 epochs each. Here the budget is
spent on rounds: SGLD in as many chains as the experiment has, MC dropout on one network more each
time, and what all rounds predict is averaged. Their setting is chosen on validation images first,
within the budget, among more values than there; the chains' settings were chosen before, outside of
theirs. Prior, label count and images are the experiment's. Prints and writes the test scores of the
average after every round.

    python benchmarks/longer_rivals.py sgld --epochs 400 --seconds 1500 --json sgld.json
    python benchmarks/longer_rivals.py mc-dropout --epochs 60 --seconds 1500 --json mc_dropout.json
"""

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from pmcnet.paper.posterior import made as made_study
from pmcnet.paper.study import Settings, Study, said

from pmcnet import tune
from pmcnet.bnn import ParticlePosterior
from pmcnet.paper import EXPERIMENTS
from pmcnet.paper.baselines import TUNING_SEED, made, posteriors
from pmcnet.paper.paper_scores import since

NAME = "mnist-c-posterior"
# Where each was at an end of the experiment's range, the range goes on; Langevin steps with labels
# counted 10 times.
CHOICES: dict[str, list[dict[str, float]]] = {
    "sgld": [{"learning_rate": rate} for rate in (3e-8, 1e-7, 3e-7, 1e-6)],
    "mc-dropout": [{"rate": rate} for rate in (0.01, 0.02, 0.05, 0.1)],
}


def fitted(
    study: Study, method: str, choice: Mapping[str, float], n_epochs: int, seed: int
) -> ParticlePosterior:
    """What the method gives with a choice."""
    settings, problem = study.settings, study.problem
    own: dict[str, Any] = {"n_epochs": n_epochs, "batch_size": settings.batch_size}
    if method == "sgld":
        own |= {"n_chains": settings.n_chains, "n_kept": 50 * settings.n_chains}
    options, target = made(
        method, problem, {"prior_std": settings.prior_variance**0.5, **choice}, own
    )
    return posteriors(options, target, seed=seed, validation=problem.validation)[0]


def run(study: Study, arguments: argparse.Namespace) -> dict[str, Any]:
    """Choose, then rounds until the time is over; at least one."""
    method, begun = arguments.method, time.monotonic()
    assert study.problem.validation is not None
    x, y = study.problem.validation

    def loss(choice: Mapping[str, float]) -> float:
        found = fitted(study, method, choice, arguments.tuning_epochs, TUNING_SEED)
        nll = float(-found.log_predictive(x, y).mean())
        print(
            f"{since(begun, study.device):.0f} s: {method} {choice}, validation NLL {nll:.4f}",
            flush=True,
        )
        return nll

    search = tune.grid_search(CHOICES[method], loss)
    tuned = since(begun, study.device)
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
    average, seconds = study.nothing(), tuned
    while (
        not found["rounds"] or seconds + found["rounds"][-1]["round_seconds"] <= arguments.seconds
    ):
        posterior = fitted(study, method, search.best, arguments.epochs, seed=len(found["rounds"]))
        for some in posterior.theta.split(study.settings.n_chains):
            average = study.added(average, some)
        before, seconds = seconds, since(begun, study.device)
        scores = study.scores(average)
        found["rounds"].append(
            {"seconds": seconds, "round_seconds": seconds - before, "scores": scores}
        )
        print(
            f"{seconds:.0f} s: {method}, {scores['n_networks']} networks, {said(scores)}",
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
    settings = EXPERIMENTS[NAME].settings
    assert isinstance(settings, Settings)
    settings = settings.quick() if arguments.quick else settings
    if arguments.device.type != "cuda":
        settings = replace(settings, precision="float32", compiled=False)
    run(made_study(NAME, settings=settings, device=arguments.device, say=print), arguments)


if __name__ == "__main__":
    main()

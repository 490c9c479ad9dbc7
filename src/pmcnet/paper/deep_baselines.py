"""The methods that PMCnet-light is compared with on large networks: what they choose among, and their training."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from pmcnet import tune
from pmcnet.bnn import ParticlePosterior
from pmcnet.errors import DivergedError
from pmcnet.paper.baselines import TUNING_SEED, made, posteriors
from pmcnet.paper.deep_settings import Settings
from pmcnet.paper.paper_scores import since
from pmcnet.paper.problem import Problem
from pmcnet.runs.figure_data import Record

# What each method chooses among.
CHOICES: Mapping[str, tuple[Mapping[str, float], ...]] = {
    "adam-map": ({"prior_std": 0.1}, {"prior_std": 0.3}, {"prior_std": 1.0}),
    "bbp": ({"kl_weight": 1.0}, {"kl_weight": 0.1}, {"kl_weight": 0.01}),
    "sgld": ({"learning_rate": 3e-6}, {"learning_rate": 1e-5}, {"learning_rate": 3e-5}),
    "mc-dropout": ({"rate": 0.02}, {"rate": 0.05}, {"rate": 0.2}),
    "sae": ({"prior_std": 0.1}, {"prior_std": 0.3}, {"prior_std": 1.0}),
}


def trained(
    method: str, problem: Problem, settings: Settings, seed: int
) -> tuple[list[ParticlePosterior], Record]:
    """What a method gives after its setting was chosen on validation rows; the choice, and seconds of both.

    Args:
        method: a key of `CHOICES`.
        problem: rows and network.
        settings: the same for all methods.
        seed: of the training that counts.
    """

    def fitted(
        choice: Mapping[str, Any], on: Problem, n_epochs: int, seed: int
    ) -> list[ParticlePosterior]:
        own = _options(method, settings, n_epochs)
        made_method, target = made(method, on, {"prior_std": settings.prior_std, **choice}, own)
        return posteriors(made_method, target, seed=seed, validation=on.validation)

    def loss(choice: Mapping[str, Any]) -> float:
        n_epochs = max(1, round(settings.tuning_share * settings.n_epochs))
        return float(-fitted(choice, tuning, n_epochs, TUNING_SEED)[0].log_predictive(x, y).mean())

    tuning, device = problem.held_out(), problem.test[0].device
    assert tuning.validation is not None
    x, y = tuning.validation
    start = time.monotonic()
    search = tune.grid_search(_choices(method, problem.label_count), loss)
    tuning_seconds, start = since(start, device), time.monotonic()
    final = problem if tuning is problem else problem._replace(validation=None)
    best, found = _first_finite(
        search, lambda choice: fitted(choice, final, settings.n_epochs, seed)
    )
    return found, {
        "seconds": since(start, device),
        "tuning_seconds": tuning_seconds,
        "choice": dict(best),
    }


def _choices(method: str, label_count: float) -> list[Mapping[str, float]]:
    """What a method chooses among; gradients are longer by as much as labels count, so Langevin steps are shorter."""
    units = {"learning_rate": 1 / label_count}
    return [
        {name: value * units.get(name, 1.0) for name, value in choice.items()}
        for choice in CHOICES[method]
    ]


def _first_finite(
    search: tune.GridSearch, fitted: Callable[[Mapping[str, Any]], list[ParticlePosterior]]
) -> tuple[Mapping[str, Any], list[ParticlePosterior]]:
    """The best choice whose whole training does not diverge, and what it trained: tuning was shorter."""
    *better, last = search.ranked
    for choice in better:
        try:
            return choice, fitted(choice)
        except DivergedError:
            continue
    return last, fitted(last)


def _options(method: str, settings: Settings, n_epochs: int) -> dict[str, Any]:
    """What a method does not choose: the same epochs and batches for all, and a cosine schedule where there is one."""
    own: dict[str, Any] = {"n_epochs": n_epochs, "batch_size": settings.batch_size}
    if method == "adam-map":
        own |= {
            "learning_rate": settings.learning_rate,
            "schedule": "cosine",
            "early_stopping": False,
        }
    if method == "sae":
        own |= {"n_chains": settings.n_chains, "n_members": settings.n_members, "n_next_epochs": 2}
        own |= {"learning_rate": settings.learning_rate}
    if method == "bbp":
        own |= {"n_draws": 1, "learning_rate": settings.learning_rate, "schedule": "cosine"}
        own |= {"start": None, "deviation": 0.01}
    if method in ("bbp", "sgld"):
        own |= {"n_kept": settings.n_kept}
    if method == "mc-dropout":
        own |= {"n_passes": settings.n_kept}
    return own

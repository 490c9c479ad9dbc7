"""The methods that PMCnet-light is compared with on large networks: their choices and training."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from pmcnet import tune
from pmcnet.bnn import ParticlePosterior
from pmcnet.errors import DivergedError
from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.paper.baselines import TUNING_SEED, made, posteriors
from pmcnet.paper.deep_settings import PRIOR_STD, TUNING_SHARE, DeepSettings
from pmcnet.paper.paper_scores import since
from pmcnet.paper.problem import Problem

CHOICES: Mapping[str, tuple[Mapping[str, float], ...]] = {
    "adam-map": ({"prior_std": 0.1}, {"prior_std": 0.3}, {"prior_std": 1.0}),
    "bbp": ({"kl_weight": 1.0}, {"kl_weight": 0.1}, {"kl_weight": 0.01}),
    "sgld": ({"learning_rate": 3e-6}, {"learning_rate": 1e-5}, {"learning_rate": 3e-5}),
    "mc-dropout": ({"rate": 0.02}, {"rate": 0.05}, {"rate": 0.2}),
    "sae": ({"prior_std": 0.1}, {"prior_std": 0.3}, {"prior_std": 1.0}),
}
"""What each method chooses among."""


def trained(
    method: str, problem: Problem, settings: DeepSettings, seed: int
) -> tuple[list[ParticlePosterior], Record]:
    """What a method gives with the setting that validation rows choose; the choice, and seconds.

    Args:
        method: a key of `CHOICES`.
        problem: rows and network.
        settings: the same for all methods.
        seed: of the training that is scored.
    """
    assert problem.validation is not None
    (x, y), device = problem.validation, problem.test[0].device

    def fitted(choice: Mapping[str, Any], n_epochs: int, seed: int) -> list[ParticlePosterior]:
        own = _options(method, settings, n_epochs)
        made_method, target = made(method, problem, {"prior_std": PRIOR_STD, **choice}, own)
        return posteriors(made_method, target, seed=seed, validation=problem.validation)

    def loss(choice: Mapping[str, Any]) -> float:
        n_epochs = max(1, round(TUNING_SHARE * settings.n_epochs))
        return float(-fitted(choice, n_epochs, TUNING_SEED)[0].log_predictive(x, y).mean())

    start = time.monotonic()
    search = tune.grid_search(CHOICES[method], loss)
    tuning_seconds, start = since(start, device), time.monotonic()
    best, found = _first_finite(search, lambda choice: fitted(choice, settings.n_epochs, seed))
    return found, {
        "seconds": since(start, device),
        "tuning_seconds": tuning_seconds,
        "choice": dict(best),
    }


def _first_finite(
    search: tune.GridSearch, fitted: Callable[[Mapping[str, Any]], list[ParticlePosterior]]
) -> tuple[Mapping[str, Any], list[ParticlePosterior]]:
    """The best choice whose whole training, longer than the tuning, does not diverge."""
    *better, last = search.ranked
    for choice in better:
        try:
            return choice, fitted(choice)
        except DivergedError:
            continue
    return last, fitted(last)


def _options(method: str, settings: DeepSettings, n_epochs: int) -> dict[str, Any]:
    """What a method does not choose; epochs and batches are the same for all."""
    rate = {"learning_rate": settings.learning_rate}
    cosine = rate | {"schedule": "cosine"}
    own: dict[str, dict[str, Any]] = {
        "adam-map": cosine | {"early_stopping": False},
        "bbp": cosine
        | {"n_draws": 1, "start": None, "deviation": 0.01, "n_kept": settings.n_passes},
        "sgld": {"n_kept": settings.n_passes},
        "mc-dropout": {"n_passes": settings.n_passes},
        "sae": rate
        | {"n_chains": settings.n_chains, "n_members": settings.n_members, "n_next_epochs": 2},
    }
    return {"n_epochs": n_epochs, "batch_size": settings.batch_size} | own[method]

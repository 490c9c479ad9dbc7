"""What a fit assumes beside the network: how y is distributed, and the prior's scales."""

import math
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from pmcnet.bnn.likelihoods.base import Task
from pmcnet.bnn.likelihoods.exposed_counts import COUNT_FAMILIES
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.bnn.likelihoods.response import Array, Noise
from pmcnet.errors import InputError

Scales = Literal["layer", "ard"]
"""Scales that are sampled with the weights: of each layer, or of each layer and each input."""
FoundPrior = float | Scales
"""What a fit ends up with: a standard deviation, or which scales are sampled."""
PriorSearch = Literal["auto", "hierarchical", "evidence", "validation"]
PriorStd = FoundPrior | PriorSearch
AskedNoise = Noise | Literal["auto"]

COUNTS = "counts"
"""In the place of a likelihood: the families of counts, of which the evidence takes one."""
NOISES = ("auto", "learn", "by-row")
SEARCHES: tuple[str, ...] = get_args(PriorSearch)
SCALES: tuple[str, ...] = get_args(Scales)
_WIDEST = 1e8  # prior, and its inverse the narrowest: squared gradients stay in single precision
_SKEWED = 1.0  # skewness from which a positive response may be lognormal
_WIDE = 3.0  # standard deviation of counts from which a density stands for their probabilities


class Formulation(NamedTuple):
    """Choices that are settled, as an estimator's settings name them."""

    likelihood: str
    noise: Noise
    prior_std: FoundPrior

    @property
    def described(self) -> str:
        """In words."""
        words = {"by-row": "noise by row", "layer": "scales by layer", "ard": "scales by input"}
        noise = words.get(self.noise, "") if isinstance(self.noise, str) else ""
        scale = self.prior_std
        prior = words[scale] if isinstance(scale, str) else f"prior N(0, {float(scale):g}^2)"
        return ", ".join(part for part in (self.likelihood, noise, prior) if part)


def check_prior_std(prior_std: Any) -> None:
    """Raise where the prior's scale is neither a way to find it nor a sensible number."""
    if isinstance(prior_std, str):
        if prior_std not in SEARCHES + SCALES:
            raise InputError(
                f"prior_std must be {', '.join(SEARCHES + SCALES)} or a number; got {prior_std!r}."
            )
    elif not (isinstance(prior_std, Real) and 1 / _WIDEST <= float(prior_std) <= _WIDEST):
        raise InputError(
            f"prior_std must be a positive number, a standard deviation from {1 / _WIDEST:g} to "
            f"{_WIDEST:g}; got {prior_std}. The network sees scaled data: begin with 1."
        )


def candidates(likelihood: str, noise: AskedNoise, task: Task, y: Array) -> list[tuple[str, Noise]]:
    """Likelihoods and noises to choose from, the simplest first, by what kind of number y is.

    Args:
        likelihood: a name, "auto" or `COUNTS`.
        noise: as asked for.
        task: what is predicted.
        y: the response (N,), (N, 2) where more is known of each row, or several targets (N, T).
    """
    if task == "classification":
        return [("categorical" if likelihood == "auto" else likelihood, "learn")]
    if likelihood == COUNTS:
        return [(each, "learn" if noise == "auto" else noise) for each in COUNT_FAMILIES]
    name = "gaussian" if likelihood == "auto" else likelihood
    by_row: tuple[Noise, ...] = ("by-row",) if family(name, task).by_row else ()
    noises: tuple[Noise, ...] = ("learn", *by_row) if noise == "auto" else (noise,)
    if likelihood != "auto" or y.ndim > 1:
        return [(name, each) for each in noises]
    found: list[tuple[str, Noise]] = []
    if noise == "auto" and _are_counts(y):
        found += [(each, "learn") for each in COUNT_FAMILIES]
        if y.std() < _WIDE:
            return found
    found += [("gaussian", each) for each in noises]
    if noise == "auto" and y.min() > 0 and _skewness(y) > _SKEWED:
        found.append(("lognormal", "learn"))
    return found


def _are_counts(y: Array) -> bool:
    """Whole numbers from 0, with a 0 among them, of at least three kinds."""
    return bool(y.min() == 0 and (y == np.round(y)).all() and len(np.unique(y)) > 2)


def _skewness(y: Array) -> float:
    z = y - y.mean()
    variance = float(np.square(z).mean())
    return float((z**3).mean() / math.pow(variance, 1.5)) if variance > 0 else 0.0

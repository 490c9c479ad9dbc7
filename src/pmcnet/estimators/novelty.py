"""How unlike the training rows a row is: by its distance, and by how networks disagree on it.

The distance d of a row is that to its fifth nearest reference row, in the network's inputs, which
are standardised. Its epistemic share e is the part of its uncertainty that is disagreement between
networks. Training rows tell how rare such values are, and how rare both together:

    score = -log P(D >= d) - log P(E >= e)

Each training row is taken as if the model had not seen it. Its distance is to other rows, its
epistemic share that of the posterior without it, and both are compared with those of other rows.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.bnn import ParticlePosterior
from pmcnet.bnn.likelihoods.response import Units
from pmcnet.errors import InputError
from pmcnet.estimators.encoding import Encoder, TableEncoder
from pmcnet.estimators.exposure import predicting
from pmcnet.estimators.predictions import Array, AveragedPrediction, EncodedRows
from pmcnet.estimators.reference_rows import ReferenceRows, drawn

NOVEL = 0.99
"""A row is novel if it is more unlike the training rows than this share of them."""
MOST = 1000
"""Training rows by which novelty is calibrated."""
SCORES_NAME = "reference.scores"
"""Of a tensor in a model file."""

_NEIGHBOUR = 5
_TAIL = 20  # largest values at least that the tail is fitted to, if there are so many
_LEAST_SCALE = 0.02  # of the tail, in units of where it begins
_NUMBERS = 1 << 18  # distances at a time: they stay in the cache
_ROUNDING = 1e-13  # of squared lengths: inputs have seven digits


class Novelty(NamedTuple):
    """How unlike the training rows each row is (N,).

    `percentile` is the share of the training rows that are less unlike the others, and `is_novel`
    whether it is beyond 99 %. `distance` is that to the fifth nearest reference row in standardised
    inputs, `epistemic_share` the part of the row's uncertainty that is disagreement of networks;
    `farther_than` and `less_known_than` are the shares of training rows that have less of either.
    """

    percentile: Array
    is_novel: NDArray[np.bool_]
    distance: Array
    farther_than: Array
    epistemic_share: Array
    less_known_than: Array


class NoveltyScale(NamedTuple):
    """Distances, epistemic shares and scores of training rows, each in increasing order (3, M)."""

    sorted: Tensor

    @classmethod
    def of(cls, distance: Array, share: Array) -> Self:
        """Learn from training rows, each seen as if the model had not.

        Args:
            distance: to the others (M,).
            share: that is epistemic (M,).
        """
        first = np.sort([distance, share])
        pairs = zip(first, (distance, share), strict=True)
        score = _score(*(log_survival(*pair, own=True) for pair in pairs))
        return cls(torch.as_tensor(np.vstack([first, np.sort(score)])))

    def novelty(self, distance: Array, share: Array) -> Novelty:
        """Of any rows, by the same two numbers of each (N,)."""
        distances, shares, scores = self.sorted.numpy()
        log_far, log_unknown = log_survival(distances, distance), log_survival(shares, share)
        log_tail = log_survival(scores, _score(log_far, log_unknown))
        return Novelty(
            _percentile(log_tail),
            log_tail < math.log1p(-NOVEL),
            distance,
            _percentile(log_far),
            share,
            _percentile(log_unknown),
        )

    def tensors(self) -> dict[str, Tensor]:
        """As a model file holds it."""
        return {SCORES_NAME: self.sorted.contiguous()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Self | None:
        """That of a model file, if it holds one."""
        found = tensors.get(SCORES_NAME)
        if found is None:
            return None
        fine = (
            found.dtype == torch.float64
            and found.ndim == 2
            and len(found) == 3
            and 2 <= found.shape[1] <= MOST
            and bool((found.isfinite() & (found >= 0)).all())
            and bool((found.diff() >= 0).all())
        )
        if not fine:
            raise ValueError("the scores of its training rows are none")
        return cls(found)


def _score(log_far: Array, log_unknown: Array) -> Array:
    return np.asarray(-log_far - log_unknown)


def _percentile(log_tail: Array) -> Array:
    return np.asarray(0.0 - np.expm1(log_tail))  # and not -0


def log_survival(sorted_values: Array, values: Array, *, own: bool = False) -> Array:
    """Log of the probability that a row like those of training has at least such a value (N,).

    Of n values the share (1 + how many are at least as large) / (n + 1), which is right whatever
    their distribution. Beyond the largest ones the predictive distribution of an exponential tail
    whose scale k values tell: (1 + z / k)^-k, with z in units of their mean excess.

    Args:
        sorted_values: of the training rows, increasing (M,).
        values: of the rows in question (N,).
        own: whether these rows are among those of training; each is then compared with the others.
    """
    n, out = len(sorted_values), int(own)
    n_tail = min(max(n // 50, min(_TAIL, n // 4), 1), n - 1)
    start = sorted_values[n - 1 - n_tail]
    excess = np.maximum(values - start, 0.0)
    others = max(n_tail - out, 1)
    total = (sorted_values[n - n_tail :] - start).sum()
    mean = (total - out * np.minimum(excess, total)) / others
    scale = np.maximum(mean, max(_LEAST_SCALE * start, math.ulp(1.0)))
    tail = -others * np.log1p(excess / (others * scale)) + math.log((others + 1) / (n - out + 1))
    at_least = n - out - np.searchsorted(sorted_values, values)
    inside = np.log((np.maximum(at_least, 0) + 1) / (n - out + 1))
    return np.where(values > start, tail, inside)


def epistemic_share(found: AveragedPrediction) -> Array:
    """The part of each row's uncertainty that is disagreement of networks (N,)."""
    total = found.epistemic + found.aleatoric
    return np.divide(found.epistemic, total, out=np.zeros_like(total), where=total > 0)


def learned_scale(
    posterior: ParticlePosterior,
    units: Units,
    reference: ReferenceRows,
    known: EncodedRows,
    targets: Tensor,
    weight: Array,
    seed: int,
) -> NoveltyScale | None:
    """Learn from training rows; None where networks overflow on some of them.

    Args:
        posterior: of the model.
        units: of y.
        reference: some of the training rows.
        known: all different training rows (N, n_inputs).
        targets: their data, in the network's units (N,) or (N, 2).
        weight: how often each counts (N,).
        seed: of the choice of rows.
    """
    chosen = drawn(weight, MOST, seed)
    inputs = known.inputs[chosen].to(posterior.samples.theta)
    exposure = None if known.log_exposure is None else known.log_exposure[chosen].to(inputs.device)
    rows = EncodedRows(inputs, exposure)
    own = np.full(len(weight), -1)
    own[reference.places] = np.arange(len(reference.places))
    own[weight >= 2] = -1  # another copy remains
    y = targets[chosen].to(inputs.device)
    y = y if exposure is None else y[:, 0]  # whose exposure is among the inputs
    predictor, x = predicting(posterior, rows)
    try:
        found = AveragedPrediction.of(predictor.predict_unseen(x, y), units)
    except InputError:
        return None
    distance = distances(rows.inputs, reference.inputs, torch.as_tensor(own[chosen]))
    return NoveltyScale.of(distance, epistemic_share(found))


def why_unknown(encoder: Encoder) -> str:
    """Why a model with this encoder has no novelty."""
    if not isinstance(encoder, TableEncoder):
        return (
            f"novelty is for tables; this model was fitted to images {encoder.input_shape}, "
            "between which it knows no distance. Use uncertainty(X)."
        )
    return (
        "novelty needs training rows to compare with, and this model has none: it was saved "
        "without reference rows, or by an older pmcnet, or its networks overflow on the training "
        "rows. Fit again, and save with reference_rows=True."
    )


def distances(inputs: Tensor, reference: Tensor, own: Tensor | None = None) -> Array:
    """Of each row to the fifth nearest reference row (N,).

    Args:
        inputs: of the rows (N, n_inputs).
        reference: inputs of the reference rows (n, n_inputs).
        own: (N,) which reference row is the row itself, and does not count; -1 if none is.
    """
    reference = reference.to(inputs.device, torch.float64)
    length = reference.square().sum(1)  # (n,)
    size = max(1, _NUMBERS // len(reference))
    kth = min(_NEIGHBOUR, max(1, len(reference) - 1)) - 1
    parts = []
    for start in range(0, len(inputs), size):
        rows = inputs[start : start + size].double()
        own_length = rows.square().sum(1)  # (b,)
        each = torch.addmm(length, rows, reference.mT, alpha=-2)  # squared, less own_length (b, n)
        if own is not None:
            row = torch.arange(len(each), device=each.device)
            place = own[start : start + size].to(each.device)
            each[row[place >= 0], place[place >= 0]] = torch.inf
        found = np.partition(each.cpu().numpy(), kth, axis=1)[:, kth] + own_length.cpu().numpy()
        noise = _ROUNDING * (own_length + length.amax()).cpu().numpy()
        parts.append(np.sqrt(np.where(found > noise, found, 0.0)))
    # equal distances stay equal, whatever the order of their sums
    return np.concatenate(parts).astype(np.float32).astype(np.float64)

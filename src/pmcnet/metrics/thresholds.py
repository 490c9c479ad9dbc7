"""What a threshold on the probability of a class finds: precision and recall, net benefit.

As in `ranking`, every function takes `probability` (..., N, C), C >= 2, and `label` (N,) int64; a
row is called positive where its column `positive` reaches the threshold, s >= t.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.metrics.ranking import ROUNDING, sorted_scores


class Corners(NamedTuple):
    """The rates at every threshold that changes them, from none called positive to all."""

    false_positive: Tensor  # (K,), from 0 to 1
    true_positive: Tensor  # (K,), likewise


def roc_corners(probability: Tensor, label: Tensor, *, positive: int = 0) -> Corners:
    """The corners of the ROC curve; straight lines between them have the area `auc`.

    Args:
        probability: (N, C).
        label: (N,).
        positive: the class whose column is the score.
    """
    positives, negatives = sorted_scores(probability, label, positive)  # (P,), (Q,) ascending
    thresholds = torch.unique(torch.cat([positives, negatives])).flip(0)  # (K - 1,) descending
    found = [_reaching(scores, thresholds).double() for scores in (negatives, positives)]
    return Corners(*(torch.cat([each.new_zeros(1), each / each[-1]]) for each in found))


def precision_recall(
    probability: Tensor, label: Tensor, grid: Tensor, *, positive: int = 0
) -> Tensor:
    """Precision at the highest threshold whose recall is at least each of `grid`; (..., G).

    A step function of the recall, continuous from the left; the area below it is
    `average_precision`. Recall 0 stands for the first row that is found.

    Args:
        probability: (..., N, C).
        label: (N,).
        grid: (G,) in [0, 1].
        positive: the class whose column is the score.
    """
    if grid.ndim != 1 or not bool(((grid >= 0) & (grid <= 1)).all()):
        raise InputError(
            f"grid must be (G,) recalls from 0 to 1; got shape {tuple(grid.shape)}. Use "
            "torch.linspace(0, 1, 101)."
        )
    positives, negatives = sorted_scores(probability, label, positive)  # (..., P), (..., Q)
    n = positives.shape[-1]
    wanted = ((grid.double() - ROUNDING) * n).ceil().long().clamp(1, n)  # (G,) rows to find
    return _precision(positives, negatives, positives[..., n - wanted].contiguous())


def average_precision(probability: Tensor, label: Tensor, *, positive: int = 0) -> Tensor:
    """Mean, over the positive rows, of the precision at the threshold that just finds each; (...).

    That is sum_k (R_k - R_{k-1}) P_k over thresholds, without interpolation.
    """
    positives, negatives = sorted_scores(probability, label, positive)  # (..., P), (..., Q)
    return _precision(positives, negatives, positives).mean(-1)


def net_benefit(
    probability: Tensor, label: Tensor, thresholds: Tensor, *, positive: int = 0
) -> Tensor:
    """TP / N - FP / N t / (1 - t) at thresholds t (Vickers and Elkin, 2006); (..., T).

    Args:
        probability: (..., N, C).
        label: (N,).
        thresholds: (T,) between 0 and 1, both excluded.
        positive: the class whose column is the score.
    """
    true_positive, false_positive = positives_at(probability, label, thresholds, positive=positive)
    odds = (thresholds / (1 - thresholds)).to(probability)  # (T,)
    return (true_positive - false_positive * odds) / len(label)


def positives_at(
    probability: Tensor, label: Tensor, thresholds: Tensor, *, positive: int = 0
) -> tuple[Tensor, Tensor]:
    """Rows of the class, and of others, that reach each threshold; both (..., T) int64.

    Args:
        probability: (..., N, C).
        label: (N,).
        thresholds: (T,) between 0 and 1, both excluded.
        positive: the class whose column is the score.
    """
    if thresholds.ndim != 1 or not bool(((thresholds > 0) & (thresholds < 1)).all()):
        raise InputError(
            "thresholds must be (T,) probabilities between 0 and 1, both excluded; got shape "
            f"{tuple(thresholds.shape)}. Use torch.arange(1, 100) / 100."
        )
    scores = sorted_scores(probability, label, positive)  # (..., P), (..., Q)
    lead = probability.shape[:-2]
    each = thresholds.to(probability).expand(*lead, -1).contiguous()  # (..., T)
    return _reaching(scores[0], each), _reaching(scores[1], each)


def _reaching(scores: Tensor, thresholds: Tensor) -> Tensor:
    """How many of ascending scores (..., S) are at least each threshold (..., T)."""
    return scores.shape[-1] - torch.searchsorted(scores, thresholds)


def _precision(positives: Tensor, negatives: Tensor, thresholds: Tensor) -> Tensor:
    """The share of positive rows among those that reach thresholds that some of them reach."""
    found = _reaching(positives, thresholds)
    return found.to(positives.dtype) / (found + _reaching(negatives, thresholds))

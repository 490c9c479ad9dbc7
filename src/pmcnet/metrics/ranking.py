"""How well class probabilities order the rows: area under the ROC curve, and the curve.

Every function takes `probability` (..., N, C), C >= 2, and `label` (N,) int64; the score of a row
is its column `positive`, and the other classes together are the negative ones.
"""

import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.metrics.checks import check_classes, check_positive

ROUNDING = 1e-6
"""By how much a float32 rate may fall short of k / Q and still allow k false positives."""


def auc(probability: Tensor, label: Tensor, *, positive: int = 0) -> Tensor:
    """P(s+ > s-) + P(s+ = s-) / 2 for a positive and a negative row drawn at random; (...).

    Counted exactly from ranks in O(N log N): for each positive score the negatives below it and
    those not above it.
    """
    positives, negatives = sorted_scores(probability, label, positive)  # (..., P), (..., Q)
    below = torch.searchsorted(negatives, positives)
    not_above = torch.searchsorted(negatives, positives, right=True)
    n_pairs = positives.shape[-1] * negatives.shape[-1]
    return (below + not_above).sum(-1).to(probability.dtype) / (2 * n_pairs)


def auc_weighted(probability: Tensor, label: Tensor) -> Tensor:
    """One-versus-rest areas averaged with the class frequencies, sum_c n_c / N auc_c; (...).

    A class absent from the labels has frequency 0 and is skipped.
    """
    check_classes(probability, label)
    # (C,) or fewer, up to the last class present
    share = label.bincount().to(probability.dtype) / label.numel()
    present = share.nonzero()[:, 0].tolist()
    areas = [auc(probability, label, positive=c) for c in present]  # (...) each
    return (torch.stack(areas, -1) * share[present]).sum(-1)


def roc(probability: Tensor, label: Tensor, grid: Tensor, *, positive: int = 0) -> Tensor:
    """True-positive rate at the false-positive rates `grid`.

    The curve is the step function TPR(f) = max {TPR(t) : FPR(t) <= f} over thresholds t, "positive
    where s > t": what can be had without exceeding f, continuous from the right, TPR(1) = 1. Scores
    tied across the classes are not split, so under such ties the area below the steps is less than
    `auc`.

    Args:
        probability: (..., N, C).
        label: (N,).
        grid: (G,) in [0, 1].
        positive: the class whose column is the score.

    Returns:
        (..., G).
    """
    if grid.ndim != 1 or not bool(((grid >= 0) & (grid <= 1)).all()):
        raise InputError(
            f"grid must be (G,) rates from 0 to 1; got shape {tuple(grid.shape)}. Use "
            "torch.linspace(0, 1, 101)."
        )
    positives, negatives = sorted_scores(probability, label, positive)  # (..., P), (..., Q)
    n_positive, n_negative = positives.shape[-1], negatives.shape[-1]
    # (G,) false positives
    allowed = ((grid.double() + ROUNDING) * n_negative).long().clamp(max=n_negative)
    floor = torch.full_like(negatives[..., :1], -torch.inf)
    thresholds = torch.cat([negatives.flip(-1), floor], -1)[..., allowed].contiguous()  # (..., G)
    missed = torch.searchsorted(positives, thresholds, right=True)  # (..., G)
    return (n_positive - missed).to(probability.dtype) / n_positive


def sorted_scores(probability: Tensor, label: Tensor, positive: int) -> tuple[Tensor, Tensor]:
    """The column `positive`, ascending: of the positive rows (..., P), of the others (..., Q)."""
    check_classes(probability, label)
    check_positive(probability, positive)
    truth = label == positive  # (N,)
    n_positive = int(truth.sum())
    if n_positive in (0, label.numel()):
        raise InputError(
            f"ranking needs rows of class {positive} and rows of another class; got {n_positive} "
            f"of class {positive} among {label.numel()}. Use a larger or stratified split."
        )
    score = probability[..., positive]  # (..., N)
    positives, negatives = score[..., truth].sort(-1).values, score[..., ~truth].sort(-1).values
    return positives.contiguous(), negatives.contiguous()

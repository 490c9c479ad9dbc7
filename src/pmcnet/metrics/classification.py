"""How good class probabilities are, by counting and by proper scores.

Every function takes `probability` (..., N, C), C >= 2, and `label` (N,) int64, and returns one
value for each of the leading dimensions (draws). The predicted class is the argmax, ties to the
lowest index. With two classes that is a threshold at one half; with more, `positive` is meant one
versus the rest. A ratio over no rows is 0, as with scikit-learn's zero_division=0.
"""

import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.metrics.checks import check_classes, check_positive


def accuracy(probability: Tensor, label: Tensor) -> Tensor:
    """Share of rows whose predicted class is the true one.

    Args:
        probability: (..., N, C).
        label: (N,).

    Returns:
        (...) in the dtype of `probability`.
    """
    check_classes(probability, label)
    return (probability.argmax(-1) == label).to(probability.dtype).mean(-1)


def confusion_matrix(probability: Tensor, label: Tensor) -> Tensor:
    """Counts (..., C, C) int64: row the true class, column the predicted one."""
    check_classes(probability, label)
    n_classes = probability.shape[-1]
    cell = label * n_classes + probability.argmax(-1)  # (..., N)
    counts = cell.new_zeros(*cell.shape[:-1], n_classes**2)
    counts.scatter_add_(-1, cell, torch.ones_like(cell))
    return counts.reshape(*cell.shape[:-1], n_classes, n_classes)


def precision(probability: Tensor, label: Tensor, *, positive: int = 0) -> Tensor:
    """TP / (TP + FP): of the rows predicted positive, the share that is; (...)."""
    true_positive, false_positive, _, _ = _outcomes(probability, label, positive)
    return _ratio(true_positive, true_positive + false_positive, probability.dtype)


def recall(probability: Tensor, label: Tensor, *, positive: int = 0) -> Tensor:
    """TP / (TP + FN): of the positive rows, the share that is found; (...)."""
    true_positive, _, false_negative, _ = _outcomes(probability, label, positive)
    return _ratio(true_positive, true_positive + false_negative, probability.dtype)


def specificity(probability: Tensor, label: Tensor, *, positive: int = 0) -> Tensor:
    """TN / (TN + FP): of the rows that are not positive, the share predicted so; (...)."""
    _, false_positive, _, true_negative = _outcomes(probability, label, positive)
    return _ratio(true_negative, true_negative + false_positive, probability.dtype)


def f1(probability: Tensor, label: Tensor, *, positive: int = 0) -> Tensor:
    """2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall; (...)."""
    true_positive, false_positive, false_negative, _ = _outcomes(probability, label, positive)
    return _ratio(
        2 * true_positive, 2 * true_positive + false_positive + false_negative, probability.dtype
    )


def macro_f1(probability: Tensor, label: Tensor) -> Tensor:
    """F1 averaged over the classes that occur in the labels or the draw's predictions; (...)."""
    counts = confusion_matrix(probability, label)  # (..., C, C)
    hits = counts.diagonal(dim1=-2, dim2=-1)  # (..., C)
    # 2 TP + FP + FN, zero where the class does not occur
    size = counts.sum(-1) + counts.sum(-2)  # (..., C)
    return _ratio(2 * hits, size, probability.dtype).sum(-1) / (size > 0).sum(-1)


def nll(probability: Tensor, label: Tensor) -> Tensor:
    """Mean of -log p(true class); (...).

    The log is of the probability as given: an exact 0 for the true class of one row gives +inf,
    which is what certainty about something false costs. Nothing is clipped.
    """
    check_classes(probability, label)
    index = label[:, None].expand(*probability.shape[:-1], 1)
    return -probability.gather(-1, index)[..., 0].log().mean(-1)


def brier(probability: Tensor, label: Tensor) -> Tensor:
    """Mean over rows of sum_c (p_c - 1[y = c])^2, from 0 to 2; (...).

    With two classes this is twice the score of the positive column alone.
    """
    check_classes(probability, label)
    one_hot = torch.eye(probability.shape[-1], dtype=probability.dtype, device=probability.device)
    truth = one_hot[label]  # (N, C)
    return (probability - truth).square().sum(-1).mean(-1)


def ece(probability: Tensor, label: Tensor, *, n_bins: int = 15) -> Tensor:
    """Expected calibration error of the predicted class; (...).

    sum_b |B_b| / N |accuracy(B_b) - confidence(B_b)|. The confidence is the largest probability;
    the bins are ((b - 1) / n_bins, b / n_bins], closed above so that certainty falls in the last
    one (Guo et al., ICML 2017).
    """
    check_classes(probability, label)
    if n_bins < 1:
        raise InputError(f"n_bins must be at least 1; got {n_bins}.")
    predicted = probability.argmax(-1)  # (..., N)
    confidence = probability.amax(-1)  # (..., N)
    edges = torch.linspace(0, 1, n_bins + 1, dtype=probability.dtype, device=probability.device)
    index = torch.bucketize(confidence, edges[1:-1])  # (..., N)
    excess = confidence - (predicted == label).to(probability.dtype)  # (..., N)
    gap = excess.new_zeros(*excess.shape[:-1], n_bins).scatter_add_(-1, index, excess)  # (..., B)
    return gap.abs().sum(-1) / label.numel()


def _outcomes(
    probability: Tensor, label: Tensor, positive: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Counts TP, FP, FN, TN, each (...) int64."""
    check_classes(probability, label)
    check_positive(probability, positive)
    called = probability.argmax(-1) == positive  # (..., N)
    truth = label == positive  # (N,)
    return (
        (called & truth).sum(-1),
        (called & ~truth).sum(-1),
        (~called & truth).sum(-1),
        (~called & ~truth).sum(-1),
    )


def _ratio(part: Tensor, whole: Tensor, dtype: torch.dtype) -> Tensor:
    """Counts part / whole as `dtype`; 0 where the whole, and with it the part, is 0."""
    return part.to(dtype) / whole.clamp(min=1).to(dtype)

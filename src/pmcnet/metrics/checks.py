"""What the metrics of a classifier accept; each check raises an `InputError` with a remedy."""

import torch
from torch import Tensor

from pmcnet.errors import InputError


def check_classes(probability: Tensor, label: Tensor) -> None:
    """Raise unless probability >= 0 is (..., N, C), C >= 2, and label is (N,) int64 in [0, C).

    Not-a-number is refused too: argmax and sorting would silently take it for the largest value.
    """
    if probability.ndim < 2 or probability.shape[-1] < 2 or probability.shape[-2] < 1:
        raise InputError(
            "probability must be (..., N, C) with N >= 1 rows and C >= 2 classes; got "
            f"{tuple(probability.shape)}. For a binary p use torch.stack([p, 1 - p], -1)."
        )
    n_rows, n_classes = probability.shape[-2:]
    if label.shape != (n_rows,) or label.dtype != torch.int64:
        raise InputError(
            f"label must be ({n_rows},) int64, one per row of probability; got "
            f"{tuple(label.shape)} {label.dtype}. Use class indices: label.long().flatten()."
        )
    low, high = int(label.min()), int(label.max())
    if low < 0 or high >= n_classes:
        raise InputError(
            f"label must lie in 0 to {n_classes - 1}; got {low} to {high}. Number the classes from "
            "0."
        )
    if not bool((probability >= 0).all()):
        raise InputError(
            "probability has negative or not-a-number entries. Use softmax(-1) on logits; leave "
            "out diverged draws."
        )


def check_positive(probability: Tensor, positive: int) -> None:
    """Raise unless `positive` is the index of a class."""
    n_classes = probability.shape[-1]
    if not 0 <= positive < n_classes:
        raise InputError(f"positive must be a class from 0 to {n_classes - 1}; got {positive}.")

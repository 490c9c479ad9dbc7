"""Which rows are held out: a share of them, in proportion to classes or events."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]  # positions


def split(
    y: NDArray[Any], groups: NDArray[Any] | None, share: float, seed: int
) -> tuple[Rows, Rows]:
    """Positions of the rows to keep and of a share to hold out, in proportion to the groups."""
    from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]

    rows = np.arange(len(y))
    n_test = round(share * len(y))
    if n_test == 0:
        return rows, rows[:0]
    stratify = None
    if groups is not None:
        counts = np.unique(groups, return_counts=True)[1]
        stratify = (
            groups
            if counts.min() >= 2 and n_test >= len(counts) and len(y) - n_test >= len(counts)
            else None
        )
    train, test = train_test_split(rows, test_size=n_test, random_state=seed, stratify=stratify)
    return np.sort(train), np.sort(test)


def with_all_classes(train: Rows, test: Rows, y: NDArray[Any]) -> tuple[Rows, Rows, str]:
    """The same rows, but test rows of a class without training rows go to training.

    A model cannot predict a class it never saw, so such rows could not be tested on.
    """
    strange = ~np.isin(y[test], y[train])
    if not strange.any():
        return train, test, ""
    n = int(strange.sum())
    remark = f"{n} row{'s'[: n != 1]} whose class no other row has went to training."
    return np.sort(np.concatenate([train, test[strange]])), test[~strange], remark

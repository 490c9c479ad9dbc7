"""What a dataset is: `Table`, all its rows, and `Split`, the same rows in three parts."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Task = Literal["classification", "regression"]

Features = NDArray[np.float64]  # (N, d)
Labels = NDArray[np.int64] | NDArray[np.float64]  # (N,): class index from 0, or a real response


class Table(NamedTuple):
    """A named dataset, raw: nothing scaled, nothing left out, rows in the order of its source."""

    name: str
    x: Features  # (N, d)
    y: Labels  # (N,)
    task: Task
    classes: tuple[str, ...]  # name of each class index; empty for regression
    features: tuple[str, ...]  # name of each column of x
    source: str  # who made it and under which licence


class Split(NamedTuple):
    """Training, validation and test rows."""

    x_train: Features  # (n_train, d)
    y_train: Labels  # (n_train,)
    x_val: Features  # (n_val, d)
    y_val: Labels  # (n_val,)
    x_test: Features  # (n_test, d)
    y_test: Labels  # (n_test,)

"""Columns that repeat an earlier one: equal cells, or numbers that are nearly the same line.

Numbers are compared in units of their spread, extremes drawn in: one row far off makes any two
columns correlated. Most pairs are distinguished by projections on a few random directions.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pmcnet.estimators.columns.base import Column, Matrix
from pmcnet.estimators.columns.inference import FEW_ROWS
from pmcnet.estimators.columns.number import NumberColumn

NEARLY = 0.9999
"""The correlation, of either sign, from which two columns say the same."""
_CANDIDATE = 0.99
_N_DIRECTIONS = 16


def repeated(columns: Sequence[Column], numbers: Sequence[Matrix]) -> list[str | None]:
    """For each column the earlier one that it repeats, if any."""
    if not numbers or len(numbers[0]) < FEW_ROWS:  # a few rows are alike by chance
        return [None] * len(columns)
    names = [column.name for column in columns]
    of_numbers = [type(column) is NumberColumn for column in columns]
    first: dict[bytes, str] = {}
    found: list[str | None] = []
    for column, values, is_line in zip(columns, numbers, of_numbers, strict=True):
        cells = column.kind.encode() + values.tobytes()
        other = column.name if is_line else first.setdefault(cells, column.name)
        found.append(None if other == column.name else other)
    lines = [i for i, is_line in enumerate(of_numbers) if is_line]
    for i, near in zip(lines, _nearly_equal([numbers[i][:, 0] for i in lines]), strict=True):
        found[i] = None if near is None else names[lines[near]]
    return found


def _nearly_equal(columns: Sequence[NDArray[np.float64]]) -> list[int | None]:
    """For each column the position of the first that it is nearly a line of, if any."""
    if not columns:
        return []
    random = np.random.default_rng(0).normal(size=(len(columns[0]), _N_DIRECTIONS))
    sketch = np.array([_shape(column) @ random for column in columns])  # (d, n_directions)
    sketch /= np.linalg.norm(sketch, axis=1, keepdims=True).clip(1e-300)
    found: list[int | None] = []
    for i, column in enumerate(columns):
        alike = np.flatnonzero(np.abs(sketch[:i] @ sketch[i]) > _CANDIDATE).tolist()
        same = (j for j in alike if found[j] is None and _says_the_same(column, columns[j]))
        found.append(next(same, None))
    return found


def _says_the_same(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """Whether the same cells are missing, and the others nearly on a line."""
    together = np.array_equal(np.isnan(a), np.isnan(b))
    return together and bool(abs(_shape(a) @ _shape(b)) > NEARLY)


def _shape(column: NDArray[np.float64]) -> Matrix:
    """The column without its place and unit, of length 1 (N,); 0 where missing."""
    known = ~np.isnan(column)
    values = column[known] / (np.abs(column[known]).max() or 1.0)
    off = values - np.median(values)
    drawn_in = np.arcsinh(off / (np.median(np.abs(off)) or np.abs(off).mean() or 1.0))
    found = np.zeros(len(column))
    found[known] = drawn_in - drawn_in.mean()
    return found / (np.linalg.norm(found) or 1.0)

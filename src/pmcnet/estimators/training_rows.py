"""Training rows as the target sees them: equal rows merged, in a seeded order.

A row given twice and a row of weight 2 are the same to a likelihood. Merging makes them the same to
the sampler too, and makes the fit independent of the order in which rows were given.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight  # type: ignore[import-untyped]

from pmcnet.errors import InputError
from pmcnet.estimators.columns import Columns, ColumnsAsked, Matrix
from pmcnet.estimators.columns.moments import moments, scaled
from pmcnet.estimators.encoding import Encoder, ImageEncoder, Scaling, TableEncoder
from pmcnet.estimators.predictions import Array
from pmcnet.rng import stream

_LARGEST = 1e15
_ORDER_STEP = (1 << 62) + 1  # far from the steps of any sampler with the same seed


NO_NUMBERS = np.arange(0)


class TrainingRows(NamedTuple):
    """Raw rows (N, ...), targets (N,) and how often each counts (N,).

    `number` (N,) is where each was among the rows that were merged, from 1.
    """

    x: Matrix
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    number: NDArray[np.int64] = NO_NUMBERS


def merged(
    x: Matrix, y: NDArray[np.float64], weight: NDArray[np.float64], seed: int
) -> TrainingRows:
    """Different rows of positive weight, in an order that depends on rows and seed alone.

    Images are put in a seeded order only.
    """
    counted = np.flatnonzero(weight > 0)
    x, y, weight = x[counted], y[counted], weight[counted]
    if x.ndim > 2:  # equal images are rare, and comparing images is expensive
        order = stream(seed, _ORDER_STEP, 0).host.permutation(len(x))
        return TrainingRows(x[order], y[order], weight[order], counted[order] + 1)
    flat = np.column_stack([x, y])
    # infinities are refused before, so that missing values can take their place
    keyed = np.where(np.isnan(flat), np.inf, flat)
    _, first, index = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    total = np.zeros(len(first))
    np.add.at(total, index.reshape(-1), weight)
    order = stream(seed, _ORDER_STEP, 0).host.permutation(len(first))
    number = counted[first][order] + 1
    return TrainingRows(x[first][order], y[first][order], total[order], number)


class EncodedTraining(NamedTuple):
    """An encoder that has learned, the training rows merged, and their inputs (N, n_inputs)."""

    encoder: Encoder
    rows: TrainingRows
    inputs: Matrix


def encoded_training(
    raw: Any,
    y: Array,
    weight: Array,
    seed: int,
    scaling: Scaling,
    asked: ColumnsAsked,
    n_classes: int | None,
) -> EncodedTraining:
    """Merge checked rows, a table or images, and learn an encoder from them.

    Args:
        raw: the rows.
        y: targets (N,) or (N, 2), or places of classes.
        weight: how often each row counts (N,).
        seed: of the order of the merged rows.
        scaling: of numbers.
        asked: what is said of columns.
        n_classes: of a classification.
    """
    _check_some(len(raw))
    columns, numbers = read_columns(raw, asked)
    rows = merged(numbers, y, weight, seed)
    _check_some(len(rows.y))
    encoder: Encoder
    targets = level_targets(rows, n_classes)
    if columns is None:
        encoder = ImageEncoder.fit(rows.x, rows.weight, scaling)
    else:
        encoder = TableEncoder.fit(columns, rows.x, rows.weight, targets, scaling, asked.types)
    return EncodedTraining(encoder, rows, encoder.encode_training(rows.x, rows.weight, targets))


def encoded_again(
    encoder: Encoder, raw: Any, y: Array, weight: Array, seed: int, n_classes: int | None
) -> EncodedTraining:
    """The rows that an encoder has learned from, as `encoded_training` gave them."""
    rows = merged(encoder.rows(raw), y, weight, seed)
    inputs = encoder.encode_training(rows.x, rows.weight, level_targets(rows, n_classes))
    return EncodedTraining(encoder, rows, inputs)


def read_columns(raw: Any, asked: ColumnsAsked) -> tuple[Columns | None, Matrix]:
    """The columns of checked rows, and the rows as numbers; images have no columns."""
    if isinstance(raw, np.ndarray) and raw.ndim > 2:
        return None, np.asarray(raw, dtype=np.float64)
    columns = Columns.of(raw, asked)
    return columns, columns.matrix(raw)


def _check_some(n_rows: int) -> None:
    if n_rows < 2:
        raise InputError(
            f"at least 2 different rows are needed; got n_samples = {n_rows}. Give more rows."
        )


def level_targets(rows: TrainingRows, n_classes: int | None) -> Matrix:
    """What levels are averaged by (N, C): the target, or indicators of all classes but the last.

    Of two columns, of counts with exposures or times with events, it is the first.
    """
    if n_classes is not None:
        found: Matrix = np.eye(n_classes)[rows.y.astype(np.int64)][:, : n_classes - 1]
        return found
    y = rows.y.reshape(len(rows.y), -1)[:, :1]
    return scaled(y, *moments(y, rows.weight[:, None]))


def checked_weight(sample_weight: ArrayLike | None, y: NDArray[Any]) -> Array:
    """How often each row counts (N,), after checking length, sign and that some row counts."""
    if sample_weight is None:
        return np.ones(len(y))
    if not np.asarray(sample_weight).any():  # some versions of scikit-learn refuse it as well
        raise InputError(
            "sample_weight is zero for every row, so no row counts. Give some row a positive "
            "weight."
        )
    try:
        weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
    except OverflowError as error:
        raise InputError(
            "sample_weight holds a number too large for double precision. Scale the weights."
        ) from error
    if weight.max() > _LARGEST:
        raise InputError(
            f"sample_weight, how often a row counts, must be at most {_LARGEST:g}; got "
            f"{weight.max():g} in row {weight.argmax() + 1}. Divide all weights by a common number."
        )
    return np.asarray(weight)

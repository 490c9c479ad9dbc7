"""What every figure asks of its data: numbers that are finite, of the right length and range."""

from collections.abc import Mapping, Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmcnet.errors import InputError

Array = NDArray[np.float64]

LARGEST = 1e300
"""Beyond it the length of an axis is infinite."""

_ROUNDING = 1e-6  # softmax in single precision may leave [0, 1] by this much


def finite(values: Any, name: str) -> Array:
    """Return `values` as a float array; refuse strings, ragged lists and what no axis can hold."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"{name} must be numbers in lists of equal length; got {values!r:.80}."
        ) from error
    bad = int(np.count_nonzero(~(np.abs(array) <= LARGEST)))
    if bad:
        raise InputError(
            f"{name} must be finite, at most {LARGEST:g}; {bad} of {array.size} values are not. "
            "Leave those out before drawing."
        )
    return array


def finite_list(values: Any, name: str) -> Array:
    """Return `values` as a non-empty one-dimensional float array."""
    array = finite(values, name)
    if array.ndim != 1 or array.size == 0:
        raise InputError(
            f"{name} must be a non-empty flat list of numbers; got shape {array.shape}."
        )
    return array


def probabilities(values: Any, name: str) -> Array:
    """Return `values` as a non-empty list of probabilities, rounding errors clipped away."""
    array = finite_list(values, name)
    low, high = float(array.min()), float(array.max())
    if low < -_ROUNDING or high > 1 + _ROUNDING:
        raise InputError(f"{name} must lie in [0, 1]; got values from {low:.6g} to {high:.6g}.")
    return array.clip(0.0, 1.0)


def non_empty(items: Sized, name: str) -> None:
    """Refuse an empty collection: there would be nothing to draw."""
    if len(items) == 0:
        raise InputError(f"{name} must not be empty; give at least one entry to draw.")


def entry(item: Mapping[str, Any], key: str, name: str) -> Any:
    """Return `item[key]`, or say which keys there are."""
    if key not in item:
        raise InputError(f"{name} must have the key {key!r}; got the keys {sorted(item)!r:.200}.")
    return item[key]


def class_name(index: int, names: Sequence[str]) -> str:
    """Return the name of class `index`."""
    if not 0 <= index < len(names):
        raise InputError(
            f"class {index} has no name; class_names has {len(names)} entries. Give one name per "
            "class."
        )
    return str(names[index])

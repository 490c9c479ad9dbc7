"""Python and numpy values as JSON has them, and back."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmcnet.errors import InputError

_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
_TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}


def plain(value: Any) -> Any:
    """The same value made of dicts, lists, strings and numbers; None for those not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool | np.bool_):
        return bool(value) if isinstance(value, np.bool_) else value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Sequence | np.ndarray):
        return [plain(item) for item in value]
    if hasattr(value, "__array__") and np.asarray(value).ndim:
        return plain(np.asarray(value))
    raise InputError(f"{type(value).__name__} cannot be written to a model file; got {value!r}.")


def labels_to_plain(labels: NDArray[Any]) -> dict[str, Any]:
    """Class labels with their type."""
    values = labels.tolist()
    kind = _KINDS.get(labels.dtype.kind)
    if labels.dtype.kind == "O" and len({type(value) for value in values}) == 1:
        kind = next((name for name, known in _TYPES.items() if type(values[0]) is known), None)
    if kind is None:
        raise InputError(
            f"classes of type {labels.dtype} cannot be written to a model file; use strings or "
            "numbers."
        )
    return {"type": kind, "object": labels.dtype.kind == "O", "values": values}


def labels_from_plain(state: Mapping[str, Any]) -> NDArray[Any]:
    """The labels that gave this state."""
    known = _TYPES[state["type"]]
    values = [known(value) for value in state["values"]]
    return np.array(values, dtype=object) if state["object"] else np.array(values)


def numbers_from_plain(stored: Any) -> Any:
    """A number, or an array of several."""
    return np.array(stored, dtype=np.float64) if isinstance(stored, list) else float(stored)

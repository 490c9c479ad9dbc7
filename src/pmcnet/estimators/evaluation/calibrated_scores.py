"""How often calibrated intervals and sets hold the truth of test rows, and how large they are."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet import metrics
from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.conformal.intervals import STATED
from pmcnet.estimators.regressor import PMCNetRegressor

_COVERAGES = (0.9, 0.95)
CALIBRATED = "conformal_"
"""Begins the names of metrics of calibrated intervals and sets; without it they are plain."""
_LABELS = {
    "coverage{}": "coverage of {} % intervals",
    "width{}": "mean width of {} % intervals",
    CALIBRATED + "coverage{}": "coverage of conformal {} % intervals",
    CALIBRATED + "width{}": "mean width of conformal {} % intervals",
    CALIBRATED + "set_coverage{}": "coverage of conformal {} % sets",
    CALIBRATED + "set_size{}": "mean number of classes in conformal {} % sets",
}


def _named(name: str, coverage: float) -> str:
    return name.format(round(100 * coverage))


COVERAGE_LABELS = {
    _named(name, coverage): _named(label, coverage)
    for name, label in _LABELS.items()
    for coverage in _COVERAGES
}
SIZES = tuple(name for name in COVERAGE_LABELS if "width" in name or "size" in name)
"""Of these the smaller is the better."""


def interval_scores(model: PMCNetRegressor, rows: Any, truth: NDArray[Any]) -> dict[str, Tensor]:
    """Coverage and mean width of plain and calibrated intervals; none where they are not."""
    found: dict[str, Tensor] = {}
    for coverage in _COVERAGES if model.calibration_ else ():
        both = {
            "": model.predict_quantiles(rows, STATED.levels(coverage)),
            CALIBRATED: model.predict_interval(rows, coverage),
        }
        for prefix, interval in both.items():
            ends = torch.as_tensor(interval).mT  # (2, N)
            inside = metrics.coverage(ends, torch.as_tensor(truth))
            found[_named(prefix + "coverage{}", coverage)] = inside
            found[_named(prefix + "width{}", coverage)] = (ends[1] - ends[0]).mean()
    return found


def set_scores(model: PMCNetClassifier, rows: Any, label: Tensor) -> dict[str, Tensor]:
    """Coverage and mean size of calibrated sets; none where there are none."""
    found: dict[str, Tensor] = {}
    for coverage in _COVERAGES if model.calibration_ else ():
        sets = torch.as_tensor(model.predict_set(rows, coverage)).double()  # (N, C)
        inside = sets.gather(1, label[:, None]).mean()
        found[_named(CALIBRATED + "set_coverage{}", coverage)] = inside
        found[_named(CALIBRATED + "set_size{}", coverage)] = sets.sum(1).mean()
    return found


def sets_of(model: PMCNetClassifier, rows: Any, coverage: float) -> NDArray[Any] | None:
    """The classes in the set of each row, with " | " between them (N,); None without sets."""
    if model.calibration_ is None:
        return None
    names = np.array([str(name) for name in model.classes_], dtype=object)
    inside = model.predict_set(rows, coverage)
    return np.array([" | ".join(names[row]) for row in inside], dtype=object)

"""What every competing library's model keeps to.

A model is a frozen dataclass of knobs, for numbers or for classes. It is fitted to rows that are
numbers already, and predicts rows of the same form. Nothing here needs torch: a model may run in
an interpreter that has numpy, scipy, scikit-learn and its own package only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVELS: Array = (np.arange(10) + 0.5) / 10
"""Levels of the quantiles that a comparison asks for; the ends of 90 % intervals are among them."""


class Rows(NamedTuple):
    """Rows as numbers (N, d).

    Not-a-number is a missing value. A column of `categories` holds places of levels, 0, 1, ...
    """

    values: Array
    categories: tuple[int, ...] = ()


class RowPredictions(NamedTuple):
    """What was predicted for N rows whose truth is known; None is what a method does not have.

    Args:
        mean: of a number (N,).
        log_density: of the truth (N,).
        quantiles: (Q, N), rising with the level.
        probability: of classes (N, C).
    """

    mean: Array | None = None
    log_density: Array | None = None
    quantiles: Array | None = None
    probability: Array | None = None


class Prediction(Protocol):
    """Of N rows."""

    def tested(self, y: Array, levels: Array) -> RowPredictions:
        """Beside the truth y (N,), with quantiles at these levels (Q,)."""
        ...


class Classes(NamedTuple):
    """Probabilities of classes (N, C)."""

    probability: Array

    def tested(self, y: Array, levels: Array) -> RowPredictions:
        """The probabilities."""
        return RowPredictions(probability=self.probability)


class FittedModel(NamedTuple):
    """Predicts rows; `note` is a remark on the fit."""

    predict: Callable[[Rows], Prediction]
    note: str = ""


@dataclass(frozen=True)
class CompetingModel(ABC):
    """Knobs of a model; `modules` are what it imports, `packages` what they are installed as."""

    modules: ClassVar[tuple[str, ...]]
    packages: ClassVar[tuple[str, ...]]

    def load(self) -> None:
        """Import what the fit needs, before a clock counts its seconds."""
        for module in self.modules:
            import_module(module)

    @abstractmethod
    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Fit rows with targets y (N,): numbers, or places of classes, each of which occurs.

        Args:
            rows: the training rows.
            y: their targets.
            seed: decides everything random.
        """


def fitted_classifier(model: Any) -> FittedModel:
    """A fitted classifier of scikit-learn's kind, which takes the values of rows."""

    def predict(rows: Rows) -> Classes:
        return Classes(np.asarray(model.predict_proba(rows.values), dtype=np.float64))

    return FittedModel(predict)

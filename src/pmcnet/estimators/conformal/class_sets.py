"""Sets of classes: all whose probability is no smaller than calibration allows.

Sadinle, Lei and Wasserman (2019): the score of a calibration row is 1 minus the probability of its
class, and the set of a new row holds the classes whose score is at most the order statistic of the
scores. On average no other sets of that coverage are smaller. The most probable class is always
one of them, so no set is empty.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.estimators.conformal.order_statistic import calibrated_score
from pmcnet.estimators.predictions import Array
from pmcnet.io.schema import Form, listing, number, table, text


class CalibratedSets(NamedTuple):
    """Prediction sets; `scores` (n,) are those of the calibration rows."""

    scores: Array

    @classmethod
    def of(cls, probability: Array, codes: NDArray[np.int64]) -> Self:
        """From calibration rows: probabilities (n, C), and the place of each one's class (n,)."""
        from mapie.conformity_scores import LACConformityScore  # an extra

        found = LACConformityScore().get_conformity_scores(codes, probability, y_enc=codes)
        return cls(np.asarray(found, dtype=np.float64).clip(0, 1).ravel())

    @property
    def n_rows(self) -> int:
        """Calibration rows."""
        return len(self.scores)

    def inside(self, probability: Array, coverage: float) -> NDArray[np.bool_]:
        """Whether each class is in the set of each row: (N, C) of probabilities (N, C)."""
        found = 1 - probability <= calibrated_score(self.scores, coverage)
        found[np.arange(len(found)), probability.argmax(1)] = True
        return np.asarray(found)

    def to_plain(self) -> dict[str, Any]:
        """The stored form."""
        return {"kind": "sets", "scores": self.scores.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """What gave this stored form."""
        return cls(np.array(plain["scores"], dtype=np.float64))


SETS_FORM: Form = table(kind=text("sets"), scores=listing(number(0, 1), 1))

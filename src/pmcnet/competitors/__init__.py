"""Models of other libraries that `pmcnet compare` fits to the same rows, behind one contract.

Only numpy, scipy, scikit-learn and the library itself are imported, and each fit is a process of
its own.
"""

from pmcnet.competitors.base import (
    LEVELS,
    CompetingModel,
    FittedModel,
    Prediction,
    RowPredictions,
    Rows,
)
from pmcnet.competitors.registry import COMPETITORS, Competitor

__all__ = [
    "COMPETITORS",
    "LEVELS",
    "CompetingModel",
    "Competitor",
    "FittedModel",
    "Prediction",
    "RowPredictions",
    "Rows",
]

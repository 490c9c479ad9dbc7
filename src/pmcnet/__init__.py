"""Bayesian neural networks by adaptive importance sampling, on PyTorch.

`PMCNetClassifier` and `PMCNetRegressor` are scikit-learn estimators; `pmcnet.ais` is the core,
adaptive importance sampling on any batched log-density; `pmcnet.bnn` makes one of a network and a
dataset. Fits write what they decide to the logger "pmcnet" at level INFO; nothing is printed.
"""

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pmcnet.estimators import PMCNetClassifier, PMCNetRegressor

__version__ = "0.1.0"
__all__ = ["PMCNetClassifier", "PMCNetRegressor", "__version__"]

logging.getLogger("pmcnet").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    """The estimators, imported on first use, so that `import pmcnet` costs nothing."""
    if name in ("PMCNetClassifier", "PMCNetRegressor"):
        from pmcnet import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'pmcnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "PMCNetClassifier", "PMCNetRegressor"])

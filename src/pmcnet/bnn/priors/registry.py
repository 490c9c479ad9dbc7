"""The priors that estimators know by name."""

from collections.abc import Callable

from pmcnet.bnn.priors.base import Prior
from pmcnet.bnn.priors.independent import GaussianPrior, LaplacePrior
from pmcnet.bnn.priors.per_layer import LayerGaussianPrior

PRIORS: dict[str, Callable[[float], Prior]] = {
    "gaussian": GaussianPrior,
    "layer": LayerGaussianPrior,
    "laplace": LaplacePrior,
}
"""From a scale to the prior."""

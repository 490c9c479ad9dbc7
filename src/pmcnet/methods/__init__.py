"""Every way to fit a network: `method.fit(target, seed=...) -> Fit(posterior, history)`."""

from pmcnet.methods.annealed import AnnealedMethod
from pmcnet.methods.base import Fit
from pmcnet.methods.pmc import PMCMethod
from pmcnet.methods.training.adam import Adam, Optimum, default_start
from pmcnet.methods.training.starts import Given, Jitter, Restarts, Start

__all__ = [
    "Adam",
    "AnnealedMethod",
    "Fit",
    "Given",
    "Jitter",
    "Optimum",
    "PMCMethod",
    "Restarts",
    "Start",
    "default_start",
]

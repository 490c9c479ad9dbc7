"""Ways to fit a network: each takes a target and a seed and returns a posterior with its history."""

from pmcnet.methods.adam import Adam, Optimum, Progress, default_start
from pmcnet.methods.pmc import Fit, PMCMethod
from pmcnet.methods.starts import Jitter, Restarts, Start

__all__ = ["Adam", "Fit", "Jitter", "Optimum", "PMCMethod", "Progress", "Restarts", "Start", "default_start"]

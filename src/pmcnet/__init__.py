"""Bayesian neural networks by adaptive importance sampling, on PyTorch.

`pmcnet.ais` is the core: adaptive importance sampling on any batched log-density.
"""

__version__ = "0.1.0"

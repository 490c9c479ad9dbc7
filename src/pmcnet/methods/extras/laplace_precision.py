"""The Gaussian of laplace-torch at a network: its curvature there, the prior and the noise."""

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pmcnet.bnn import MLP, BayesianTarget, Bernoulli, ModuleNetwork, Parameter
from pmcnet.errors import InputError


def gaussian_at(
    target: BayesianTarget,
    theta: Tensor,
    uncertain: Sequence[Parameter],
    structure: str,
    sigma: float | None,
) -> Any:
    """The library's approximation at a network, with `sample` and `log_marginal_likelihood`.

    Args:
        target: in double precision, with a Gaussian prior.
        theta: the network (D,).
        uncertain: the parameters that the Gaussian is over; the others are fixed.
        structure: of the precision: "full", "kron" or "diag".
        sigma: standard deviation of a regression's noise.
    """
    module = _module(target, theta, {p.name for p in uncertain})
    dim = sum(p.stop - p.start for p in uncertain)
    score = target.prior.score(
        torch.ones_like(theta[None, : target.n_parameters]), target.network.layout
    )[0]
    regression = target.likelihood.task == "regression"
    gaussian = _library().Laplace(
        module,
        target.likelihood.task,
        subset_of_weights="all",  # those that are not fixed
        hessian_structure=structure,
        prior_precision=torch.stack([-score[p.start] for p in uncertain]),
        **({"sigma_noise": sigma} if regression else {}),
    )
    y = target.y[:, None] if regression else target.y.long()
    n_rows = max(1, target.memory // (32 * dim * max(2, target.likelihood.n_outputs)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library, about its own dependencies
        # a generator of its own, since a loader without one draws from the global one
        gaussian.fit(
            DataLoader(TensorDataset(target.x, y), batch_size=n_rows, generator=torch.Generator())
        )
    return gaussian


class _TwoLogits(nn.Module):
    """A network of one logit z as one of two, (0, z), as the library has two classes."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        """(0, z)."""
        logit = self.inner(x)
        return torch.cat([torch.zeros_like(logit), logit], dim=-1)


def _library() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import laplace
    return laplace


def _module(target: BayesianTarget, theta: Tensor, uncertain: set[str]) -> nn.Module:
    """The network at theta, with the parameters that are not uncertain fixed."""
    network = target.network
    if type(network) is MLP:  # scales among the parameters are no part of a module
        with torch.random.fork_rng(devices=[]):  # its starting values, which are overwritten
            module: nn.Module = network.module()
    elif isinstance(network, ModuleNetwork):
        module = copy.deepcopy(network.module)
    else:
        raise InputError(
            f"laplace needs a torch module; got {type(network).__name__}. Use hidden layers or "
            "module=."
        )
    module = module.to(theta.device, torch.float64).eval()
    values = network.layout.unflatten(theta[: target.n_parameters])
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(values[name]).requires_grad_(name in uncertain)
    return _TwoLogits(module) if isinstance(target.likelihood, Bernoulli) else module

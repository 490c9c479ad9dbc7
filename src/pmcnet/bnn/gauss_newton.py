"""The Gauss-Newton curvature of a posterior: never indefinite, so proposals can use its inverse.

H = sum_n J_n^T B_n J_n + (Hessian of the log prior), with J_n the outputs' derivatives with respect
to the parameters and B_n the second derivatives of log p(y_n | output) with respect to the outputs.
What it leaves out are the second derivatives of the network, which vanish where residuals do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import jacrev, vmap

from pmcnet.ais.target import FunctionTarget, ValueAndScore
from pmcnet.bnn.target import BayesianTarget


@dataclass(frozen=True)
class GaussNewtonTarget:
    """A posterior with the Gauss-Newton Hessian, to be given to `ais.sl_pmc` in its place."""

    posterior: BayesianTarget

    @property
    def dim(self) -> int:
        """D of the posterior."""
        return self.posterior.dim

    @property
    def memory(self) -> int:
        """Bytes that evaluations may use for temporaries."""
        return self.posterior.memory

    @property
    def bytes_per_point(self) -> int:
        """Temporaries of one network."""
        return self.posterior.bytes_per_point

    def log_density(self, theta: Tensor) -> Tensor:
        """log pi."""
        return self.posterior.log_density(theta)

    def value_and_score(self, theta: Tensor) -> ValueAndScore:
        """log pi and its gradient."""
        return self.posterior.value_and_score(theta)

    def hessian(self, theta: Tensor) -> Tensor:
        """The Gauss-Newton Hessian (n, D, D)."""
        return gauss_newton(self.posterior, theta)

    def factors(self) -> Sequence[BayesianTarget]:
        """Mini-batches of the posterior."""
        return self.posterior.factors()


def gauss_newton(target: BayesianTarget, theta: Tensor) -> Tensor:
    """Gauss-Newton Hessian of log pi at points (n, D) -> (n, D, D).

    The likelihood's own parameters (a noise scale) get their exact second derivatives; terms
    between them and the network's are left out.
    """
    n_parameters = target.n_parameters
    prior = FunctionTarget(lambda t: target.share * target.log_prior(t), target.dim).hessian(theta)
    curvature = prior.clone()
    for point, total in zip(theta, curvature, strict=True):
        weights, extra = target.parts(point)
        total[:n_parameters, :n_parameters] += _outputs_curvature(target, weights, extra)
    if target.likelihood.n_extra:
        exact = FunctionTarget(target.log_likelihood, target.dim).hessian(theta)
        curvature[:, n_parameters:, n_parameters:] += exact[:, n_parameters:, n_parameters:]
    return curvature


def _outputs_curvature(target: BayesianTarget, weights: Tensor, extra: Tensor) -> Tensor:
    """sum_n J_n^T B_n J_n of one network."""
    outputs = target.network(weights[None], target.x)[0]  # (N, C)
    jacobian = jacrev(lambda w: target.network(w[None], target.x)[0])(weights)  # (N, C, D)

    def row(output: Tensor, y: Tensor) -> Tensor:
        return target.likelihood.log_prob(output[None, None], y[None], extra[None])[0, 0]

    second = vmap(jacrev(jacrev(row)))(outputs, target.y)  # (N, C, C)
    curvature: Tensor = torch.einsum("nci,ncd,ndj->ij", jacobian, second, jacobian)
    return curvature

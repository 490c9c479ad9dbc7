"""The local reparametrisation (Kingma, Salimans and Welling, 2015): draws outputs, not weights.

Under q(theta) = N(mu, s^2) with independent coordinates a layer returns for a row a, independently
over its units,
    W a + b ~ N(mu_W a + mu_b, s_W^2 a^2 + s_b^2),
so that one normal number for each row and unit replaces one for each weight. Every row has noise of
its own, and the errors of a batch average out instead of adding up. Against a Gaussian prior
nothing else is random:
    KL(q || p) = sum_i log(sigma / s_i) + (s_i^2 + mu_i^2) / (2 sigma^2) - 1/2.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.bnn import MLP, BayesianTarget, GaussianPrior, LayerGaussianPrior
from pmcnet.bnn.batch import Batch
from pmcnet.bnn.networks.mlp import ACTIVATIONS
from pmcnet.errors import InputError
from pmcnet.rng import Stream, standard_normal


def local_gradients(
    target: BayesianTarget, q: Tensor, batch: Batch, n_draws: int, source: Stream, share: float
) -> Tensor:
    """Gradients of E_q log p(y | theta) + share E_q log p(theta) by the moments of q: (2, D).

    Args:
        target: with an MLP. Parameters of the likelihood are drawn once for all rows of a draw.
        q: mean and standard deviation (2, D).
        batch: rows.
        n_draws: draws for each row.
        source: of the noise.
        share: of the prior, n_batch / N for Bayes' rule.
    """
    if type(target.network) is not MLP:
        raise InputError(
            'estimator "local" draws the outputs of fully connected layers, so it needs an MLP; '
            "got a "
            f'{type(target.network).__name__}. Use estimator "weights".'
        )
    with torch.enable_grad():
        means, variances = _pieces(target, q[0]), _pieces(target, q[1].square())
        output = drawn_outputs(
            target.network, means, variances, batch.x, n_draws, source
        )  # (S, B, C)
        noise = standard_normal([source], (n_draws, target.likelihood.n_extra), like=q)[0]
        extra = means[-1] + variances[-1].sqrt() * noise  # (S, E)
        log_prob = target.likelihood.log_prob(output, batch.y, extra)  # (S, B)
        total = batch.total(log_prob).sum() + share * target.likelihood.log_prior(extra).sum()
        found = torch.autograd.grad(total / n_draws, [*means, *variances], materialize_grads=True)
    gradients = torch.cat([each.flatten() for each in found]).reshape(2, -1)
    gradients[1] *= 2 * q[1]  # from the variance to its root
    weights = target.parts(gradients)[0]  # a view
    weights.add_(_prior_gradients(target, target.parts(q)[0], n_draws, source), alpha=share)
    return gradients


def drawn_outputs(
    network: MLP,
    means: Sequence[Tensor],
    variances: Sequence[Tensor],
    x: Tensor,
    n_draws: int,
    source: Stream,
) -> Tensor:
    """Outputs (S, N, C) of networks whose weights are Gaussian, drawn anew for each row and layer.

    Args:
        network: its sizes and activation.
        means: weight and bias of each layer.
        variances: the same.
        x: inputs (N, d), shared by the draws, so that the first layer's moments are found once.
        n_draws: S.
        source: of the noise.
    """
    activation, hidden = ACTIVATIONS[network.activation][0], x
    for layer, n_units in enumerate(network.sizes[1:]):
        hidden = activation(hidden) if layer else hidden
        at = slice(2 * layer, 2 * layer + 2)
        mean, variance = F.linear(hidden, *means[at]), F.linear(hidden.square(), *variances[at])
        noise = standard_normal([source], (n_draws, len(x), n_units), like=x)[0]
        hidden = torch.addcmul(mean, variance.sqrt(), noise)  # (S, N, H)
    return hidden


def _pieces(target: BayesianTarget, vector: Tensor) -> list[Tensor]:
    """The network's tensors, and last the likelihood's parameters, each with its own gradient."""
    weights, extra = target.parts(vector.detach())
    return [
        piece.requires_grad_()
        for piece in (*target.network.layout.unflatten(weights).values(), extra)
    ]


def _prior_gradients(target: BayesianTarget, q: Tensor, n_draws: int, source: Stream) -> Tensor:
    """Gradients of E_q log p(weights): (2, n_parameters); from draws unless it is Gaussian."""
    if isinstance(target.prior, GaussianPrior | LayerGaussianPrior):
        return target.prior.score(
            q, target.network.layout
        )  # linear, so E score = score(mu), E [score eps] = score(s)
    eps = standard_normal([source], (n_draws, q.shape[1]), like=q)[0]
    score = target.prior.score(q[0] + q[1] * eps, target.network.layout)  # (S, n_parameters)
    return torch.stack([score.mean(0), (score * eps).mean(0)])

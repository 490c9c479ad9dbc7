"""log pi of a `BayesianTarget` as a function of JAX, for samplers that are written in it.

The same density as `BayesianTarget.log_density`, constants included, in double precision. JAX is
imported when a function is called, so that nothing here needs it before.
"""

import math
from collections.abc import Callable
from typing import Any

from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianPrior,
    HierarchicalMLP,
    LaplacePrior,
    LayerGaussianPrior,
    LearnedGaussian,
)
from pmcnet.errors import InputError

Array = Any
"""Of JAX, whose types are known only where it is installed."""

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def log_density(target: BayesianTarget) -> Callable[[Array], Array]:
    """log pi of one flat vector (D,) -> (), to be traced where 64 bits are enabled.

    Args:
        target: of an MLP with a Bernoulli, categorical or Gaussian likelihood.
    """
    import jax.numpy as jnp

    network = target.network
    if not isinstance(network, MLP) or isinstance(network, HierarchicalMLP):
        raise InputError(
            f"nuts needs a network of hidden layers with a fixed prior; got "
            f"{type(network).__name__}. Use MLP."
        )
    x, y = (jnp.asarray(rows.double().cpu().numpy()) for rows in (target.x, target.y))
    weight = None if target.weight is None else jnp.asarray(target.weight.double().cpu().numpy())
    log_prob, log_prior = _log_prob(target), _log_prior(target)

    def density(theta: Array) -> Array:
        own, extra = theta[: target.n_parameters], theta[target.n_parameters :]
        each = log_prob(outputs(own, x, network), y, extra)  # (N,)
        return (
            target.share * log_prior(own, extra) + (each if weight is None else weight * each).sum()
        )

    return density


def outputs(theta: Array, x: Array, network: MLP) -> Array:
    """Outputs (N, C) of the network with parameters theta, in the order of `network.layout`."""
    import jax
    import jax.numpy as jnp

    activation = {
        "tanh": jnp.tanh,
        "relu": jax.nn.relu,
        "sigmoid": jax.nn.sigmoid,
        "silu": jax.nn.silu,
    }
    layers = zip(network.layout[::2], network.layout[1::2], strict=True)
    for layer, (weight, bias) in enumerate(layers):
        x = activation[network.activation](x) if layer else x
        x = (
            x @ theta[weight.start : weight.stop].reshape(weight.shape).T
            + theta[bias.start : bias.stop]
        )
    return x


def _log_prob(target: BayesianTarget) -> Callable[[Array, Array, Array], Array]:
    """Log p of each row (N,), from outputs (N, C), data (N,) and the likelihood's parameters."""
    import jax
    import jax.numpy as jnp

    likelihood = target.likelihood
    if isinstance(likelihood, Bernoulli):
        return lambda z, y, extra: jax.nn.log_sigmoid((2 * y - 1) * z[:, 0])
    if isinstance(likelihood, Categorical):
        return lambda z, y, extra: jnp.take_along_axis(
            jax.nn.log_softmax(z), y[:, None].astype(int), -1
        )[:, 0]
    if isinstance(likelihood, Gaussian):
        log_sigma = math.log(likelihood.sigma)
        return lambda z, y, extra: _log_normal(y - z[:, 0], log_sigma)
    if isinstance(likelihood, LearnedGaussian):
        return lambda z, y, extra: _log_normal(y - z[:, 0], extra[0])
    raise InputError(
        f"nuts knows Bernoulli, categorical and Gaussian likelihoods; got {likelihood}. Use "
        "another method."
    )


def _log_prior(target: BayesianTarget) -> Callable[[Array, Array], Array]:
    """Log p of the network's parameters and of the likelihood's own."""
    import jax.numpy as jnp
    import numpy as np

    prior, likelihood = target.prior, target.likelihood
    sizes = [p.stop - p.start for p in target.network.layout]
    if isinstance(prior, LayerGaussianPrior):
        log_scale = np.repeat(
            [math.log(prior.sigma / math.sqrt(p.fan_in)) for p in target.network.layout], sizes
        )
    else:
        log_scale = np.full(sum(sizes), math.log(prior.sigma))
    if isinstance(prior, GaussianPrior | LayerGaussianPrior):
        kind: Callable[[Array, Array], Array] = _log_normal
    elif isinstance(prior, LaplacePrior):
        kind = _log_laplace
    else:
        raise InputError(
            f"nuts knows Gaussian and Laplace priors; got {prior}. Use another method."
        )

    def log_prior(own: Array, extra: Array) -> Array:
        total = kind(own, jnp.asarray(log_scale)).sum()
        if isinstance(likelihood, LearnedGaussian):
            total += _log_normal(
                extra[0] - likelihood.log_sigma_mean, math.log(likelihood.log_sigma_std)
            )
        return total

    return log_prior


def _log_normal(residual: Array, log_sigma: Array) -> Array:
    import jax.numpy as jnp

    return -0.5 * jnp.square(residual * jnp.exp(-log_sigma)) - log_sigma - _HALF_LOG_TAU


def _log_laplace(residual: Array, log_sigma: Array) -> Array:
    """With standard deviation sigma = sqrt(2) b."""
    import jax.numpy as jnp

    log_scale = log_sigma - 0.5 * math.log(2)
    return -jnp.abs(residual) * jnp.exp(-log_scale) - log_scale - math.log(2)

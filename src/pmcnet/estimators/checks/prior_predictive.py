"""What the model held for possible before it saw any data: outcomes of networks of the prior."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from pmcnet.ais.samples import WeightedSamples
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.estimators.checks.check_rows import CheckRows
from pmcnet.estimators.checks.predictive_checks import drawn_responses
from pmcnet.estimators.exposure import predicting
from pmcnet.estimators.model_rows import prior_of
from pmcnet.estimators.predictions import Array, EncodedRows
from pmcnet.rng import check_seed, stream

if TYPE_CHECKING:
    from pmcnet.estimators.base import PMCNetEstimator

N_PRIOR = 200
_PRIOR_STEP = (1 << 62) + 6  # far from the steps of any sampler with the same seed


@dataclass(frozen=True, eq=False)
class PriorCheck:
    """Responses drawn before any data were seen, beside those observed.

    Args:
        y: observed (n,); of classes their places in `classes_`.
        drawn: one draw of y for each row by each of S networks of the prior (S, n).
    """

    y: Array
    drawn: Array

    @property
    def interval(self) -> tuple[float, float]:
        """That of 95 % of the prior's draws."""
        low, high = np.quantile(self.drawn, (0.025, 0.975))
        return float(low), float(high)

    @property
    def share_inside(self) -> float:
        """The share of the observed responses in it."""
        low, high = self.interval
        return float(((self.y >= low) & (self.y <= high)).mean())

    @property
    def ratio(self) -> float:
        """Width of that interval over the one of 95 % of the data; infinite where these agree."""
        low, high = np.quantile(self.y, (0.025, 0.975))
        width = self.interval[1] - self.interval[0]
        return float(width / (high - low)) if high > low else np.inf


def prior_check(
    model: "PMCNetEstimator", rows: CheckRows, *, n_draws: int, seed: int
) -> PriorCheck:
    """Draw responses of these rows from the prior.

    Args:
        model: fitted, whose prior is that of its posterior.
        rows: whose responses are known.
        n_draws: S.
        seed: of the draws.
    """
    prior, theta = prior_networks(model, rows, n_draws, seed)
    return PriorCheck(rows.y, drawn_responses(model, prior, rows, theta, seed))


def prior_networks(
    model: "PMCNetEstimator", rows: CheckRows, n_draws: int, seed: int
) -> tuple[ParticlePosterior, Tensor]:
    """The posterior before any data, and draws of it (S, D)."""
    posterior = model.posterior_
    few = slice(0, 1)
    target = BayesianTarget(
        posterior.network,
        posterior.likelihood,
        rows.rows.inputs[few],
        rows.targets[few].to(rows.rows.inputs),
        prior=prior_of(model.prior, model.prior_std_),
    )
    source = stream(check_seed(seed), _PRIOR_STEP, 0, posterior.theta.device)
    theta = target.sample_prior([source], n_draws)[0]  # (S, D)
    samples = WeightedSamples(theta, theta.new_zeros(len(theta)).double())
    prior = ParticlePosterior(posterior.network, posterior.likelihood, samples, posterior.memory)
    return prior, theta


def prior_means(
    model: "PMCNetEstimator", inputs: EncodedRows, prior: ParticlePosterior, n: int
) -> Array:
    """The mean of y by each of the first networks of the prior, in units of y (n, N)."""
    whole, x = predicting(prior, inputs)
    samples = WeightedSamples(prior.theta[:n], prior.log_weight[:n])
    each = replace(whole, samples=samples)
    output = each.network(each.theta[:, : each.network.layout.dim], x)
    mean = each.likelihood.mean(output, each.theta[:, each.network.layout.dim :])[..., 0]
    return model._units().values(mean.detach().double().cpu().numpy())

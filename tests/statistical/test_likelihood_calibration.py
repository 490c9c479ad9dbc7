"""Simulation-based calibration (Talts et al., 2018) of likelihoods with parameters of their own.

theta from the prior, data from the likelihood's own draws, posterior by small islands: ranks of
true values among posterior draws are uniform if `sample`, `log_prob` and the sampler agree, for
predictions and their uncertainty at fixed inputs, own parameters, and log pi. Counts have
exposures, times are censored at times of their own. Constants that estimators read off the data are
fixed here."""

import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy import stats

from pmcnet import ais
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    CensoredWeibull,
    HierarchicalMLP,
    Likelihood,
    NegativeBinomial,
    Ordinal,
    RowGaussian,
)
from pmcnet.bnn.likelihoods.response import Units
from pmcnet.bnn.likelihoods.shaped_noise import StudentT
from pmcnet.rng import Stream, standard_normal, stream

N_REPLICATIONS, N_DRAWS, N_BINS, N_ROWS = 200, 31, 8, 20
UNIFORM, BENT = 1e-3, 1e-4
SAMPLER = ais.Islands(
    annealing=ais.AnnealedPMC(n_particles=32, n_islands=8, ess_fraction=0.5, n_moves=1)
)
STARVED = ais.AnnealedPMC(n_particles=8, tempering=ais.FixedTempering((0.5, 1.0)), n_moves=0)
LIKE = torch.zeros((), dtype=torch.float64)


class Model(NamedTuple):
    network: MLP
    likelihood: Likelihood

    def outputs(self, target: BayesianTarget, theta: torch.Tensor, x: torch.Tensor):
        """Outputs (P, N, C) and own parameters (P, E)."""
        weights, extra = target.parts(theta)
        return self.network(weights, x), extra


MODELS = {
    "by-row": Model(
        HierarchicalMLP((1, 2, 2), base=0.5, per_output=True),
        RowGaussian(-0.5, 0.5, floor=0.1),
    ),
    "student-t": Model(MLP((1, 3, 1)), StudentT(-1.0, 0.5)),
    "negative-binomial": Model(MLP((2, 2, 1)), NegativeBinomial(centre=1.0, spread=0.7)),
    "censored": Model(MLP((2, 2, 1)), CensoredWeibull(-0.5, 0.5, spread=1.2, centre=2.0)),
    "ordinal": Model(MLP((1, 3, 1)), Ordinal(4)),
}


def inputs(network: MLP, n: int, seed: int) -> torch.Tensor:
    return standard_normal([stream(seed, 0, 0)], (n, network.sizes[0]), LIKE)[0]


def drawn(likelihood: Likelihood, output, extra, source: Stream) -> torch.Tensor:
    """Data (N,) or (N, 2) from outputs (1, N, C)."""
    if isinstance(likelihood, NegativeBinomial):
        exposure = torch.linspace(0.2, 5.0, N_ROWS, dtype=torch.float64)
        rate = output + exposure.log()[:, None] / likelihood.spread
        return torch.stack([likelihood.sample(rate, extra, source)[0], exposure], 1)
    y = likelihood.sample(output, extra, source)[0]
    if not isinstance(likelihood, CensoredWeibull):
        return y
    end = math.exp(likelihood.centre) * source.host.standard_exponential(N_ROWS)
    both = np.column_stack([np.minimum(y.numpy(), end), y.numpy() <= end])
    return torch.as_tensor(likelihood.targets(both, Units()))


def simulated(name: str, seed: int) -> tuple[BayesianTarget, torch.Tensor]:
    """A target with data from a known theta of its prior, and that theta (1, D)."""
    model = MODELS[name]
    x = inputs(model.network, N_ROWS, seed=10**6)
    blank = BayesianTarget(*model, x, torch.zeros(N_ROWS, dtype=x.dtype))
    source = stream(seed, 10**6, 0)
    theta = blank.sample_prior([source], 1)[0]
    y = drawn(model.likelihood, *model.outputs(blank, theta, x), source)
    return BayesianTarget(*model, x, y), theta


def quantities(name: str, target: BayesianTarget, theta: torch.Tensor) -> torch.Tensor:
    """Means and variances or entropies at two fixed inputs, own parameters, log pi: (P, Q)."""
    model = MODELS[name]
    output, extra = model.outputs(target, theta, inputs(model.network, 2, seed=10**6 + 1))
    mean = model.likelihood.mean(output, extra)
    aleatoric = model.likelihood.aleatoric(mean, output, extra)
    log_pi = target.log_density(theta)[:, None]
    return torch.cat([mean.flatten(1), aleatoric, extra, log_pi], 1)


def p_values(name: str, draws, n_replications: int) -> np.ndarray:
    """Chi-square p-value of the uniformity of each quantity's ranks, those of log pi last.

    `draws` makes N_DRAWS parameter vectors from a target and a seed.
    """
    ranks = []
    for seed in range(n_replications):
        target, truth = simulated(name, seed)
        value, true = (quantities(name, target, each) for each in (draws(target, seed), truth))
        assert torch.isfinite(true).all()
        ranks.append((value < true).sum(0))  # 0 ... N_DRAWS
    bins = torch.stack(ranks) * N_BINS // (N_DRAWS + 1)  # (R, Q)
    counts = torch.stack([torch.bincount(q, minlength=N_BINS) for q in bins.T])  # (Q, N_BINS)
    return stats.chisquare(counts.numpy(), axis=1).pvalue


def sampled(sampler):
    """`draws` for `p_values` by a sampler."""
    return lambda target, seed: sampler.run(target, seed=seed).samples.resample(N_DRAWS, seed)


def of_the_prior(target: BayesianTarget, seed: int) -> torch.Tensor:
    """`draws` that know no data."""
    return target.sample_prior([stream(seed, 10**6 + 1, 0)], N_DRAWS)[0]


def all_observed(target: BayesianTarget, seed: int) -> torch.Tensor:
    """`draws` that take times of censored rows for events."""
    y = torch.stack([target.y[:, 0], torch.ones(N_ROWS, dtype=torch.float64)], 1)
    blind = BayesianTarget(target.network, target.likelihood, target.x, y)
    return sampled(SAMPLER)(blind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_ranks_are_uniform(name):
    found = p_values(name, sampled(SAMPLER), N_REPLICATIONS)
    assert found.min() > UNIFORM, found


@pytest.mark.slow
def test_ranks_are_not_uniform_where_censored_times_count_as_events():
    assert p_values("censored", all_observed, 60).min() < BENT


@pytest.mark.parametrize("name", MODELS)
def test_ranks_of_a_starved_run_are_not_uniform(name):
    assert p_values(name, sampled(STARVED), 60).min() < BENT


@pytest.mark.parametrize("name", MODELS)
def test_ranks_among_draws_of_the_prior_are_uniform_except_for_log_pi(name):
    """Averaged over data, the prior is the posterior: only what data enter tells them apart."""
    *free, log_pi = p_values(name, of_the_prior, N_REPLICATIONS)
    assert min(free) > UNIFORM, free
    assert log_pi < 1e-30

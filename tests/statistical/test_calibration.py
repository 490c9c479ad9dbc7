"""Simulation-based calibration (Talts et al., 2018).

theta from the prior, data from theta, posterior by the annealed sampler: the rank of the true value
among posterior draws is uniform, for predictions at fixed inputs and for log pi. Anything wrong in
weights, moves or temperatures bends it."""

import pytest
import torch
from scipy import stats

from pmcnet import ais
from pmcnet.bnn import MLP, BayesianTarget, Bernoulli, GaussianPrior, LearnedGaussian
from pmcnet.rng import standard_normal, stream, uniform

N_REPLICATIONS, N_DRAWS, N_BINS, N_ROWS = 200, 31, 8, 40
SAMPLER = ais.AnnealedPMC(n_particles=200)
STARVED = ais.AnnealedPMC(n_particles=24, tempering=ais.FixedTempering((0.5, 1.0)), n_moves=0)
MODELS = {
    "regression": (MLP((2, 2, 1)), LearnedGaussian(-1.0, 0.5)),
    "classifier": (MLP((3, 3, 1)), Bernoulli()),
}


def inputs(network, n, seed):
    like = torch.zeros((), dtype=torch.float64)
    return standard_normal([stream(seed, 0, 0)], (n, network.sizes[0]), like)[0]


def simulated(name, seed):
    """A target with data drawn from a known theta of its prior, and that theta (1, D)."""
    network, likelihood = MODELS[name]
    x = inputs(network, N_ROWS, seed=10**6)
    blank = BayesianTarget(network, likelihood, x, x[:, 0].abs() * 0, prior=GaussianPrior(1.0))
    source = stream(seed, 10**6, 0)
    theta = blank.sample_prior([source], 1)[0]  # (1, D)
    weights, extra = blank.parts(theta)
    output = network(weights, x)[0, :, 0]
    if name == "regression":
        y = output + extra.exp()[0, 0] * standard_normal([source], (N_ROWS,), like=x)[0]
    else:
        y = (uniform([source], N_ROWS, like=x)[0] < output.sigmoid()).double()
    return BayesianTarget(network, likelihood, x, y, prior=GaussianPrior(1.0)), theta


def quantities(target, theta):
    """Predictions at three fixed inputs, log pi, and the noise scale where there is one: (n, Q)."""
    weights, extra = target.parts(theta)
    predictions = target.network(weights, inputs(target.network, 3, seed=10**6 + 1))[..., 0]
    return torch.cat([predictions, target.log_density(theta)[:, None], extra], dim=1)


def p_values(name, sampler, n_replications):
    """Chi-square p-value of the uniformity of each quantity's ranks."""
    ranks = []
    for seed in range(n_replications):
        target, truth = simulated(name, seed)
        draws = sampler.run(target, seed=seed).samples.resample(N_DRAWS, seed)
        ranks.append(
            (quantities(target, draws) < quantities(target, truth)).sum(0)
        )  # 0 ... N_DRAWS
    bins = torch.stack(ranks) * N_BINS // (N_DRAWS + 1)  # (R, Q)
    counts = torch.stack([torch.bincount(q, minlength=N_BINS) for q in bins.T])
    return [float(stats.chisquare(row.numpy()).pvalue) for row in counts]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_ranks_are_uniform(name):
    found = p_values(name, SAMPLER, N_REPLICATIONS)
    assert min(found) > 0.001, found


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_ranks_of_a_starved_run_are_not(name):
    found = p_values(name, STARVED, N_REPLICATIONS)
    assert min(found) < 1e-4, found

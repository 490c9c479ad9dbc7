"""The prior's scale by the evidence, where the evidence is known in closed form."""

import pytest
import torch

from pmcnet import ais, tune
from pmcnet.bnn import MLP, BayesianTarget, Gaussian, GaussianPrior, LayerGaussianPrior
from pmcnet.errors import InputError

GENERATOR = torch.Generator().manual_seed(3)
X = torch.randn(40, 8, generator=GENERATOR, dtype=torch.float64)
TRUE = 2.0 * torch.randn(9, generator=GENERATOR, dtype=torch.float64)
A = torch.cat([X, torch.ones(40, 1).double()], dim=1)
Y = A @ TRUE + 0.5 * torch.randn(40, generator=GENERATOR, dtype=torch.float64)
SAMPLER = ais.AnnealedPMC(n_particles=304)


def log_z(sigma):
    marginal = sigma**2 * A @ A.mT + 0.25 * torch.eye(40).double()
    return float(
        torch.distributions.MultivariateNormal(torch.zeros(40).double(), marginal).log_prob(Y)
    )


def target(prior):
    return BayesianTarget(MLP((8, 1)), Gaussian(0.5), X, Y, prior=prior)


@pytest.mark.parametrize("start", [0.2, 10.0])
def test_evidence_finds_the_best_scale(start):
    found = tune.evidence_prior(target(GaussianPrior(start)), SAMPLER, seed=0)
    grid = torch.logspace(-1, 1.5, 400).tolist()
    best = max(grid, key=log_z)
    assert found.converged
    assert log_z(best) - log_z(found.sigma) < 0.3
    assert found.result.log_evidence == pytest.approx(
        log_z(found.sigma), abs=5 * found.result.log_evidence_error
    )


def test_slopes_are_those_of_the_evidence():
    found = tune.evidence_prior(target(GaussianPrior(1.0)), SAMPLER, seed=0, n_trials=2)
    for trial in found.trials:
        step = 1e-4
        slope = (log_z(trial.sigma * (1 + step)) - log_z(trial.sigma * (1 - step))) / (2 * step)
        assert abs(trial.slope - slope) < 5 * trial.slope_error


def test_per_layer_prior_keeps_its_kind():
    found = tune.evidence_prior(target(LayerGaussianPrior(1.0)), SAMPLER, seed=0)
    assert isinstance(found.target.prior, LayerGaussianPrior)
    assert found.sigma > 2


def test_search_stays_within_its_range_and_says_so():
    seen = []
    found = tune.evidence_prior(
        target(GaussianPrior(0.1)), SAMPLER, seed=0, high=0.3, progress=seen.append
    )
    assert not found.converged
    assert found.sigma == pytest.approx(0.3)
    assert tuple(seen) == found.trials


def test_bad_ranges_are_refused():
    with pytest.raises(InputError, match="low <= sigma <= high"):
        tune.evidence_prior(target(GaussianPrior(1.0)), SAMPLER, seed=0, low=2.0)
    with pytest.raises(InputError, match="n_trials"):
        tune.evidence_prior(target(GaussianPrior(1.0)), SAMPLER, seed=0, n_trials=0)

import pytest
import torch

from pmcnet import ais, rng
from pmcnet.ais import analytic

LOC = torch.tensor([[-2.0, 0.0], [3.0, 1.0], [0.0, 4.0]], dtype=torch.float64)
ROOT = torch.tensor([[1.5, 0.0], [0.4, 0.8]], dtype=torch.float64)
BASES = {
    "diagonal": ais.Proposals(LOC, ais.Diagonal(torch.tensor([[1.0, 2.0]]).double().repeat(3, 1))),
    "full": ais.Proposals(LOC, ais.Full(ROOT.repeat(3, 1, 1))),
}
THETA = torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture(params=BASES)
def bridge(request):
    return ais.Bridge(analytic.five_modes().target, BASES[request.param])


def test_prior_is_the_mixture(bridge):
    assert torch.allclose(bridge.log_prior(THETA), bridge.base.log_mixture(THETA, bridge.memory))


def test_ends_add_up_to_the_target(bridge):
    prior, likelihood = bridge.prior_and_score(THETA), bridge.likelihood_and_score(THETA)
    whole = bridge.target.value_and_score(THETA)
    assert torch.allclose(prior.value + likelihood.value, whole.value)
    assert torch.allclose(prior.score + likelihood.score, whole.score)
    assert torch.allclose(bridge.log_likelihood(THETA), likelihood.value)


def test_draws_are_those_of_the_mixture(bridge):
    draws = bridge.sample_prior(rng.streams(0, 0, 8), 2500).flatten(0, 1)
    covariance = bridge.base.scale.covariance[0]
    variance = (covariance if covariance.ndim == 1 else covariance.diagonal()) + LOC.var(
        0, correction=0
    )
    assert ((draws.mean(0) - LOC.mean(0)).abs() < 5 * (variance / len(draws)).sqrt()).all()
    assert torch.allclose(draws.var(0), variance, rtol=0.06)


def test_path_from_the_proposals_of_an_earlier_run():
    truth = analytic.five_modes()
    loc = 8 * torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    state = ais.run(
        ais.dm_pmc, truth.target, ais.dm_pmc.init(loc, sigma=5.0, seed=0), n_steps=3
    ).state
    result = ais.AnnealedPMC(n_particles=400).run(ais.Bridge(truth.target, state.proposals), seed=0)
    assert abs(result.log_evidence - truth.log_evidence) < 5 * result.log_evidence_error
    assert ((result.samples.mean() - truth.mean).abs() < 5 * result.mean_error()).all()

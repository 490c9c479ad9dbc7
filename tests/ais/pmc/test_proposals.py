import pytest
import torch
from torch.distributions import MultivariateNormal

from pmcnet import ais, rng
from pmcnet.ais import Diagonal, Full, Proposals


def made(structure, n_proposals=5, dim=6, dtype=torch.float64) -> Proposals:
    generator = torch.Generator().manual_seed(0)
    loc = torch.randn(n_proposals, dim, generator=generator, dtype=dtype)
    root = torch.randn(n_proposals, dim, dim, generator=generator, dtype=dtype)
    covariance = root @ root.mT + torch.eye(dim, dtype=dtype)
    if structure is Diagonal:
        covariance = covariance.diagonal(dim1=-2, dim2=-1)
    return Proposals(loc, structure.from_covariance(covariance)[0])


def reference(proposals: Proposals) -> MultivariateNormal:
    covariance = proposals.scale.covariance.double()
    covariance = covariance if isinstance(proposals.scale, Full) else torch.diag_embed(covariance)
    return MultivariateNormal(proposals.loc.double(), covariance)


@pytest.mark.parametrize("structure", [Full, Diagonal])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-3)])
@pytest.mark.parametrize("dim", [1, 2, 6, 51])
def test_densities_equal_the_textbook(structure, dtype, tolerance, dim):
    proposals = made(structure, dim=dim, dtype=dtype)
    theta = proposals.draw(rng.streams(0, 0, 5), 30)
    each = reference(proposals).log_prob(theta.double().reshape(-1, 1, dim))  # (n, M)
    own = each.reshape(5, 30, 5).diagonal(dim1=0, dim2=2).mT
    torch.testing.assert_close(proposals.log_prob(theta), own, rtol=tolerance, atol=tolerance)
    mixture = each.logsumexp(-1) - torch.tensor(5.0, dtype=torch.float64).log()
    got = proposals.log_mixture(theta.flatten(0, 1), memory=1 << 30)
    torch.testing.assert_close(got, mixture, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("structure", [Full, Diagonal])
def test_mixture_does_not_depend_on_memory(structure):
    proposals = made(structure)
    theta = proposals.draw(rng.streams(0, 0, 5), 30).flatten(0, 1)
    whole = proposals.log_mixture(theta, memory=1 << 30)
    for memory in (1, 1000, 10_000):
        torch.testing.assert_close(
            proposals.log_mixture(theta, memory), whole, rtol=1e-14, atol=1e-13
        )


@pytest.mark.parametrize("structure", [Full, Diagonal])
def test_draws_have_the_mean_and_covariance(structure):
    proposals = made(structure, n_proposals=2, dim=3)
    theta = proposals.draw(rng.streams(0, 0, 2), 100_000)
    expected = reference(proposals).covariance_matrix
    for m in range(2):
        error = expected[m].diagonal().div(100_000).sqrt()
        assert ((theta[m].mean(0) - proposals.loc[m]).abs() < 5 * error).all()
        spread = expected[m].diagonal().sqrt()
        bound = 5 * torch.outer(spread, spread) * (2 / 100_000) ** 0.5
        assert ((torch.cov(theta[m].mT) - expected[m]).abs() < bound).all()


def test_narrow_far_apart_diagonal_proposals_do_not_cancel():
    """At sigma = 1e-4 and D = 61706 the expanded square is wrong; differences are not."""
    n_proposals, n_draws, dim = 3, 2, 61706
    generator = torch.Generator().manual_seed(0)
    loc = torch.randn(n_proposals, dim, generator=generator, dtype=torch.float64)
    state = ais.pmcnet_light.init(loc, sigma=1e-4, seed=0)
    theta = state.proposals.draw(rng.streams(0, 0, n_proposals), n_draws).flatten(0, 1)
    direct = torch.stack([-0.5 * ((theta - mu) / 1e-4).square().sum(-1) for mu in loc])
    direct -= dim * (
        torch.tensor(1e-4, dtype=torch.float64).log()
        + 0.5 * torch.tensor(2 * torch.pi).double().log()
    )
    direct = direct.logsumexp(0) - torch.tensor(3.0, dtype=torch.float64).log()
    got = state.proposals.log_mixture(theta, memory=1 << 26)
    torch.testing.assert_close(got, direct, rtol=1e-8, atol=0)


def test_float32_squares_are_summed_in_float64():
    """With D = 61706 a float32 sum would be off by hundredths of a nat."""
    generator = torch.Generator().manual_seed(0)
    loc = torch.randn(2, 61706, generator=generator)
    proposals = ais.pmcnet_light.init(loc, sigma=0.01, seed=0).proposals
    theta = proposals.draw(rng.streams(0, 0, 2), 3)
    exact = Proposals(loc.double(), Diagonal(proposals.scale.sigma.double())).log_prob(
        theta.double()
    )
    torch.testing.assert_close(proposals.log_prob(theta), exact, rtol=0, atol=5e-3)

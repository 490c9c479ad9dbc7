import pytest
import torch
from torch import distributions

from pmcnet import rng
from pmcnet.bnn import MLP, GaussianPrior, LaplacePrior, LayerGaussianPrior
from pmcnet.errors import InputError

LAYOUT = MLP((4, 3, 2)).layout
THETA = torch.randn(5, LAYOUT.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SCALES = 1.7 * torch.tensor([0.5] * 12 + [1.0] * 3 + [3**-0.5] * 6 + [1.0] * 2, dtype=torch.float64)


def reference(prior):
    if isinstance(prior, LaplacePrior):
        return distributions.Laplace(0.0, 1.7 / 2**0.5)
    return distributions.Normal(0.0, SCALES if isinstance(prior, LayerGaussianPrior) else 1.7)


PRIORS = [GaussianPrior(1.7), LayerGaussianPrior(1.7), LaplacePrior(1.7)]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: type(p).__name__)
def test_log_density_is_the_sum_over_coordinates(prior):
    torch.testing.assert_close(
        prior.log_prob(THETA, LAYOUT), reference(prior).log_prob(THETA).sum(-1), rtol=1e-6, atol=0
    )


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: type(p).__name__)
def test_samples_have_the_distribution(prior):
    draws = prior.sample(rng.streams(0, 0, 4), 5000, LAYOUT, like=THETA)
    assert draws.shape == (4, 5000, LAYOUT.dim)
    flat = draws.reshape(-1, LAYOUT.dim)
    uniforms = reference(prior).cdf(flat)
    error = (1 / 12 / len(flat)) ** 0.5
    assert ((uniforms.mean(0) - 0.5).abs() < 5 * error).all()
    assert (((uniforms - 0.5).square().mean(0) - 1 / 12).abs() < 5 * (1 / 180 / len(flat)) ** 0.5).all()
    assert draws.isfinite().all()


@pytest.mark.parametrize("prior", [GaussianPrior, LayerGaussianPrior, LaplacePrior])
@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_scales_are_refused(prior, sigma):
    with pytest.raises(InputError, match="sigma must be a positive finite number"):
        prior(sigma)


@pytest.mark.parametrize("prior", [GaussianPrior(0.7), LayerGaussianPrior(1.3), LaplacePrior(0.4)])
def test_score_is_the_derivative_of_the_log_density(prior):
    layout = MLP((3, 2, 1)).layout
    theta = torch.randn(4, layout.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    (expected,) = torch.autograd.grad(prior.log_prob(theta, layout).sum(), theta)
    assert torch.allclose(prior.score(theta.detach(), layout), expected)

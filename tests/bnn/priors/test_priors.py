import math
from dataclasses import replace

import pytest
import torch
from torch import distributions

from pmcnet import rng
from pmcnet.bnn import MLP, GaussianPrior, LaplacePrior, LayerGaussianPrior, ScaleMixturePrior
from pmcnet.errors import InputError

LAYOUT = MLP((4, 3, 2)).layout
THETA = torch.randn(5, LAYOUT.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SCALES = 1.7 * torch.tensor([0.5] * 12 + [1.0] * 3 + [3**-0.5] * 6 + [1.0] * 2, dtype=torch.float64)


def mixture(wide, narrow, share):
    return distributions.MixtureSameFamily(
        distributions.Categorical(torch.tensor([share, 1 - share], dtype=torch.float64)),
        distributions.Normal(
            torch.zeros(2).double(), torch.tensor([wide, narrow], dtype=torch.float64)
        ),
    )


def reference(prior):
    if isinstance(prior, LaplacePrior):
        return distributions.Laplace(0.0, 1.7 / 2**0.5)
    if isinstance(prior, ScaleMixturePrior):
        return mixture(prior.wide, prior.narrow, prior.share)
    return distributions.Normal(0.0, SCALES if isinstance(prior, LayerGaussianPrior) else 1.7)


PRIORS = [
    GaussianPrior(1.7),
    LayerGaussianPrior(1.7),
    LaplacePrior(1.7),
    ScaleMixturePrior(1.7, 0.3, 0.05),
]


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
    assert (
        ((uniforms - 0.5).square().mean(0) - 1 / 12).abs() < 5 * (1 / 180 / len(flat)) ** 0.5
    ).all()
    assert draws.isfinite().all()


@pytest.mark.parametrize(
    "prior", [GaussianPrior, LayerGaussianPrior, LaplacePrior, ScaleMixturePrior]
)
@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_scales_are_refused(prior, sigma):
    with pytest.raises(InputError, match="sigma must be a positive finite number"):
        prior(sigma)


@pytest.mark.parametrize(
    "prior",
    [
        GaussianPrior(0.7),
        LayerGaussianPrior(1.3),
        LaplacePrior(0.4),
        ScaleMixturePrior(0.7, 0.4, 0.2),
    ],
)
def test_score_is_the_derivative_of_the_log_density(prior):
    layout = MLP((3, 2, 1)).layout
    theta = torch.randn(
        4, layout.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    ).requires_grad_()
    (expected,) = torch.autograd.grad(prior.log_prob(theta, layout).sum(), theta)
    assert torch.allclose(prior.score(theta.detach(), layout), expected)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: type(p).__name__)
def test_scale_gradient_is_the_derivative_by_log_sigma(prior):
    step = 1e-5
    above, below = (
        prior.rescaled(prior.sigma * math.exp(sign * step)).log_prob(THETA, LAYOUT)
        for sign in (1, -1)
    )
    torch.testing.assert_close(
        prior.scale_gradient(THETA, LAYOUT), (above - below) / (2 * step), rtol=1e-6, atol=1e-6
    )


def test_scale_of_a_mixture_is_its_standard_deviation():
    prior = ScaleMixturePrior.of(1.5, 0.02, share=0.25)
    assert (prior.wide, prior.narrow, prior.share) == pytest.approx((1.5, 0.02, 0.25))
    assert prior.sigma**2 == pytest.approx(float(mixture(1.5, 0.02, 0.25).variance))
    square = prior.sample(rng.streams(0, 0, 1), 20000, LAYOUT, like=THETA).square().flatten()
    assert (square.mean() - prior.sigma**2).abs() < 5 * square.std() / len(square) ** 0.5


def test_rescaled_mixture_keeps_share_and_ratio():
    prior = ScaleMixturePrior.of(1.0, math.exp(-6), share=0.75).rescaled(3.0)
    assert prior.sigma == 3.0
    assert prior.share == 0.75
    assert prior.narrow / prior.wide == pytest.approx(math.exp(-6))


def test_mixture_of_equal_scales_is_the_gaussian():
    mixed, gaussian = ScaleMixturePrior(1.7, 0.3, 1.0), GaussianPrior(1.7)
    torch.testing.assert_close(mixed.log_prob(THETA, LAYOUT), gaussian.log_prob(THETA, LAYOUT))
    torch.testing.assert_close(mixed.score(THETA, LAYOUT), gaussian.score(THETA, LAYOUT))


def test_mixture_is_finite_where_the_narrow_density_underflows():
    prior = ScaleMixturePrior.of(1.0, 1e-20)
    theta = torch.tensor([[0.0, 1e-21, 1e-3, 1.0, -30.0]])
    layout = MLP((4, 1)).layout
    expected = mixture(1.0, 1e-20, 0.5).log_prob(theta.double()).sum(-1)
    torch.testing.assert_close(prior.log_prob(theta, layout), expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(prior.score(theta, layout)[:, 2:], -theta[:, 2:])
    assert prior.score(theta, layout)[0, 1] == pytest.approx(-1e19, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "value"), [("share", 0.0), ("share", 1.0), ("ratio", 0.0), ("ratio", 2.0)]
)
def test_bad_mixtures_are_refused(name, value):
    with pytest.raises(InputError, match=f"{name}.* must lie .*; got {value}"):
        replace(ScaleMixturePrior(), **{name: value})
    with pytest.raises(InputError, match="narrow must be a positive finite number"):
        ScaleMixturePrior.of(1.0, -1.0)
    with pytest.raises(InputError, match=r"share must lie strictly between 0 and 1; got 1\.5"):
        ScaleMixturePrior.of(1.0, 0.1, share=1.5)


@pytest.mark.parametrize("prior", [GaussianPrior(0.3), LaplacePrior(0.3), ScaleMixturePrior(0.3)])
def test_priors_of_millions_are_not_rounded_to_nats(prior):
    layout = MLP((2999, 1000, 1)).layout  # 3 001 001 parameters
    theta = 0.3 * torch.randn(3, layout.dim, generator=torch.Generator().manual_seed(0))
    wrong = prior.log_prob(theta, layout) - prior.log_prob(theta.double(), layout)
    assert float(wrong.max() - wrong.min()) < 0.01

import math

import pytest
import torch
from scipy import stats
from torch import distributions

from pmcnet.bnn import Bernoulli, Categorical, Gaussian, GeneralisedGaussian, LearnedGaussian
from pmcnet.errors import InputError

GENERATOR = torch.Generator().manual_seed(0)
OUTPUT = torch.randn(3, 7, 1, generator=GENERATOR, dtype=torch.float64)
LOGITS = torch.randn(3, 7, 4, generator=GENERATOR, dtype=torch.float64)
Y = torch.randn(7, generator=GENERATOR, dtype=torch.float64)
NONE = torch.empty(3, 0, dtype=torch.float64)


def test_gaussian_is_the_normal_density():
    expected = distributions.Normal(OUTPUT[..., 0], 0.3).log_prob(Y)
    torch.testing.assert_close(Gaussian(0.3).log_prob(OUTPUT, Y, NONE), expected)


def test_learned_noise_is_a_scale_per_network():
    extra = torch.tensor([[-1.0], [0.0], [0.5]], dtype=torch.float64)
    expected = distributions.Normal(OUTPUT[..., 0], extra.exp()).log_prob(Y)
    likelihood = LearnedGaussian(-1.0, 0.7)
    torch.testing.assert_close(likelihood.log_prob(OUTPUT, Y, extra), expected)
    torch.testing.assert_close(
        likelihood.log_prior(extra), distributions.Normal(-1.0, 0.7).log_prob(extra[:, 0])
    )
    torch.testing.assert_close(likelihood.noise_variance(extra), extra[:, 0].exp().square())
    torch.testing.assert_close(likelihood.from_normal(extra), -1 + 0.7 * extra)


@pytest.mark.parametrize("rho", [0.5, 1.0, 1.5, 2.0])
def test_generalised_gaussian_is_scipys(rho):
    likelihood = GeneralisedGaussian(0.8, rho)
    expected = torch.as_tensor(
        stats.gennorm.logpdf(Y.numpy(), rho, loc=OUTPUT[..., 0].numpy(), scale=0.8)
    )
    torch.testing.assert_close(likelihood.log_prob(OUTPUT, Y, NONE), expected)
    assert float(likelihood.noise_variance(NONE)[0]) == pytest.approx(
        stats.gennorm.var(rho, scale=0.8)
    )


def test_generalised_gaussian_with_rho_2_is_gaussian():
    torch.testing.assert_close(
        GeneralisedGaussian(math.sqrt(2) * 0.3, 2.0).log_prob(OUTPUT, Y, NONE),
        Gaussian(0.3).log_prob(OUTPUT, Y, NONE),
    )


def test_bernoulli_is_the_density_of_the_logit():
    y = (Y > 0).double()
    expected = distributions.Bernoulli(logits=OUTPUT[..., 0]).log_prob(y)
    torch.testing.assert_close(Bernoulli().log_prob(OUTPUT, y, NONE), expected)
    torch.testing.assert_close(Bernoulli().mean(OUTPUT, NONE)[..., 1], OUTPUT[..., 0].sigmoid())
    torch.testing.assert_close(
        Bernoulli().mean(OUTPUT, NONE).sum(-1), torch.ones(3, 7, dtype=torch.float64)
    )


def test_categorical_is_the_density_of_the_logits():
    y = torch.tensor([0, 1, 2, 3, 0, 1, 2], dtype=torch.float64)
    expected = distributions.Categorical(logits=LOGITS).log_prob(y)
    torch.testing.assert_close(Categorical(4).log_prob(LOGITS, y, NONE), expected)
    torch.testing.assert_close(Categorical(4).mean(LOGITS, NONE), LOGITS.softmax(-1))


def test_huge_logits_stay_finite():
    huge = torch.full((1, 2, 1), 1e4, dtype=torch.float64)
    assert Bernoulli().log_prob(huge, torch.tensor([1.0, 0.0]), NONE[:1]).tolist() == [[0.0, -1e4]]
    logits = torch.tensor([[[1e4, 0.0], [1e4, 0.0]]], dtype=torch.float64)
    assert Categorical(2).log_prob(logits, torch.tensor([0, 1]), NONE[:1]).tolist() == [[0.0, -1e4]]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Gaussian(0.0), "sigma must be"),
        (lambda: LearnedGaussian(0.0, -1.0), "log_sigma_std must be"),
        (lambda: GeneralisedGaussian(0.0), "alpha must be"),
        (lambda: GeneralisedGaussian(1.0, 2.5), r"rho must lie in \(0, 2\]"),
        (lambda: Categorical(1), "n_classes must be at least 2"),
        (lambda: Gaussian(1.0).log_prob(OUTPUT, Y[:, None], NONE), r"y must be one number per row"),
    ],
)
def test_bad_likelihoods_are_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()

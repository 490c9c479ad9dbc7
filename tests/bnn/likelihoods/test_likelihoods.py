import json
import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import distributions

from pmcnet.bnn import Bernoulli, Categorical, Gaussian, GeneralisedGaussian, LearnedGaussian
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.response import Response
from pmcnet.errors import InputError
from pmcnet.io.schema import by_kind
from pmcnet.rng import stream

GENERATOR = torch.Generator().manual_seed(0)
OUTPUT = torch.randn(3, 7, 1, generator=GENERATOR, dtype=torch.float64)
LOGITS = torch.randn(3, 7, 4, generator=GENERATOR, dtype=torch.float64)
Y = torch.randn(7, generator=GENERATOR, dtype=torch.float64)
NONE = torch.empty(3, 0, dtype=torch.float64)
STORED = [Gaussian(0.3), LearnedGaussian(-1.0, 0.5), Bernoulli(), Categorical(4)]


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


@pytest.mark.parametrize(
    "likelihood",
    [Gaussian(0.3), LearnedGaussian(), *(GeneralisedGaussian(0.8, rho) for rho in (0.5, 1.0, 2.0))],
    ids=repr,
)
def test_draws_of_y_have_the_distribution_of_the_noise(likelihood):
    extra = torch.full((2, likelihood.n_extra), -0.7, dtype=torch.float64)
    output = torch.tensor([[[1.0]], [[-3.0]]], dtype=torch.float64).expand(2, 20_000, 1)
    draws = likelihood.sample(output, extra, stream(0, 0, 0))
    assert draws.shape == (2, 20_000)
    z = (draws - output[..., 0]) / likelihood.noise_variance(extra).sqrt()[:, None]
    levels = likelihood.cdf(z).flatten().numpy()
    assert stats.kstest(levels, "uniform").pvalue > 1e-4
    assert float(z.square().mean()) == pytest.approx(1, abs=5 * float(z.square().std()) / 200)


@pytest.mark.parametrize("likelihood", [Bernoulli(), Categorical(4)], ids=repr)
def test_draws_of_classes_come_by_their_probabilities(likelihood):
    logits = LOGITS[:1, :1, : likelihood.n_outputs].expand(1, 20_000, -1)
    draws = likelihood.sample(logits, NONE[:1], stream(0, 0, 0))
    share = torch.bincount(draws.long().flatten(), minlength=likelihood.n_classes) / 20_000
    expected = likelihood.mean(logits[:, 0], NONE[:1])[0]
    assert ((share - expected).abs() < 5 * (expected * (1 - expected) / 20_000).sqrt()).all()


@pytest.mark.parametrize("likelihood", STORED, ids=repr)
def test_likelihood_comes_back_from_its_stored_form(likelihood):
    plain = json.loads(json.dumps(likelihood.to_plain()))
    by_kind("likelihood", registry.stored_forms(likelihood.task))(plain, "it")
    assert registry.from_plain(plain) == likelihood


@pytest.mark.parametrize(
    ("plain", "text"),
    [
        ({"kind": "Gaussian", "sigma": 0.0}, "it.sigma must be a finite number from"),
        ({"kind": "Gaussian"}, "it has no sigma"),
        ({"kind": "Categorical", "n_classes": 3}, "no likelihood is called 'Categorical'"),
    ],
)
def test_stored_forms_that_no_likelihood_has_are_refused(plain, text):
    with pytest.raises(ValueError, match=text):
        by_kind("likelihood", registry.stored_forms("regression"))(plain, "it")


def test_noise_that_is_zero_or_infinite_cannot_be_used():
    extra = torch.tensor([[0.0], [-1000.0], [1000.0]], dtype=torch.float64)
    assert LearnedGaussian().usable(extra).tolist() == [True, False, False]
    assert Bernoulli().usable(NONE).tolist() == [True] * 3


def test_family_builds_what_the_response_needs():
    y, weight = np.array([1.0, 3.0, 5.0]), np.ones(3)
    gaussian, classes = registry.family("gaussian", "regression"), "classification"
    learned, given = Response(y, weight), Response(y, weight, noise=0.5)
    units = gaussian.units(learned)
    assert units == (3.0, pytest.approx(np.std(y)))
    assert gaussian.for_response(learned, units) == LearnedGaussian()
    assert gaussian.for_response(given, units) == Gaussian(0.5 / np.std(y))
    categorical = registry.family("categorical", classes)
    for n_classes, expected in ((2, Bernoulli()), (3, Categorical(3))):
        response = Response(y, weight, n_classes=n_classes)
        assert categorical.for_response(response, categorical.units(response)) == expected
    with pytest.raises(
        InputError, match="likelihood must be one of categorical, ordinal; got 'gaussian'"
    ):
        registry.family("gaussian", classes)

"""Quantiles of mixtures, and what posteriors hand to others."""

import math

import pytest
import torch
from scipy import stats

from pmcnet import ais
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Bernoulli,
    Gaussian,
    GeneralisedGaussian,
    LearnedGaussian,
    ParticlePosterior,
)
from pmcnet.bnn.likelihoods.mixture_quantiles import mixture_quantile, standard_quantiles
from pmcnet.errors import InputError


def quantiles(mean, deviation, weight, level):
    standard = Gaussian(1.0)
    zs = standard_quantiles([float(p) for p in level], standard)
    return torch.stack(
        [
            mixture_quantile(mean, deviation, weight, float(p), z, standard)
            for p, z in zip(level, zs, strict=True)
        ]
    )


def test_quantiles_of_one_gaussian_are_its_own():
    mean, level = torch.tensor([[1.0, -2.0]]).double(), torch.tensor([0.025, 0.5, 0.99]).double()
    found = quantiles(mean, torch.tensor([[0.5]]).double(), torch.ones(1).double(), level)
    expected = mean + 0.5 * torch.special.ndtri(level)[:, None]
    assert torch.allclose(found, expected, atol=1e-7)


def test_quantiles_invert_the_mixture():
    generator = torch.Generator().manual_seed(0)
    mean = 5 * torch.randn(7, 3, generator=generator, dtype=torch.float64)
    deviation = torch.rand(7, 1, generator=generator, dtype=torch.float64) + 0.01
    weight = torch.rand(7, generator=generator, dtype=torch.float64)
    weight /= weight.sum()
    level = torch.tensor([0.001, 0.3, 0.999]).double()
    q = quantiles(mean, deviation, weight, level)  # (3, 3)
    below = (
        weight[:, None, None] * torch.special.ndtr((q - mean[:, None]) / deviation[:, None])
    ).sum(0)
    assert torch.allclose(below, level[:, None].expand(3, 3), atol=1e-6)


@pytest.mark.parametrize("level", [1e-12, 1e-7, 1e-5, 1 - 1e-5, 1 - 1e-7])
def test_tails_are_exact_in_single_precision_too(level):
    mean = torch.randn(30, 7, generator=torch.Generator().manual_seed(0))
    deviation, weight = torch.linspace(0.5, 1, 30)[:, None], torch.full((30,), 1 / 30)
    (found,) = quantiles(mean, deviation, weight, [level])
    assert found.dtype == torch.float32
    scaled = ((found.double() - mean) / deviation).numpy()
    tail = (stats.norm.cdf(scaled) if level < 0.5 else stats.norm.sf(scaled)).mean(0)
    assert tail == pytest.approx(min(level, 1 - level), rel=1e-4)


@pytest.mark.parametrize("rho", [0.4, 1.0, 1.5, 2.0])
def test_generalised_gaussian_distribution_function(rho):
    likelihood = GeneralisedGaussian(0.7, rho)
    z = torch.linspace(-4, 4, 9, dtype=torch.float64)
    deviation = math.sqrt(float(likelihood.noise_variance(torch.zeros(1, 0).double())[0]))
    expected = stats.gennorm.cdf(z.numpy() * deviation, rho, scale=0.7)
    assert torch.allclose(likelihood.cdf(z), torch.as_tensor(expected), atol=1e-9)
    density = stats.gennorm.pdf(z.numpy() * deviation, rho, scale=0.7) * deviation
    assert torch.allclose(likelihood.pdf(z), torch.as_tensor(density), atol=1e-9)


def posterior(likelihood, n_draws=6):
    network = MLP((2, 3, 1))
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(
        n_draws, network.layout.dim + likelihood.n_extra, generator=generator, dtype=torch.float64
    )
    log_weight = torch.randn(n_draws, generator=generator, dtype=torch.float64)
    return ParticlePosterior(network, likelihood, ais.WeightedSamples(theta, log_weight))


@pytest.mark.parametrize(
    "likelihood", [Gaussian(0.4), LearnedGaussian(), GeneralisedGaussian(0.5, 0.5)]
)
def test_posterior_quantiles_do_not_depend_on_memory(likelihood):
    x = torch.randn(9, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    made = posterior(likelihood)
    small = ParticlePosterior(made.network, likelihood, made.samples, memory=1)
    assert torch.allclose(made.quantiles(x, [0.1, 0.9]), small.quantiles(x, [0.1, 0.9]), atol=1e-6)


def test_one_pass_gives_what_two_give():
    x = torch.randn(9, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    made = posterior(LearnedGaussian())
    predictive, quantiles = made.predict_with_quantiles(x, [0.2, 0.7])
    for one, other in zip(predictive, made.predict(x), strict=True):
        assert torch.allclose(one, other)
    assert torch.equal(quantiles, made.quantiles(x, [0.2, 0.7]))


def test_quantiles_are_for_regression_and_levels_inside():
    x = torch.zeros(1, 2).double()
    with pytest.raises(InputError, match="predicts classes"):
        posterior(Bernoulli()).quantiles(x, [0.5])
    with pytest.raises(InputError, match="between 0 and 1"):
        posterior(Gaussian(1.0)).quantiles(x, [0.0])


def test_thinned_posterior_keeps_evidence_and_verdict():
    made = posterior(LearnedGaussian(), 200)
    thin = made.thinned(50)
    assert thin.theta.shape[0] == 50
    assert thin.log_evidence == pytest.approx(made.log_evidence)
    assert thin.verdict == made.verdict


def test_arviz_gets_equally_weighted_draws():
    pytest.importorskip("arviz_base")
    made = posterior(LearnedGaussian())
    tree = made.to_arviz(25)
    assert tree["posterior"]["0.weight"].shape == (1, 25, 3, 2)
    assert tree["posterior"]["log_noise_std"].shape == (1, 25)
    assert tree.attrs["n_resampled"] == 25
    assert tree.attrs["n_weighted"] == 6
    assert tree.attrs["ess"] == pytest.approx(made.ess)


def test_target_of_some_rows():
    x = torch.arange(8.0).double()[:, None]
    target = BayesianTarget(
        MLP((1, 1)), Gaussian(1.0), x, x[:, 0], weight=torch.arange(8.0).double()
    )
    some = target.at(torch.tensor([3, 1]))
    assert some.x[:, 0].tolist() == [3, 1]
    assert some.weight.tolist() == [3, 1]


def test_search_that_is_cut_short_gives_what_it_has(monkeypatch):
    monkeypatch.setattr("pmcnet.bnn.likelihoods.mixture_quantiles.MOST_TRIALS", 2)
    mean = torch.tensor([[-50.0, 0.0], [50.0, 1.0]], dtype=torch.float64)
    deviation, weight = (
        torch.ones(2, 1, dtype=torch.float64),
        torch.tensor([0.3, 0.7], dtype=torch.float64),
    )
    (z,) = standard_quantiles([0.3], Gaussian(1.0))
    found = mixture_quantile(mean, deviation, weight, 0.3, z, Gaussian(1.0))
    low, high = (mean + z).amin(0), (mean + z).amax(0)
    assert ((low <= found) & (found <= high)).all()


def test_standard_quantiles_of_several_levels_are_those_of_each():
    levels = [1e-9, 0.3, 0.5, 1 - 1e-9]
    together = standard_quantiles(levels, Gaussian(1.0))
    assert together == [standard_quantiles([level], Gaussian(1.0))[0] for level in levels]
    assert together == pytest.approx(stats.norm.ppf(levels), abs=1e-6)

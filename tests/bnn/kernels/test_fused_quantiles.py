"""The compiled search for quantiles against torch's."""

import pytest
import torch

from pmcnet.bnn.kernels import fused_quantiles
from pmcnet.bnn.likelihoods.gaussian import LearnedGaussian, RowGaussian
from pmcnet.bnn.likelihoods.location_scale import Regression

pytest.importorskip("numba", reason="the compiled search needs numba")

LEVELS = (0.001, 0.05, 0.5, 0.95)


def mixture(n_components, n_rows, spread, seed=0):
    source = torch.Generator().manual_seed(seed)
    output = spread * torch.randn(n_components, n_rows, 1, generator=source)
    extra = torch.randn(n_components, 1, generator=source) - 2
    weight = torch.rand(n_components, generator=source).double()
    return output, extra, weight / weight.sum()


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("n_rows", [20_001, 20_032])
def test_quantiles_are_those_of_torch(spread, n_rows):
    likelihood, (output, extra, weight) = LearnedGaussian(), mixture(50, n_rows, spread)
    assert fused_quantiles.applies(output[..., 0], likelihood.deviation(output, extra), LEVELS)
    found = likelihood.quantiles(output, extra, weight, LEVELS)
    expected = Regression.quantiles(likelihood, output, extra, weight, LEVELS)
    assert found.shape == (n_rows, 4)
    variance = output[..., 0].var(0) + likelihood.noise_variance(extra).mean()
    assert ((found - expected).abs() < 1e-4 * variance.sqrt()[:, None]).all()


def test_noise_by_row_is_that_of_each_row():
    likelihood, (output, extra, weight) = RowGaussian(), mixture(50, 20_001, 1.0)
    output = torch.cat([output, output.roll(7, 1)], -1)
    assert fused_quantiles.applies(output[..., 0], likelihood.deviation(output, extra), LEVELS)
    found = likelihood.quantiles(output, extra, weight, LEVELS)
    expected = Regression.quantiles(likelihood, output, extra, weight, LEVELS)
    spread = (weight.float() @ likelihood.aleatoric(output, output, extra)).sqrt()
    assert ((found - expected).abs() < 1e-4 * (1 + spread)[:, None]).all()
    later = likelihood.quantiles(output[:, 1000:], extra, weight, LEVELS)
    assert torch.equal(found[1000:], later)


def test_levels_are_met():
    likelihood, (output, extra, weight) = LearnedGaussian(), mixture(50, 20_000, 5.0)
    found = likelihood.quantiles(output, extra, weight, LEVELS).double()
    mean, deviation = output[..., 0].double(), likelihood.deviation(output, extra).double()
    for k, level in enumerate(LEVELS):
        reached = weight @ likelihood.cdf((found[:, k] - mean) / deviation)
        assert (reached - level).abs().max() < 0.011 * min(level, 1 - level) + 1e-5


def test_rows_do_not_depend_on_each_other():
    likelihood, (output, extra, weight) = LearnedGaussian(), mixture(50, 25_000, 1.0)
    found = likelihood.quantiles(output, extra, weight, LEVELS)
    later = likelihood.quantiles(output[:, 3000:], extra, weight, LEVELS)
    assert torch.equal(found[3000:], later)


def test_tails_and_small_tables_are_left_to_torch():
    output, extra, _ = mixture(50, 20_000, 1.0)
    deviation = LearnedGaussian().deviation(output, extra)
    assert not fused_quantiles.applies(output[..., 0], deviation, (1e-6,))
    assert not fused_quantiles.applies(output[:, :100, 0], deviation, LEVELS)
    assert not fused_quantiles.applies(output[..., 0].double(), deviation.double(), LEVELS)


def test_subclasses_with_another_distribution_are_left_to_torch():
    class Logistic(LearnedGaussian):
        def cdf(self, z):
            return (1.7 * z).sigmoid()

        def pdf(self, z):
            return 1.7 * self.cdf(z) * (1 - self.cdf(z))

    likelihood, (output, extra, weight) = Logistic(), mixture(50, 20_000, 1.0)
    found = likelihood.quantiles(output, extra, weight, LEVELS)
    assert torch.equal(found, Regression.quantiles(likelihood, output, extra, weight, LEVELS))

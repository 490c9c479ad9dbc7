import math

import pytest
import torch

from pmcnet.ais import WeightedSamples
from pmcnet.errors import DegenerateWeightsError, InputError


@pytest.fixture
def samples():
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(4, 50, 3, generator=generator, dtype=torch.float64)
    return WeightedSamples(
        theta, torch.randn(4, 50, generator=generator, dtype=torch.float64) * 2 - 1000
    )


def test_weights_sum_to_one(samples):
    assert math.isclose(float(samples.weight.sum()), 1.0)


def test_moments_are_weighted(samples):
    weight, theta = samples.weight.flatten(), samples.theta.reshape(-1, 3)
    torch.testing.assert_close(samples.mean(), (weight[:, None] * theta).sum(0))
    torch.testing.assert_close(
        samples.covariance(), torch.cov(theta.mT, aweights=weight, correction=0)
    )


def test_mean_error_of_equal_weights_is_the_usual_one():
    theta = torch.randn(1000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    samples = WeightedSamples(theta, torch.zeros(1000, dtype=torch.float64))
    torch.testing.assert_close(samples.mean_error(), theta.std(0, correction=0) / 1000**0.5)


def test_summary_numbers_are_plain_floats(samples):
    for name in ("ess", "max_weight", "khat", "log_evidence", "log_evidence_error"):
        assert type(getattr(samples, name)) is float
    assert samples.n_draws == 200


def test_resample_follows_the_weights_and_the_seed(samples):
    draws = samples.resample(20_000, seed=1)
    assert torch.equal(draws, samples.resample(20_000, seed=1))
    assert not torch.equal(draws, samples.resample(20_000, seed=2))
    spread = samples.covariance().diagonal().div(20_000).sqrt()
    assert ((draws.mean(0) - samples.mean()).abs() < 5 * spread).all()


def test_all_weights_zero_is_an_error_and_not_uniform(samples):
    empty = WeightedSamples(samples.theta, torch.full_like(samples.log_weight, -math.inf))
    for use in (
        lambda: empty.weight,
        empty.mean,
        empty.covariance,
        empty.mean_error,
        lambda: empty.resample(3, 0),
    ):
        with pytest.raises(DegenerateWeightsError, match="all 200 weights are zero"):
            use()
    assert empty.log_evidence == -math.inf
    assert empty.ess == 0
    assert empty.verdict.status == "degenerate"


def test_resample_needs_a_count(samples):
    with pytest.raises(InputError, match="n must be at least 1"):
        samples.resample(0, seed=0)

import math

import numpy as np
import pytest
import sklearn.metrics as sk
import torch
from hypothesis import given
from hypothesis import strategies as st

from pmcnet import metrics
from pmcnet.errors import InputError

LEADS = [(), (4,), (2, 3)]
DTYPES = [torch.float32, torch.float64]


def random_draws(n_draws=50, n_rows=7, seed=0, dtype=torch.float64, ties=False):
    """Draws (S, N), truth (N,) and normalised weights (S,), some of them zero."""
    generator = torch.Generator().manual_seed(seed)
    samples = torch.randn(n_draws, n_rows, generator=generator, dtype=torch.float64) * 2
    y = torch.randn(n_rows, generator=generator, dtype=torch.float64)
    weight = torch.rand(n_draws, generator=generator, dtype=torch.float64) ** 4
    weight[torch.rand(n_draws, generator=generator) < 0.2] = 0
    weight[0] += 0.1
    if ties:
        samples, y = samples.round(), y.round()
    return samples.to(dtype), y.to(dtype), (weight / weight.sum()).to(dtype)


def crps_over_pairs(samples, y, weight):
    """E|X - y| - E|X - X'| / 2 as written, O(S^2)."""
    distance = (weight[:, None] * (samples - y).abs()).sum(0)
    pairs = (samples[:, None] - samples).abs()  # (S, S, N)
    spread = torch.einsum("i,j,ijn->n", weight, weight, pairs) / 2
    return float((distance - spread).mean())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", LEADS)
def test_errors_equal_sklearn(lead, dtype):
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(*lead, 30, generator=generator, dtype=dtype)
    y = torch.randn(30, generator=generator, dtype=dtype)
    for metric, reference in [
        (metrics.mse, sk.mean_squared_error),
        (metrics.rmse, sk.root_mean_squared_error),
    ]:
        value = metric(mean, y)
        assert value.shape == lead
        assert value.dtype == dtype
        expected = [reference(y.numpy(), m.numpy()) for m in mean.reshape(-1, 30)]
        torch.testing.assert_close(value, torch.tensor(expected, dtype=dtype).reshape(lead))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_quantiles_equal_numpy_with_weights(dtype, ties):
    samples, _, weight = random_draws(ties=ties, dtype=dtype)
    levels = [0.013, 0.25, 0.5, 0.77, 0.991]
    value = metrics.quantiles(samples, levels, weight)
    assert value.dtype == dtype
    expected = np.quantile(
        samples.double().numpy(),
        levels,
        axis=0,
        weights=weight.double().numpy(),
        method="inverted_cdf",
    )
    torch.testing.assert_close(value, torch.as_tensor(expected).to(dtype))


@pytest.mark.parametrize("n_draws", [1, 2, 10, 1000])
def test_quantiles_without_weights_equal_numpy_and_equal_weights(n_draws):
    """Levels k / S are where rounding could move to the next draw."""
    samples, _, _ = random_draws(n_draws)
    levels = torch.arange(n_draws + 1, dtype=torch.float64) / n_draws
    value = metrics.quantiles(samples, levels)
    expected = np.sort(samples.numpy(), axis=0)[np.maximum(np.arange(n_draws + 1) - 1, 0)]
    assert value.shape == (n_draws + 1, 7)
    assert (value.numpy() == expected).all()
    equal = torch.full((n_draws,), 1 / n_draws, dtype=torch.float64)
    assert torch.equal(metrics.quantiles(samples, levels, equal), value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quantiles_of_one_hot_weights_are_that_draw(dtype):
    samples, _, _ = random_draws(dtype=dtype)
    for draw in (0, 17, 49):
        weight = torch.zeros(50, dtype=dtype)
        weight[draw] = 1
        value = metrics.quantiles(samples, [0.0, 0.1, 0.5, 1.0], weight)
        assert torch.equal(value, samples[draw].expand(4, -1))


def test_extreme_quantiles_are_draws_that_have_weight():
    samples, _, weight = random_draws()
    value = metrics.quantiles(samples, [0.0, 1.0], weight)
    alive = samples[weight > 0]
    assert torch.equal(value, torch.stack([alive.amin(0), alive.amax(0)]))


@given(seed=st.integers(0, 10_000), n_draws=st.integers(1, 30))
def test_quantiles_with_weights_in_twelfths_equal_repeated_draws(seed, n_draws):
    samples, _, _ = random_draws(n_draws, seed=seed, ties=True)
    counts = torch.randint(0, 4, (n_draws,), generator=torch.Generator().manual_seed(seed))
    counts[0] += 1
    levels = torch.linspace(0, 1, 13, dtype=torch.float64)
    repeated = metrics.quantiles(samples.repeat_interleave(counts, 0), levels)
    assert torch.equal(metrics.quantiles(samples, levels, counts.double() / counts.sum()), repeated)


def test_interval_is_two_quantiles():
    samples, _, weight = random_draws()
    value = metrics.interval(samples, 0.9, weight)
    assert value.shape == (2, 7)
    torch.testing.assert_close(value, metrics.quantiles(samples, [0.05, 0.95], weight))
    assert (value[0] <= value[1]).all()


def test_coverage_counts_rows_inside_and_on_the_ends():
    bounds = torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    assert float(metrics.coverage(bounds, torch.tensor([0.0, 1.0, 0.5, 1.1]))) == 0.75


def test_coverage_of_the_true_distribution_is_nominal():
    generator = torch.Generator().manual_seed(0)
    n_rows = 4000
    location = torch.randn(n_rows, generator=generator) * 10
    samples = location + torch.randn(2000, n_rows, generator=generator)
    y = location + torch.randn(n_rows, generator=generator)
    share = float(metrics.coverage(metrics.interval(samples, 0.8), y))
    assert abs(share - 0.8) < 5 * math.sqrt(0.8 * 0.2 / n_rows)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_crps_equals_the_sum_over_pairs(dtype, ties):
    samples, y, weight = random_draws(ties=ties, dtype=dtype)
    value = metrics.crps(samples, y, weight)
    assert value.dtype == dtype
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    assert float(value) == pytest.approx(crps_over_pairs(samples, y, weight), rel=tolerance)
    equal = torch.full((50,), 1 / 50, dtype=dtype)
    assert float(metrics.crps(samples, y)) == pytest.approx(
        crps_over_pairs(samples, y, equal), rel=tolerance
    )


def test_crps_equals_the_integral():
    samples, y, weight = random_draws(n_rows=1)
    x = torch.linspace(-12, 12, 400_001, dtype=torch.float64)
    ordered, order = samples[:, 0].sort()
    cdf = torch.cat([torch.zeros(1), weight[order].cumsum(0)])[
        torch.searchsorted(ordered, x, right=True)
    ]
    integral = torch.trapezoid((cdf - (y <= x).double()).square(), x)
    assert float(metrics.crps(samples, y, weight)) == pytest.approx(float(integral), abs=1e-3)


def test_crps_of_one_hot_weights_is_the_absolute_error():
    samples, y, _ = random_draws()
    weight = torch.zeros(50, dtype=torch.float64)
    weight[3] = 1
    expected = float((samples[3] - y).abs().mean())
    assert float(metrics.crps(samples, y, weight)) == pytest.approx(expected)
    assert float(metrics.crps(samples[3:4], y)) == pytest.approx(expected)


def test_crps_of_gaussian_draws_approaches_the_closed_form():
    """For N(0, 1) and y = 0 it is (sqrt 2 - 1) / sqrt pi."""
    samples = torch.randn(
        200_000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    value = float(metrics.crps(samples, torch.zeros(1, dtype=torch.float64)))
    assert value == pytest.approx((math.sqrt(2) - 1) / math.sqrt(math.pi), abs=5e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_predictive_density_equals_the_sum_of_densities(dtype):
    samples, y, weight = random_draws(dtype=dtype)
    log_prob = -0.5 * (samples - y).square()
    value = metrics.log_predictive_density(log_prob, weight.log())
    assert value.dtype == dtype
    torch.testing.assert_close(value, (weight @ log_prob.exp()).log().mean())
    torch.testing.assert_close(
        metrics.log_predictive_density(log_prob), log_prob.exp().mean(0).log().mean()
    )


def test_log_predictive_density_does_not_underflow():
    value = metrics.log_predictive_density(
        torch.full((4, 3), -5000.0), torch.full((4,), 0.25).log()
    )
    assert float(value) == pytest.approx(-5000.0)


def test_device_does_not_matter(device):
    samples, y, weight = random_draws()
    there = [t.to(device) for t in (samples, y, weight)]
    torch.testing.assert_close(metrics.crps(*there).cpu(), metrics.crps(samples, y, weight))
    bounds = metrics.interval(there[0], 0.9, there[2])
    torch.testing.assert_close(bounds.cpu(), metrics.interval(samples, 0.9, weight))
    torch.testing.assert_close(
        metrics.coverage(bounds, there[1]).cpu(), metrics.coverage(bounds.cpu(), y)
    )


def test_column_of_predictions_is_refused():
    with pytest.raises(InputError, match=r"squeeze\(-1\)"):
        metrics.mse(torch.zeros(5, 1), torch.zeros(5))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (torch.ones(50), r"sum to 50. Use log_weight.softmax\(0\)"),
        (torch.full((50,), -1 / 50), "must be normalised"),
        (torch.full((50,), math.nan), "must be normalised"),
        (torch.full((50, 1), 1 / 50), r"must be \(50,\)"),
    ],
)
def test_wrong_weights_say_what_to_do(weight, message):
    samples, y, _ = random_draws()
    with pytest.raises(InputError, match=message):
        metrics.crps(samples, y, weight)


def test_unnormalised_log_weights_are_refused():
    with pytest.raises(InputError, match=r"log_softmax\(0\)"):
        metrics.log_predictive_density(torch.zeros(3, 2), torch.zeros(3))


def test_diverged_draws_are_refused():
    samples, y, _ = random_draws()
    samples[3, 2] = math.nan
    with pytest.raises(InputError, match="not-a-number"):
        metrics.crps(samples, y)


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.quantiles(torch.zeros(5), [0.5]),
        lambda: metrics.quantiles(torch.zeros(5, 2), [1.5]),
        lambda: metrics.quantiles(torch.zeros(5, 2), torch.tensor(0.5)),
        lambda: metrics.interval(torch.zeros(5, 2), 95),
        lambda: metrics.coverage(torch.zeros(3, 4), torch.zeros(4)),
    ],
)
def test_wrong_shapes_and_levels_are_refused(call):
    with pytest.raises(InputError):
        call()

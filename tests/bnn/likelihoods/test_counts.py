"""Poisson and negative binomial counts: densities, gradients, draws, quantiles and estimators."""

import json
import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import simpson

from pmcnet import PMCNetRegressor, ais
from pmcnet.ais.verdict import max_chain_drift
from pmcnet.bnn import MLP, BayesianTarget, NegativeBinomial, Poisson
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.count_densities import CountRows
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.bnn.likelihoods.stirling import remainder, remainder_gradient
from pmcnet.errors import InputError
from pmcnet.io.schema import by_kind
from pmcnet.rng import stream

FIVE = max_chain_drift(8) * 1.5
"""Standard errors from eight islands that a mean exceeds once in 50 000."""
MEMBERS = [Poisson(), Poisson(6.0, 0.2), NegativeBinomial(), NegativeBinomial(6.0, 0.2, 4.0, 3.0)]
NAMES = ["poisson", "negative-binomial"]
LOG_R = torch.tensor([[-4.0], [0.5], [2.0], [7.0], [15.0]], dtype=torch.float64)
ROWS = torch.tensor([0.0, 0.0, 1.0, 2.0, 5.0, 17.0, 230.0, 1500.0])


def extra_of(likelihood, log_r=LOG_R):
    return log_r[:, : likelihood.n_extra]


def outputs(n_rows, seed=0):
    source = torch.Generator().manual_seed(seed)
    return 1.5 * torch.randn(len(LOG_R), n_rows, 1, generator=source, dtype=torch.float64)


def known(likelihood, mean, log_r=LOG_R):
    """The distributions by SciPy, with means (P, N) and log r (P, 1)."""
    if not likelihood.n_extra:
        return stats.poisson(mean)
    r = np.exp(log_r.numpy())
    return stats.nbinom(r, r / (r + mean))


def with_exposure(y):
    """Counts, and exposures from .2 to 30."""
    return torch.stack([y, torch.linspace(-1.6, 3.4, len(y), dtype=y.dtype).exp()], 1)


@pytest.mark.parametrize("exposed", [False, True])
@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_density_and_distribution_function_are_scipys(likelihood, exposed):
    y, output = ROWS.double(), outputs(len(ROWS))
    rate = np.exp(likelihood.centre + likelihood.spread * output[..., 0].numpy())
    data = with_exposure(y) if exposed else y
    expected = known(likelihood, rate * (data[:, 1].numpy() if exposed else 1.0))
    extra = extra_of(likelihood)
    found = likelihood.log_prob(output, data, extra).numpy()
    # SciPy loses r / (r + mu) where r is large
    assert np.allclose(found, expected.logpmf(y.numpy()), rtol=1e-7, atol=1e-8)
    cumulative = likelihood.cumulative(output, data, extra).numpy()
    assert np.allclose(cumulative, expected.cdf(y.numpy()), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_probabilities_sum_to_one_and_have_the_stated_moments(likelihood):
    output, extra = outputs(1)[:, :, 0], extra_of(likelihood)
    y = torch.arange(20_000.0, dtype=torch.float64)
    each = likelihood.log_prob(output[..., None].expand(-1, len(y), 1), y, extra).exp()
    mean = likelihood.mean(output[..., None], extra)
    variance = likelihood.aleatoric(mean, output[..., None], extra)[:, 0]
    sure = slice(1, None)  # r = exp(-4) has a tail beyond
    torch.testing.assert_close(each.sum(1)[sure], torch.ones(4, dtype=torch.float64))
    torch.testing.assert_close((each @ y)[sure], mean[sure, 0, 0])
    torch.testing.assert_close((each @ y.square() - (each @ y).square())[sure], variance[sure])


@pytest.mark.parametrize("exposed", [False, True])
@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_gradients_are_those_of_automatic_differentiation(likelihood, exposed):
    data = with_exposure(ROWS.double()) if exposed else ROWS.double()
    output, extra = outputs(len(ROWS)), extra_of(likelihood)
    leaves = [part.clone().requires_grad_() for part in (output, extra)]
    log_prob = likelihood.log_prob(leaves[0], data, leaves[1])
    by_output, by_extra = torch.autograd.grad(
        log_prob.sum(), leaves, allow_unused=True, materialize_grads=True
    )
    found = likelihood.gradients(output, data, extra)
    torch.testing.assert_close(found.log_prob, log_prob.detach())
    torch.testing.assert_close(found.output, by_output)
    torch.testing.assert_close(found.extra.sum(1), by_extra, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_single_precision_is_near_double(likelihood):
    output, extra = 0.3 * outputs(len(ROWS)), extra_of(likelihood)
    exact = likelihood.gradients(output, ROWS.double(), extra)
    for single, double in zip(
        likelihood.gradients(output.float(), ROWS, extra.float()), exact, strict=True
    ):
        torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("likelihood", [Poisson(13.8, 0.1), NegativeBinomial(13.8, 0.1, 9.0, 5.0)])
def test_counts_of_millions_keep_their_digits_in_single_precision(likelihood):
    """y log mu - mu - log y! of a million in plain single precision is off by 1."""
    y, output = torch.tensor([999_000.0, 1_001_500.0]), torch.zeros(2, 2, 1)
    extra = extra_of(likelihood, torch.tensor([[3.0], [16.0]]))
    exact = likelihood.log_prob(output.double(), y.double(), extra.double())
    single = likelihood.log_prob(output, y, extra)
    torch.testing.assert_close(single.double(), exact, rtol=0, atol=0.01)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_diverged_networks_have_no_nan_and_finite_gradients(likelihood, dtype):
    far = torch.tensor([-math.inf, -1e38, -1e3, -60.0, 0.0, 60.0, 1e3, 1e38, math.inf])
    log_r = torch.tensor([[-1e30], [-29.0], [0.0], [29.0], [1e30]])
    output = far.to(dtype)[None, :, None].expand(len(log_r), len(far), 1)
    for count in (0.0, 1.0, 1000.0, 1e15):
        y = torch.full((len(far),), count, dtype=dtype)
        found = likelihood.gradients(output, y, extra_of(likelihood, log_r).to(dtype))
        assert not found.log_prob.isnan().any()
        assert (found.log_prob < 1e-3).all()
        assert found.output.isfinite().all()
        assert found.extra.isfinite().all()


def test_negative_binomial_is_poisson_where_r_is_large():
    output, log_r = outputs(len(ROWS)), torch.full((len(LOG_R), 1), 29.0).double()
    none = log_r[:, :0]
    found = NegativeBinomial().gradients(output, ROWS.double(), log_r)
    expected = Poisson().gradients(output, ROWS.double(), none)
    torch.testing.assert_close(found.log_prob, expected.log_prob, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found.output, expected.output, rtol=1e-6, atol=1e-6)
    assert found.extra.abs().max() < 1e-3
    cumulative = [
        likelihood.cumulative(output, ROWS.double(), extra)
        for likelihood, extra in ((NegativeBinomial(), log_r), (Poisson(), none))
    ]
    torch.testing.assert_close(*cumulative, rtol=1e-6, atol=1e-9)


def test_stirlings_remainder_joins_its_series():
    x = torch.linspace(0.05, 40, 4000, dtype=torch.float64).requires_grad_()
    exact = x.lgamma() - (x - 0.5) * x.log() + x - 0.5 * math.log(2 * math.pi)
    torch.testing.assert_close(remainder(x), exact, rtol=1e-9, atol=1e-11)
    (gradient,) = torch.autograd.grad(remainder(x).sum(), x)
    torch.testing.assert_close(remainder_gradient(x.detach()), gradient, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_draws_have_the_moments_and_frequencies_of_the_distribution(likelihood):
    n = 40_000
    log_r, output = torch.tensor([[0.5], [2.0]]).double(), torch.tensor([[[0.4]], [[-0.5]]])
    extra, output = extra_of(likelihood, log_r), output.double().expand(2, n, 1)
    draws = likelihood.sample(output, extra, stream(0, 0, 0))
    assert draws.shape == (2, n)
    assert draws.dtype == torch.float64
    assert (draws == draws.floor()).all()
    mean = likelihood.mean(output[:, :1], extra)
    variance = likelihood.aleatoric(mean, output[:, :1], extra)[:, 0]
    off = (draws.mean(1) - mean[:, 0, 0]) / (variance / n).sqrt()
    assert off.abs().max() < 5
    square = (draws - mean[..., 0]).square()
    assert ((square.mean(1) - variance).abs() < 5 * square.std(1) / math.sqrt(n)).all()
    for count in (0.0, 1.0, 3.0, 300.0, 450.0):
        y = torch.full((1,), count, dtype=torch.float64)
        p = likelihood.cumulative(output[:, :1], y, extra)[:, 0]
        share = (draws <= count).double().mean(1)
        assert ((share - p).abs() <= 5 * (p * (1 - p) / n).sqrt() + 1e-9).all()


def test_draws_with_vast_means_are_rounded_normal_numbers():
    output = torch.full((1, 20_000, 1), 36.0, dtype=torch.float64)
    draws = Poisson().sample(output, torch.empty(1, 0), stream(0, 0, 0))
    z = (draws - math.exp(36)) / math.exp(18)
    assert abs(float(z.mean())) < 5 / math.sqrt(20_000)
    assert abs(float(z.var()) - 1) < 5 * math.sqrt(2 / 20_000)


def smallest(likelihood, output, extra, weight, level, most):
    """By trying every count."""
    reached = [
        weight @ likelihood.cumulative(output, torch.full((output.shape[1],), float(q)), extra)
        for q in range(most)
    ]
    return (torch.stack(reached) >= level).double().argmax(0)


@pytest.mark.parametrize("centre", [-2.0, 0.5, 4.0])
@pytest.mark.parametrize("likelihood", [Poisson, NegativeBinomial])
def test_quantiles_are_the_smallest_counts_that_reach_the_level(likelihood, centre):
    source = torch.Generator().manual_seed(1)
    member = likelihood(centre, 0.6)
    output = torch.randn(9, 12, 1, generator=source, dtype=torch.float64)
    extra = extra_of(member, 1 + torch.randn(9, 1, generator=source, dtype=torch.float64))
    weight = torch.rand(9, generator=source, dtype=torch.float64)
    weight[0] = 0.0
    weight, levels = weight / weight.sum(), [0.001, 0.05, 0.5, 0.975]
    found = member.quantiles(output, extra, weight, levels)  # (N, Q)
    for column, level in enumerate(levels):
        expected = smallest(member, output, extra, weight, level, 4000)
        assert (found[:, column] == expected).all()


@pytest.mark.parametrize("level", [1e-6, 0.3, 1 - 1e-6])
@pytest.mark.parametrize("likelihood", [Poisson(9.0, 1.0), NegativeBinomial(9.0, 1.0)])
def test_quantiles_of_a_mixture_that_is_far_apart_reach_the_level_and_not_before(likelihood, level):
    output = torch.tensor([[-40.0], [-8.0], [0.0], [0.2], [25.0]]).double()[..., None]
    extra = extra_of(likelihood, LOG_R)
    weight = torch.tensor([0.2, 0.3, 0.3, 0.199, 0.001], dtype=torch.float64)
    q = likelihood.quantiles(output, extra, weight, [level])[0]
    assert float(weight @ likelihood.cumulative(output, q, extra)) >= level
    assert float(weight @ likelihood.cumulative(output, q - 1, extra)) < level


def test_networks_that_overflow_have_infinite_means_and_quantiles():
    output = torch.tensor([[[math.nan]], [[1.0]]])
    weight, none = torch.tensor([0.5, 0.5]), torch.empty(2, 0)
    assert Poisson().quantiles(output, none, weight, [0.5]).isinf().all()
    infinite = torch.tensor([[[math.inf]], [[-math.inf]]])
    assert Poisson().mean(infinite, none).isinf().all()
    extra = torch.tensor([[0.0], [math.nan], [-math.inf]])
    assert NegativeBinomial().usable(extra).tolist() == [True, False, False]


def test_nothing_lies_below_zero_and_counts_are_rounded_down():
    output, none = torch.zeros(1, 3, 1), torch.empty(1, 0)
    found = Poisson().cumulative(output, torch.tensor([-0.5, 0.0, 0.9]), none)
    expected = torch.tensor([[0.0, math.exp(-1), math.exp(-1)]])
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_likelihood_comes_back_from_its_stored_form(likelihood):
    plain = json.loads(json.dumps(likelihood.to_plain()))
    by_kind("likelihood", registry.stored_forms("regression"))(plain, "it")
    assert registry.from_plain(plain) == likelihood


@pytest.mark.parametrize("name", NAMES)
def test_an_output_of_zero_is_the_mean_count(name):
    members = registry.family(name, "regression")
    y, weight = np.array([0.0, 3.0, 8.0, 1.0]), np.array([1.0, 2.0, 1.0, 4.0])
    member = members.for_response(Response(y, weight), members.units(Response(y, weight)))
    mean = float(weight @ y) / 8
    variance = float(weight @ np.square(y - mean)) / 8
    assert member.centre == pytest.approx(math.log(mean))
    assert member.spread == pytest.approx(math.sqrt(math.log1p(variance / mean**2)))
    exposure = np.array([2.0, 3.0, 4.0, 0.5])
    pair = Response(np.column_stack([y, exposure]), weight)
    member = members.for_response(pair, Units())
    assert member.centre == pytest.approx(math.log((weight @ y) / (weight @ exposure)))


def test_spread_is_at_least_that_of_poisson_noise():
    member = Poisson.for_response(Response(np.full(6, 4.0), np.ones(6)), Units())
    assert member.spread == pytest.approx(math.sqrt(math.log1p(1 / 4)))


@pytest.mark.parametrize("name", NAMES)
def test_zeros_alone_have_a_small_rate(name):
    members = registry.family(name, "regression")
    member = members.for_response(Response(np.zeros(50), np.full(50, 3.0)), Units())
    assert member.centre == pytest.approx(math.log(0.5 / 50))
    assert math.isfinite(member.spread)


def test_prior_of_r_goes_from_many_zeros_to_poisson_noise():
    y = np.array([100.0, 300.0])
    member = NegativeBinomial.for_response(Response(y, np.ones(2)), Units())
    low, high = (member.log_r_mean + sign * 2 * member.log_r_std for sign in (-1, 1))
    assert math.exp(low) == pytest.approx(0.1)
    assert 200 / math.exp(high) == pytest.approx(0.01)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("y", "noise", "words"),
    [
        ([1.0, -2.0], "learn", r"whole numbers from 0 to 1e\+15; got -2.*use likelihood gaussian"),
        ([0.5, 2.0], "learn", r"y must hold counts.*got 0.5"),
        ([1e16, 2.0], "learn", r"y must hold counts.*got 1e\+16"),
        ([[1.0, 1.0], [2.0, 0.0]], "learn", r"exposure must be positive.*got 0.*drop that row"),
        ([[1.0, 1.0, 1.0]], "learn", r"counts and exposures, \(n_rows, 2\); got \(1, 3\)"),
        ([1.0, 2.0], "by-row", r"noise must be learn; got 'by-row'. Leave noise out"),
        ([1.0, 2.0], 0.3, r"noise must be learn; got 0.3"),
    ],
)
def test_responses_that_are_no_counts_are_refused(name, y, noise, words):
    y = np.array(y)
    response = Response(y, np.ones(len(y)), noise=noise)
    with pytest.raises(InputError, match=words):
        registry.family(name, "regression").for_response(response, Units())


def test_targets_that_are_no_counts_are_refused_by_their_rows():
    with pytest.raises(InputError, match=r"got 1.5 in row 3"):
        Poisson.targets(np.array([0.0, 1.0, 1.5]), Units())
    with pytest.raises(InputError, match=r"got nan in row 1"):
        Poisson.targets(np.array([math.nan]), Units())
    pair = np.array([[1.0, 2.0], [2.0, -1.0]])
    with pytest.raises(InputError, match=r"exposure must be positive.*got -1 in row 2"):
        Poisson.targets(pair, Units())
    assert (Poisson.targets(pair[:1], Units()) == pair[:1]).all()
    with pytest.raises(InputError, match=r"one count per row"):
        CountRows.of(torch.zeros(1, 1), 0.0, torch.zeros(1, 3))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Poisson(100.0), "centre must lie between -46 and 46; got 100"),
        (lambda: Poisson(spread=0.0), "spread must lie between"),
        (lambda: NegativeBinomial(log_r_std=0.0), "log_r_std be positive"),
        (lambda: NegativeBinomial(log_r_mean=50.0), "log_r_mean must lie within"),
    ],
)
def test_bad_settings_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def table(n=60):
    """Counts whose rate grows with the first feature, with gamma noise on the rate."""
    source = np.random.default_rng(1)
    x = source.normal(size=(n, 2))
    rate = np.exp(1 + 0.8 * x[:, 0]) * source.gamma(5.0, 0.2, size=n)
    return x, source.poisson(rate).astype(float)


def fitted(name, x, y, **settings):
    options = {"n_islands": 4, "n_particles": 16}
    model = PMCNetRegressor(
        (2,),
        method="annealed",
        likelihood=name,
        device="cpu",
        method_options=options,
        prior_std=1.0,
        random_state=0,
        **settings,
    )
    return model.fit(x, y)


@pytest.mark.parametrize("name", NAMES)
def test_estimator_predicts_counts_samples_and_comes_back_from_a_file(name, tmp_path):
    x, y = table()
    model = fitted(name, x, y)
    assert type(model.posterior_.likelihood) is registry.family(name, "regression")
    mean, std = model.predict(x, return_std=True)
    assert (mean > 0).all()
    assert np.corrcoef(mean, y)[0, 1] > 0.6
    interval = model.predict_interval(x, 0.9)
    assert (interval == interval.round()).all()
    assert ((interval[:, 0] <= y) & (y <= interval[:, 1])).mean() > 0.8
    drawn = model.sample_y(x, 4000, random_state=1)
    assert (drawn == drawn.round()).all()
    off = (drawn.mean(1) - mean) / (std / math.sqrt(4000))
    assert np.abs(off).max() < 5
    below = (drawn < interval[:, :1]).mean(1)
    inside = (drawn <= interval[:, 1:]).mean(1)
    error = 5 * math.sqrt(0.05 * 0.95 / 4000)
    assert below.max() < 0.05 + error
    assert inside.min() > 0.95 - error
    total = np.exp([model.log_predictive(x[:1], [float(q)])[0] for q in range(200)]).sum()
    assert total == pytest.approx(1, abs=1e-4)
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m"))
    assert loaded.posterior_.likelihood == model.posterior_.likelihood
    assert (loaded.predict_interval(x, 0.9) == interval).all()
    assert (loaded.sample_y(x, 3) == model.sample_y(x, 3)).all()


def test_estimator_refuses_what_is_no_count():
    x, y = table(20)
    y[4] = 2.5
    with pytest.raises(InputError, match=r"y must hold counts.*got 2.5 in row 5"):
        fitted("poisson", x, y)
    with pytest.raises(InputError, match=r"noise must be learn; got 0.5"):
        fitted("poisson", *table(20), noise=0.5)


def bias_only(likelihood, y):
    """A network on inputs of 0, so that the data determine its bias alone."""
    x = torch.zeros(len(y), 1, dtype=torch.float64)
    return BayesianTarget(MLP((1, 1)), likelihood, x, y)


def exposed_counts():
    source = np.random.default_rng(3)
    exposure = source.uniform(0.5, 4.0, 25)
    count = source.poisson(1.7 * exposure * source.gamma(2.0, 0.5, 25))
    return torch.as_tensor(np.column_stack([count, exposure]))


def assert_right(result, coordinate, mean, variance, log_z):
    """Posterior moments of a coordinate and log Z, within what eight islands state."""
    draws = result.islands[..., coordinate]
    for value, exact in ((draws, mean), ((draws - mean).square(), variance)):
        each = value.mean(1)
        assert abs(float(each.mean()) - exact) < FIVE * float(each.std()) / math.sqrt(8)
    assert abs(result.log_evidence - log_z) < 5 * result.log_evidence_error


def moments(grid, log_density):
    """Mean, variance and log of the integral of a density on a grid."""
    top = log_density.max()
    density = np.exp(log_density - top)
    total = simpson(density, x=grid)
    mean = simpson(grid * density, x=grid) / total
    return mean, simpson((grid - mean) ** 2 * density, x=grid) / total, math.log(total) + top


def test_posterior_of_a_rate_is_that_of_quadrature():
    y = exposed_counts()
    likelihood = Poisson(0.3, 0.8)
    bias = np.linspace(-6, 6, 4001)
    rate = np.exp(0.3 + 0.8 * bias)[:, None] * y[:, 1].numpy()
    log_density = stats.poisson.logpmf(y[:, 0].numpy(), rate).sum(1) + stats.norm.logpdf(bias)
    result = ais.Islands().run(bias_only(likelihood, y), seed=0)
    assert_right(result, 1, *moments(bias, log_density))


def test_posterior_of_a_rate_and_its_overdispersion_is_that_of_quadrature():
    y = exposed_counts()
    likelihood = NegativeBinomial(0.3, 0.8, 1.0, 1.5)
    bias, log_r = np.linspace(-5, 5, 401), np.linspace(-5, 8, 401)
    mean = np.exp(0.3 + 0.8 * bias)[:, None, None] * y[:, 1].numpy()
    r = np.exp(log_r)[:, None]
    log_prior = stats.norm.logpdf(bias)[:, None] + stats.norm.logpdf(log_r, 1.0, 1.5)
    log_density = stats.nbinom.logpmf(y[:, 0].numpy(), r, r / (r + mean)).sum(-1) + log_prior
    top = log_density.max()
    result = ais.Islands().run(bias_only(likelihood, y), seed=0)
    for coordinate, grid, other, axis in ((1, bias, log_r, 1), (2, log_r, bias, 0)):
        marginal = np.log(simpson(np.exp(log_density - top), x=other, axis=axis)) + top
        assert_right(result, coordinate, *moments(grid, marginal))

"""Counts with an exposure: in the fit, and exactly in every prediction."""

import numpy as np
import pytest
import torch
from scipy.stats import nbinom, poisson
from sklearn.model_selection import cross_val_score

from estimators.tables import QUICK
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.bnn.likelihoods.counts import FARTHEST, NegativeBinomial, Poisson
from pmcnet.bnn.likelihoods.exposed_counts import COUNT_FAMILIES, exposed
from pmcnet.errors import InputError

LEVELS = [0.05, 0.5, 0.95]


def counts(n=80, seed=0):
    """Rows, counts at a rate e^(1 + x), and exposures from .1 to 100."""
    source = np.random.default_rng(seed)
    x = source.normal(size=(n, 2))
    exposure = 10.0 ** source.uniform(-1, 2, n)
    return x, source.poisson(exposure * np.exp(1 + x[:, 0])).astype(float), exposure


@pytest.fixture(scope="module", params=COUNT_FAMILIES)
def fitted(request):
    x, y, exposure = counts()
    model = PMCNetRegressor(likelihood=request.param, **QUICK)
    return model.fit(x, y, exposure=exposure), x, y, exposure


def mixture_cdf(model, x, exposure, q):
    """P(Y <= q) of weighted networks whose means are mu e, by scipy: (N,)."""
    posterior = model.posterior_
    weight = posterior.samples.weight.flatten().numpy()[:, None]
    theta, n = posterior.theta, posterior.network.layout.dim
    with torch.no_grad():
        output = posterior.network(theta[:, :n], model.encoded(x).inputs).double()
    likelihood = posterior.likelihood
    mean = likelihood.mean(output, theta[:, n:].double())[..., 0].numpy() * exposure  # (J, N)
    if isinstance(likelihood, Poisson):
        each = poisson.cdf(q, mean)
    else:
        r = theta[:, n:].double().exp().numpy()
        each = nbinom.cdf(q, r, r / (r + mean))
    return (weight * each).sum(0)


def test_rate_is_found_whatever_the_exposure(fitted):
    model, x, _, exposure = fitted
    truth = exposure * np.exp(1 + x[:, 0])
    found = model.predict(x, exposure=exposure)
    assert np.median(np.abs(np.log(found / truth))) < 0.15


def test_mean_is_proportional_to_the_exposure(fitted):
    model, x, _, exposure = fitted
    np.testing.assert_allclose(
        model.predict(x, exposure=exposure), exposure * model.predict(x), rtol=1e-6
    )
    np.testing.assert_allclose(model.predict(x, exposure=1.0), model.predict(x), rtol=1e-6)
    draws = model.predict_draws(x, 20, exposure=exposure)
    np.testing.assert_allclose(draws, exposure * model.predict_draws(x, 20), rtol=1e-5)


def test_error_is_proportional_to_the_exposure(fitted):
    model, x, _, exposure = fitted
    _, error = model.predict(x, return_error=True)
    _, scaled = model.predict(x, return_error=True, exposure=exposure)
    np.testing.assert_allclose(scaled, exposure * error, rtol=1e-3)


def test_variance_is_that_of_the_mixture(fitted):
    model, x, _, exposure = fitted
    one, found = model.uncertainty(x), model.uncertainty(x, exposure=exposure)
    np.testing.assert_allclose(found.epistemic, exposure**2 * one.epistemic, rtol=1e-4)
    np.testing.assert_allclose(found.total, found.aleatoric + found.epistemic)
    _, std = model.predict(x, return_std=True, exposure=exposure)
    np.testing.assert_allclose(std**2, found.total)
    if model.likelihood_ == "poisson":
        mean = model.predict(x, exposure=exposure)
        np.testing.assert_allclose(found.aleatoric, mean, rtol=1e-6)


def test_quantiles_are_those_of_the_mixture(fitted):
    model, x, _, exposure = fitted
    found = model.predict_quantiles(x, LEVELS, exposure=exposure)
    for level, q in zip(LEVELS, found.T, strict=True):
        assert (mixture_cdf(model, x, exposure, q) >= level - 1e-9).all()
        assert (mixture_cdf(model, x, exposure, q - 1) < level + 1e-9).all()
    interval = model.predict_interval(x, 0.9, exposure=exposure)
    assert np.array_equal(interval, found[:, [0, 2]])


def test_draws_have_the_mean_and_the_variance(fitted):
    model, x, _, _ = fitted
    drawn = model.sample_y(x[:3], 20_000, exposure=[0.5, 5.0, 50.0])
    mean, std = model.predict(x[:3], return_std=True, exposure=[0.5, 5.0, 50.0])
    assert (np.abs(drawn.mean(1) - mean) < 5 * std / np.sqrt(20_000)).all()
    np.testing.assert_allclose(drawn.std(1), std, rtol=0.1)


def test_log_predictive_takes_either_form(fitted):
    model, x, y, exposure = fitted
    found = model.log_predictive(x, y, exposure=exposure)
    two_columns = model.log_predictive(x, np.column_stack([y, exposure]))
    np.testing.assert_allclose(found, two_columns, rtol=1e-5)
    below = np.where(y > 0, mixture_cdf(model, x, exposure, y - 1), 0.0)
    each = mixture_cdf(model, x, exposure, y) - below
    np.testing.assert_allclose(np.exp(found), each, rtol=1e-4, atol=1e-9)


def test_encoded_rows_keep_their_exposure_and_share_one_pass(fitted, monkeypatch):
    model, x, y, exposure = fitted
    calls = []
    network = type(model.posterior_.network)
    original = network.__call__

    def counted(self, theta, inputs):
        calls.append(len(theta))
        return original(self, theta, inputs)

    monkeypatch.setattr(network, "__call__", counted)
    cached = model.cached()
    rows = cached.encoded(x, exposure)
    interval = cached.predictive_interval(rows, 0.9)[1]
    log_density = cached.log_predictive(rows, y)
    assert len(calls) == 1
    assert np.array_equal(interval, model.predict_interval(x, 0.9, exposure=exposure))
    np.testing.assert_allclose(log_density, model.log_predictive(x, y, exposure=exposure))
    assert np.array_equal(cached.predict(rows), model.predict(x, exposure=exposure))


def test_saved_model_predicts_with_exposures(fitted, tmp_path):
    model, x, _, exposure = fitted
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m"))
    wanted = model.predict(x, exposure=exposure)
    assert np.array_equal(loaded.predict(x, exposure=exposure), wanted)


def test_score_uses_the_exposure(fitted):
    model, x, y, exposure = fitted
    residual = y - model.predict(x, exposure=exposure)
    wanted = 1 - (residual**2).mean() / y.var()
    assert model.score(x, y, exposure=exposure) == pytest.approx(wanted)
    assert model.score(x, y, exposure=exposure) > model.score(x, y)


@pytest.mark.parametrize("likelihood", [Poisson(0.5, 2.0), NegativeBinomial(0.5, 2.0)])
def test_exposure_is_not_held_by_the_bound_of_outputs(likelihood):
    output = torch.tensor([-FARTHEST, -1.0, 0.0, FARTHEST]).double().reshape(1, 4, 1)
    extra = torch.zeros(1, likelihood.n_extra, dtype=torch.float64)
    for log_exposure in (-40.0, 40.0):
        carried = torch.cat([output, torch.full_like(output, log_exposure)], dim=-1)
        found = exposed(likelihood).mean(carried, extra)
        wanted = likelihood.mean(output, extra).log() + log_exposure
        torch.testing.assert_close(found.log(), wanted, rtol=0, atol=1e-12)
        y = torch.tensor([0.0, 3.0, 4.0, 5.0]).double()
        both = torch.stack([y, torch.full_like(y, log_exposure).exp()], dim=-1)
        torch.testing.assert_close(
            exposed(likelihood).log_prob(carried, y, extra),
            likelihood.log_prob(output, both, extra),
        )


def test_auto_compares_the_families_of_counts():
    x, y, exposure = counts(40)
    settings = QUICK | {"prior_std": "layer"}
    model = PMCNetRegressor(**settings).fit(x, y, exposure=exposure)
    assert [each["name"].split(",")[0] for each in model.comparisons_] == list(COUNT_FAMILIES)
    assert model.likelihood_ in COUNT_FAMILIES


def test_fit_with_takes_an_exposure():
    x, y, exposure = counts(40)
    model = PMCNetRegressor(likelihood="poisson", **QUICK)
    wanted = model.fit(x, y, exposure=exposure).predict(x)
    assert np.array_equal(model.fit_with(x, y, exposure=exposure).predict(x), wanted)
    assert not np.array_equal(model.fit(x, y).predict(x), wanted)


def test_unit_of_exposure_changes_the_rate_alone():
    x, y, exposure = counts(40)
    sizes = {"n_islands": 16, "n_particles": 16}  # errors of 4 islands would have 3 degrees
    model = PMCNetRegressor(likelihood="poisson", **QUICK | {"method_options": sizes})
    days, in_days = model.fit(x, y, exposure=exposure).predict(
        x, return_error=True, exposure=exposure
    )
    hours, in_hours = model.fit(x, y, exposure=24 * exposure).predict(
        x, return_error=True, exposure=24 * exposure
    )
    assert (np.abs(hours - days) < 5 * np.hypot(in_days, in_hours)).all()


def test_cross_validation_selects_rows_of_exposure():
    x, y, exposure = counts(40)
    model = PMCNetRegressor(likelihood="poisson", **QUICK)

    def density(fitted, rows, truth):
        return fitted.log_predictive(rows, truth).mean()

    scores = cross_val_score(model, x, y, cv=2, params={"exposure": exposure}, scoring=density)
    assert np.isfinite(scores).all()


def test_modules_predict_with_exposures():
    x, y, exposure = counts(30)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 1))
    images = np.repeat(x, 2, axis=1).reshape(-1, 1, 2, 2)
    options = {"method": "adam-map", "method_options": {"n_epochs": 5}, "random_state": 0}
    model = PMCNetRegressor(
        module=module, likelihood="poisson", prior_std=1.0, device="cpu", **options
    )
    model.fit(images, y, exposure=exposure)
    found = model.predict(images, exposure=exposure)
    np.testing.assert_allclose(found, exposure * model.predict(images), rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "exposure", "says"),
    [
        ({"likelihood": "gaussian"}, 1.0, "exposure is for counts, .*; got likelihood gaussian"),
        ({"likelihood": "censored"}, 1.0, "got likelihood censored"),
        ({"noise": "by-row"}, 1.0, "noise must be learn"),
        ({"noise": np.ones(30)}, 1.0, "got likelihood counts. Leave noise out"),
        ({}, np.ones(29), r"one for each of the 30 rows; got shape \(29,\)"),
        ({}, "long", "exposure must be positive numbers"),
        ({}, -1.0, "exposure must be positive, .*; got -1 in row 1"),
        ({}, np.r_[np.ones(4), np.nan, np.ones(25)], "got nan in row 5"),
    ],
)
def test_exposures_that_cannot_be_are_refused(settings, exposure, says):
    x, y, _ = counts(30)
    with pytest.raises(InputError, match=says):
        PMCNetRegressor(**QUICK | settings).fit(x, y, exposure=exposure)


def test_numbers_that_are_no_counts_are_refused_by_row():
    x, y, exposure = counts(30)
    y[6] = 0.5
    with pytest.raises(InputError, match=r"y must hold counts, .*; got 0.5 in row 7"):
        PMCNetRegressor(**QUICK).fit(x, y, exposure=exposure)


def test_models_of_other_numbers_refuse_exposures():
    x, y, exposure = counts(30)
    model = PMCNetRegressor(likelihood="gaussian", noise="learn", **QUICK).fit(x, y)
    for ask in (model.predict, model.predict_interval, model.uncertainty, model.sample_y):
        with pytest.raises(InputError, match=r"got likelihood gaussian\. Leave exposure out"):
            ask(x, exposure=exposure)
    assert "exposure" not in PMCNetClassifier.predict_proba.__annotations__


def test_score_of_two_columns_says_what_it_needs():
    x, y, _ = counts(40)
    times, event = y + 1, np.arange(40) % 2
    model = PMCNetRegressor(likelihood="censored", **QUICK).fit(x, np.column_stack([times, event]))
    with pytest.raises(InputError, match=r"20 of 40 rows are censored. Use log_predictive"):
        model.score(x, np.column_stack([times, event]))
    observed = np.column_stack([times, np.ones(40)])
    assert model.score(x, observed) == pytest.approx(model.score(x, times))
    model = PMCNetRegressor(likelihood="poisson", **QUICK).fit(x, y)
    with pytest.raises(InputError, match=r"one number per row, \(N,\); got \(40, 2\)"):
        model.score(x, np.column_stack([y, y]))

"""Right-censored times, Weibull and log-logistic."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from bnn.likelihoods.family_checks import (
    assert_draws,
    assert_estimator,
    assert_finite_far_away,
    assert_gradients,
    assert_posterior,
    assert_quantiles,
    assert_stored,
    points,
)
from cli.commands import numbers
from pmcnet import PMCNetRegressor
from pmcnet.bnn import CensoredLogLogistic, CensoredWeibull
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.errors import InputError

WEIBULL = CensoredWeibull(-1.0, 0.5, spread=0.8, centre=1.5)
LOGISTIC = CensoredLogLogistic(-2.0, 0.3, spread=0.8, centre=1.5)
MEMBERS = [WEIBULL, LOGISTIC]
FAMILIES = {
    name: registry.family(name, "regression") for name in ("censored", "censored-loglogistic")
}
SOURCE = np.random.default_rng(0)
TIMES = np.column_stack([SOURCE.weibull(1.5, 40) * 4, SOURCE.random(40) < 0.6])
Y = torch.as_tensor(FAMILIES["censored"].targets(TIMES, Units()))


def exact(likelihood, output, extra):
    """T of each network, by SciPy; arrays broadcast."""
    scale = likelihood.spread * np.exp(extra)
    median = np.exp(likelihood.centre + likelihood.spread * output)
    if isinstance(likelihood, CensoredWeibull):
        return stats.weibull_min(1 / scale, scale=median)
    return stats.fisk((1 + 2 * scale) / scale, scale=median)


def log_later(likelihood, time, output, extra):
    """Log P(T > time), by the distribution of the logarithm, which keeps its digits."""
    weibull = isinstance(likelihood, CensoredWeibull)
    scale = likelihood.spread * np.exp(extra)
    scale = scale if weibull else scale / (1 + 2 * scale)
    z = (np.log(time) - likelihood.centre - likelihood.spread * output) / scale
    return (stats.gumbel_l if weibull else stats.logistic).logsf(z)


def cdf_of(likelihood):
    def cdf(y, output, extra):
        return exact(likelihood, output[..., 0], extra[..., 0]).cdf(y)

    return cdf


def censored_rows(n=60):
    """Times that depend on the first input of `numbers`, about a third of them censored."""
    source, x = np.random.default_rng(4), numbers(n)["x"].to_numpy()
    event, end = np.exp(1 + x) * source.weibull(2, n), source.exponential(6, n)
    return np.column_stack([np.minimum(event, end), event <= end])


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_rows_give_densities_or_probabilities_to_come_later(likelihood):
    output, extra = points(likelihood, 3, len(Y))
    networks = output[..., 0].numpy(), extra.numpy()
    known, (time, event) = exact(likelihood, *networks), TIMES.T
    later = log_later(likelihood, time, *networks)
    expected = np.where(event > 0, known.logpdf(time), later)
    np.testing.assert_allclose(likelihood.log_prob(output, Y, extra), expected, rtol=1e-10)
    observed = likelihood.log_prob(output, Y[:, 0], extra)
    np.testing.assert_allclose(observed, known.logpdf(time), rtol=1e-10)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_gradients_are_derivatives(likelihood):
    for y in (Y, Y[:, 0]):
        assert_gradients(likelihood, y)
        assert_finite_far_away(likelihood, y)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_moments_are_those_of_times(likelihood):
    output, extra = points(likelihood, 3, 5)
    known = exact(likelihood, output[..., 0].numpy(), extra.numpy())
    mean = likelihood.mean(output, extra)
    np.testing.assert_allclose(mean[..., 0], known.mean(), rtol=1e-10)
    np.testing.assert_allclose(likelihood.aleatoric(mean, output, extra), known.var(), rtol=1e-8)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_draws_have_the_stated_distribution_and_moments(likelihood):
    assert_draws(likelihood, cdf=cdf_of(likelihood))


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_quantiles_invert_the_mixture(likelihood):
    assert_quantiles(likelihood, cdf=cdf_of(likelihood), low=1e-8, high=1e4)
    output, extra = points(likelihood, 3, len(Y))
    networks = zip(output.numpy(), extra.numpy(), strict=True)
    expected = [cdf_of(likelihood)(TIMES[:, 0], *network) for network in networks]
    np.testing.assert_allclose(likelihood.cumulative(output, Y[:, 0], extra), expected, rtol=1e-10)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_member_comes_back_from_its_stored_form(likelihood):
    assert_stored(likelihood)


def test_log_logistic_times_always_have_a_variance():
    extra = torch.tensor([[-3.0], [0.0], [3.0], [20.0]], dtype=torch.float64)
    scale = LOGISTIC.scale_of_log(torch.zeros(4, 1, 1), extra)
    assert (scale < 0.5).all()
    assert float(scale[0]) == pytest.approx(0.8 * math.exp(-3), rel=0.1)
    assert LOGISTIC.usable(extra).all()
    mean = LOGISTIC.mean(extra[:, None], extra)
    assert LOGISTIC.aleatoric(mean, extra[:, None], extra).isfinite().all()
    assert LOGISTIC.usable(torch.tensor([[100.0], [-1000.0]])).tolist() == [False, False]
    assert WEIBULL.usable(torch.tensor([[2.0], [-1000.0]])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("name", "draw", "deviation"),
    [
        ("censored", lambda source, n: np.log(source.exponential(size=n)), math.pi / math.sqrt(6)),
        ("censored-loglogistic", lambda source, n: source.logistic(size=n), math.pi / math.sqrt(3)),
    ],
)
@pytest.mark.parametrize("share", [1.0, 0.3, 0.1])
def test_typical_times_are_found_where_most_are_censored(name, draw, deviation, share):
    """The study ends at the same time for all, when so many events have happened."""
    n, scale = 4000, 0.3
    log_time = 3 + scale * draw(np.random.default_rng(1), n)
    end = np.quantile(log_time, share)
    time, event = np.exp(np.minimum(log_time, end)), log_time <= end
    response = Response(np.column_stack([time, event]), np.ones(n))
    found = FAMILIES[name].for_response(response, FAMILIES[name].units(response))
    tolerance = 5 / math.sqrt(n * share)
    assert found.spread == pytest.approx(scale * deviation, rel=tolerance)
    assert found.centre == pytest.approx(3, abs=3 * scale * tolerance)


def test_times_that_were_all_observed_may_be_one_column():
    response = Response(TIMES[:, 0], np.ones(40))
    both = Response(np.column_stack([TIMES[:, 0], np.ones(40)]), np.ones(40))
    for members in FAMILIES.values():
        one, other = (members.for_response(each, Units()) for each in (response, both))
        assert one == other
        assert members.units(response) == Units()
    weight = np.full(40, 3.0)
    repeated = Response(TIMES.repeat(3, 0), np.ones(120))
    one, other = (
        FAMILIES["censored"].for_response(each, Units())
        for each in (Response(TIMES, weight), repeated)
    )
    assert one.spread == pytest.approx(other.spread, rel=1e-5)
    assert one.centre == pytest.approx(other.centre, rel=1e-5)


@pytest.mark.parametrize("n_rows", [2, 30])
def test_single_event_after_all_others_were_lost_is_no_infinite_density(n_rows):
    """The likelihood of s alone has its supremum at 0."""
    y = np.column_stack([np.linspace(1, 2, n_rows), np.zeros(n_rows)])
    y[-1, 1] = 1
    for members in FAMILIES.values():
        found = members.for_response(Response(y, np.ones(n_rows)), Units())
        assert 0.01 < found.spread < 3
        assert -1 < found.centre < 5


@pytest.mark.parametrize(
    ("y", "noise", "text"),
    [
        ([[1.0, 1], [0.0, 1]], "learn", r"time must be positive; got 0 in row 2\. Drop it"),
        ([[1.0, 1], [1.0, 2]], "learn", r"event must be 1 .* or 0 .*; got 2 in row 2"),
        ([[1.0, 0], [2.0, 0]], "learn", r"no event was observed: every row is censored"),
        ([[1.0, 1], [2.0, 0]], "by-row", r"learns one scale: noise must be learn; got 'by-row'"),
        ([[1.0, 1], [2.0, 0]], 0.3, r"learns one scale: noise must be learn; got 0\.3"),
    ],
)
def test_responses_that_are_no_times_are_refused(y, noise, text):
    response = Response(np.array(y), np.ones(len(y)), noise=noise)
    for members in FAMILIES.values():
        with pytest.raises(InputError, match=text):
            members.for_response(response, Units())


def test_bad_centre_is_refused():
    with pytest.raises(InputError, match=r"centre must lie within \+-500; got 1000"):
        CensoredWeibull(centre=1000.0)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_posterior_and_evidence_are_exact(likelihood):
    y = TIMES[:14]

    def log_density(bias, own):
        known = exact(likelihood, bias, own)
        density = [known.logpdf(t) for t, event in y if event]
        later = [log_later(likelihood, t, bias, own) for t, event in y if not event]
        return np.sum(density + later, 0)

    spans = [(-4, 5), (-4, 3)]
    assert_posterior(likelihood, Y[:14], log_density, spans=spans)


@pytest.mark.parametrize("name", FAMILIES)
def test_estimator_fits_times(tmp_path, name):
    y, member = censored_rows(), type(FAMILIES[name]())
    model, x = assert_estimator(tmp_path, y, name, member)
    median = model.predict_quantiles(x, [0.5])[:, 0]
    assert np.corrcoef(np.log(median), x[:, 0])[0, 1] > 0.9
    with pytest.raises(InputError, match="got -1 in row 5"):
        model.fit(x, np.where(np.arange(60)[:, None] == 4, -1.0, y))


def test_estimator_states_probabilities_of_censored_rows(tmp_path):
    """The same in any unit of time, while densities have the unit's."""
    y = censored_rows()
    one, x = assert_estimator(tmp_path, y, "censored", CensoredWeibull)
    draws = one.sample_y(x, 4000, random_state=2)
    later = (draws > y[:, :1]).mean(1)
    error = np.sqrt(later * (1 - later) / 4000) + 1e-3
    late = np.column_stack([y[:, 0], np.zeros(60)])
    assert (np.abs(np.exp(one.log_predictive(x, late)) - later) < 5 * error).all()
    hours, _ = assert_estimator(tmp_path, y * [24, 1], "censored", CensoredWeibull)
    change = hours.log_predictive(x, y * [24, 1]) - one.log_predictive(x, y)
    np.testing.assert_allclose(change, np.where(y[:, 1] > 0, -math.log(24), 0), atol=0.2)


def test_estimator_takes_tables_records_and_weights(tmp_path):
    y = censored_rows()
    model, x = assert_estimator(tmp_path, y, "censored", CensoredWeibull)
    expected = model.predict(x)
    records = np.zeros(60, dtype=[("event", bool), ("time", float)])
    records["event"], records["time"] = y[:, 1] > 0, y[:, 0]
    frame = pd.DataFrame({"time": y[:, 0], "event": y[:, 1] > 0})
    for given in (records, frame, y.tolist()):
        assert (model.fit(x, given).predict(x) == expected).all()
    assert (model.log_predictive(x, records) == model.log_predictive(x, y)).all()
    weight = np.arange(60) % 3
    weighted = model.fit(x, y, weight).predict(x)
    assert (model.fit(x.repeat(weight, 0), y.repeat(weight, 0)).predict(x) == weighted).all()
    observed = y[y[:, 1] > 0, 0]
    assert len(model.fit(x[: len(observed)], observed).predict(x)) == 60


def test_two_columns_are_for_times_only():
    x, y = numbers(30)[["x", "z"]].to_numpy(), censored_rows(30)
    for likelihood in ("laplace", "poisson", "lognormal", "beta"):
        with pytest.raises(InputError, match="several targets are for likelihood gaussian or"):
            PMCNetRegressor(likelihood=likelihood).fit(x, y)
    model = PMCNetRegressor(likelihood="censored")
    with pytest.raises(InputError, match=r"y must be one number per row, \(N,\); got \(30, 3\)"):
        model.fit(x, np.column_stack([y, y[:, 1]]))
    with pytest.raises(InputError, match="y must have one boolean field"):
        model.fit(x, np.zeros(30, dtype=[("event", float), ("time", float)]))

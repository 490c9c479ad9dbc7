"""Calibrated intervals: those of MAPIE, at any coverage, within what y can be."""

import numpy as np
import pytest
from mapie.regression import ConformalizedQuantileRegressor
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV

from estimators.conformal.tables import CHEAP, inside, split_of, uneven
from pmcnet import PMCNetRegressor
from pmcnet.bnn.likelihoods.support import Support
from pmcnet.errors import InputError
from pmcnet.estimators.conformal.intervals import CalibratedIntervals


class Quantile(RegressorMixin, BaseEstimator):
    """One quantile of a fitted model, as other libraries take it."""

    def __init__(self, model=None, level=0.5):
        self.model = model
        self.level = level

    @property
    def n_features_in_(self):
        return self.model.n_features_in_

    def fit(self, X, y):
        raise AssertionError("it is fitted")

    def predict(self, X):
        return self.model.predict_quantiles(X, [self.level])[:, 0]


@pytest.fixture(scope="module")
def fitted():
    """A model whose noise is far too small, and its rows."""
    x, y = uneven(300)
    model = PMCNetRegressor(**CHEAP, likelihood="gaussian", noise=0.3, conformal=True)
    return model.set_params(random_state=0).fit(x, y), x, y


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.98])
def test_intervals_are_those_of_mapie(fitted, coverage):
    model, x, y = fitted
    levels = [(1 - coverage) / 2, (1 + coverage) / 2, 0.5]
    mapie = ConformalizedQuantileRegressor(
        [Quantile(model, level) for level in levels], confidence_level=coverage, prefit=True
    )
    held_out = split_of(x, y).held_out
    mapie.conformalize(held_out.x, held_out.y)
    new, _ = uneven(50, seed=1)
    _, expected = mapie.predict_interval(new, symmetric_correction=True)
    np.testing.assert_allclose(model.predict_interval(new, coverage), expected[..., 0], atol=1e-9)


def test_coverage_between_the_kept_ones_has_interpolated_ends(fitted):
    model, x, _ = fitted
    widths = [
        np.diff(model.predict_interval(x, coverage)).mean()
        for coverage in (0.05, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95)
    ]
    assert (np.diff(widths) > 0).all()
    exact = np.diff(model.predict_interval(x, 0.9))
    near = np.diff(model.predict_interval(x, 0.9 + 1e-9))
    np.testing.assert_allclose(near, exact, rtol=1e-6)


def test_calibration_rows_themselves_are_covered_at_every_level(fitted):
    model, x, y = fitted
    held_out = split_of(x, y).held_out
    n = len(held_out.y)
    for coverage in np.linspace(0.02, 0.98, 49):
        interval = model.predict_interval(held_out.x, coverage)
        reached = inside(interval + np.array([-1e-9, 1e-9]), held_out.y).sum()
        assert np.ceil((n + 1) * coverage - 1e-9) <= reached <= np.ceil((n + 1) * coverage) + 1


def test_quantiles_and_mean_stay_plain(fitted):
    model, x, y = fitted
    training = split_of(x, y).training
    plain = PMCNetRegressor(**CHEAP, likelihood="gaussian", noise=0.3, random_state=0)
    plain.fit(training.x, training.y)
    assert (model.predict_quantiles(x) == plain.predict_quantiles(x)).all()
    assert (model.predict(x) == plain.predict(x)).all()
    assert (model.predict_interval(x) != plain.predict_interval(x)).all()
    assert plain.calibration_ is None


@pytest.mark.parametrize(
    ("coverage", "says"),
    [
        (0.99, "60 calibration rows allow a coverage of at most 0.983607; got 0.99"),
        (1.0, "between 0 and 1"),
        (0.0, "between 0 and 1"),
    ],
)
def test_coverage_out_of_reach_is_refused(fitted, coverage, says):
    model, x, _ = fitted
    with pytest.raises(InputError, match=says):
        model.predict_interval(x, coverage)


def test_counts_have_whole_ends_from_zero():
    x, _ = uneven(200)
    y = np.random.default_rng(0).poisson(np.exp(0.5 * x[:, 0]))
    model = PMCNetRegressor(**CHEAP, likelihood="poisson", conformal=True, random_state=0)
    model.fit(x, y)
    for coverage in (0.5, 0.75, 0.9, 0.93):
        interval = model.predict_interval(x, coverage)
        assert (interval == np.floor(interval)).all()
        assert (interval >= 0).all()
        assert (interval[:, 0] <= interval[:, 1]).all()


def test_positive_and_fractional_responses_stay_in_range():
    x, z = uneven(200)
    for likelihood, y in (("lognormal", np.exp(z)), ("beta", 1 / (1 + np.exp(-z)))):
        model = PMCNetRegressor(**CHEAP, likelihood=likelihood, conformal=True, random_state=0)
        interval = model.fit(x, y).predict_interval(x, 0.95)
        assert (interval >= 0).all()
        assert (interval <= (1 if likelihood == "beta" else np.inf)).all()
        assert inside(interval, y).mean() > 0.85


def test_supports_clip_round_inwards_and_collapse_what_is_empty():
    given = np.array([[-2.0, 3.5], [0.2, 0.8], [2.0, 1.0], [4.0, 4.0]])
    whole = Support(least=0, whole=True).within(given)
    assert whole.tolist() == [[0, 3], [0, 0], [2, 2], [4, 4]]
    assert Support().within(given).tolist() == [[-2, 3.5], [0.2, 0.8], [1.5, 1.5], [4, 4]]
    assert Support(0, 1).within(given)[0].tolist() == [0, 1]


def test_exposure_is_refused_in_fit_and_in_intervals():
    x, _ = uneven(60)
    y = np.random.default_rng(0).poisson(2, 60)
    model = PMCNetRegressor(**CHEAP, likelihood="poisson", conformal=True, random_state=0)
    with pytest.raises(InputError, match="counts without an exposure"):
        model.fit(x, y, exposure=np.ones(60))
    model.fit(x, y)
    with pytest.raises(InputError, match="counts without an exposure"):
        model.predict_interval(x, exposure=2)
    assert (model.predict_quantiles(x, exposure=2) >= 0).all()


def test_known_noise_of_each_row_can_be_calibrated():
    x, y = uneven(100)
    sigma = np.linspace(0.5, 1, 100)
    model = PMCNetRegressor(**CHEAP, noise=sigma, conformal=True, random_state=0).fit(x, y)
    assert model.calibration_.n_rows == 20
    assert np.isfinite(model.predict_interval(x)).all()


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_intervals_scale_with_y(unit):
    x, y = uneven(100)
    model = PMCNetRegressor(**CHEAP, conformal=True, random_state=0, likelihood="gaussian")
    plain = model.fit(x, y).predict_interval(x, 0.9)
    assert model.fit(x, y * unit).predict_interval(x, 0.9) / unit == pytest.approx(plain, rel=1e-4)


def test_clone_and_search_take_the_setting():
    x, y = uneven(120)
    model = PMCNetRegressor(**CHEAP, conformal=True, random_state=0)
    assert clone(model).get_params()["conformal"] is True
    search = GridSearchCV(model, {"conformal": [False, True]}, cv=2).fit(x, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_residuals_are_y_minus_quantiles():
    y, quantiles = np.array([1.0, 2.0]), np.arange(32.0).reshape(2, 16)
    residuals = CalibratedIntervals.of(quantiles, y).residuals
    assert (residuals == y[:, None] - quantiles).all()

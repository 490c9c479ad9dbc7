"""Leave-one-out against closed forms, and against fits that never saw the row."""

import numpy as np
import pytest

from estimators.checks.tables import QUICK, rows
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import InputError
from pmcnet.estimators.checks.leave_one_out import psis

NOISE = 0.5
X = np.random.default_rng(5).normal(size=(40, 2))
Y = X[:, 0] + NOISE * np.random.default_rng(6).normal(size=40)
ONES = np.ones(len(Y))


def line(x=X, y=Y):
    """Mean and covariance of the posterior of a line whose coefficients have the prior N(0, 1)."""
    design = np.column_stack([x, np.ones(len(x))])
    covariance = np.linalg.inv(np.eye(3) + design.T @ design / NOISE**2)
    return covariance @ design.T @ y / NOISE**2, covariance


def closed_form():
    """log p(y_i | the other rows) of each row."""
    found = []
    for i in range(len(Y)):
        mean, covariance = line(np.delete(X, i, 0), np.delete(Y, i))
        row = np.append(X[i], 1.0)
        variance = row @ covariance @ row + NOISE**2
        found.append(-0.5 * ((Y[i] - row @ mean) ** 2 / variance + np.log(2 * np.pi * variance)))
    return np.array(found)


def estimated(seed, widening=1.0, n_draws=1000, y=Y):
    """Leave-one-out by draws of the posterior, or by weighted ones of a wider distribution."""
    mean, covariance = line(y=y)
    source = np.random.default_rng(seed)
    z = source.normal(size=(n_draws, 3))
    theta = mean + widening * z @ np.linalg.cholesky(covariance).T
    log_weight = -0.5 * (np.square(z).sum(1) * (widening**2 - 1))
    residual = (y - theta @ np.column_stack([X, ONES]).T) / NOISE  # (J, N)
    each = -0.5 * np.square(residual) - np.log(NOISE) - 0.5 * np.log(2 * np.pi)
    return psis(each, log_weight, ONES, 1.0)


@pytest.mark.parametrize("widening", [1.0, 1.4])
def test_leave_one_out_is_that_of_the_closed_form(widening):
    sums = np.array([estimated(seed, widening).elpd.sum() for seed in range(12)])
    error = sums.std(ddof=1) / len(sums) ** 0.5
    assert abs(sums.mean() - closed_form().sum()) < 5 * error
    assert error < 0.1


def test_every_row_left_out_has_its_own_closed_form():
    each = np.stack([estimated(seed).elpd for seed in range(12)])  # (12, N)
    error = each.std(0, ddof=1) / len(each) ** 0.5
    assert (np.abs(each.mean(0) - closed_form()) < 5 * error + 1e-3).all()


def test_row_that_nothing_explains_is_influential():
    y = np.where(np.arange(len(Y)) == 7, 12.0, Y)
    found = estimated(0, y=y)
    assert found.khat.argmax() == 7
    assert found.khat[7] > 0.67 > np.delete(found.khat, 7).max()


def test_rows_that_say_the_same_of_every_draw_have_no_tail():
    found = psis(np.zeros((100, 3)) - 1.5, np.zeros(100), np.ones(3), 1.0)
    assert found.khat.tolist() == [0, 0, 0]
    assert found.elpd == pytest.approx(-1.5)


def test_rows_of_the_fit_and_rows_that_were_kept_are_the_same(right):
    given, kept = right.loo(*rows(80)), right.loo()
    assert given.elpd == pytest.approx(kept.elpd, abs=1e-3)
    assert np.sort(given.khat) == pytest.approx(np.sort(kept.khat), abs=1e-3)


def test_row_of_weight_two_is_a_row_given_twice(right):
    x, y = rows(80)
    twice = right.loo(np.concatenate([x, x[:5]]), np.concatenate([y, y[:5]]))
    weight = np.where(np.arange(80) < 5, 2.0, 1.0)
    assert right.loo(x, y, weight).elpd == pytest.approx(twice.elpd)


def test_row_of_weight_zero_is_not_left_out(right):
    x, y = rows(80)
    found = right.loo(x, y, np.arange(80) % 2)
    assert found.row.tolist() == list(range(1, 80, 2))


def test_some_rows_estimate_the_sum_of_all(right):
    whole, some = right.loo(*rows(80)), right.loo(*rows(80), n_rows=40)
    assert len(some.frame) == 40
    assert some.se > whole.se
    assert abs(some.elpd - whole.elpd) < 4 * some.se
    assert "estimated from 40 of 80 rows drawn at random" in some.described


def test_density_left_out_is_in_units_of_y():
    x, y = rows(80)
    model = PMCNetRegressor(likelihood="gaussian", noise=60.0, **QUICK).fit(x, 100 * y)
    seen = model.log_predictive(x, 100 * y)
    assert model.loo(x, 100 * y).seen == pytest.approx(seen, abs=1e-5)


def test_classes_are_left_out_as_well():
    x, y = rows(80)
    labels = np.where(y > 0, "up", "down")
    found = PMCNetClassifier(**QUICK).fit(x, labels).loo(x, labels)
    assert found.elpd < found.seen.sum() < 0
    assert 0 < found.p_loo < 20


def test_counts_have_their_exposure():
    x, _ = rows(60)
    source = np.random.default_rng(3)
    exposure = source.uniform(0.5, 2, 60)
    y = source.poisson(3 * exposure)
    model = PMCNetRegressor(likelihood="poisson", **QUICK).fit(x, y, exposure=exposure)
    found = model.loo(x, y, exposure=exposure)
    assert found.seen == pytest.approx(model.log_predictive(x, y, exposure=exposure), abs=1e-4)
    assert model.loo().elpd == pytest.approx(found.elpd, abs=1e-2)


def test_ensemble_cannot_be_weighed_anew():
    model = PMCNetRegressor((2,), method="adam-map", method_options={"n_epochs": 2}, device="cpu")
    model = model.set_params(likelihood="gaussian", noise=0.6, prior_std=1.0).fit(*rows(40))
    with pytest.raises(InputError, match="method adam-map are none that can be weighed"):
        model.loo(*rows(40))


def test_responses_without_rows_are_refused(right):
    with pytest.raises(InputError, match="X and y go together"):
        right.loo(rows(80)[0])


@pytest.mark.slow
def test_leave_one_out_is_that_of_fits_without_the_row():
    """Sixty fits of a network, each without one row; k-hat says where one fit cannot tell."""
    x, y = rows(60, seed=4)
    settings = QUICK | {"method_options": {"n_islands": 16, "n_particles": 64}}
    settings |= {"hidden_layer_sizes": (3,)}
    model = PMCNetRegressor(likelihood="gaussian", noise=0.6, **settings).fit(x, y)
    found = model.loo(x, y)
    exact = np.array(
        [
            PMCNetRegressor(likelihood="gaussian", noise=0.6, **settings)
            .fit(np.delete(x, i, 0), np.delete(y, i))
            .log_predictive(x[i : i + 1], y[i : i + 1])[0]
            for i in range(60)
        ]
    )
    trusted = found.khat <= found.limit
    assert trusted.sum() >= 50
    difference = (found.pointwise - exact)[trusted]
    assert np.abs(difference).max() < 0.25
    assert abs(difference.sum()) < 5 * difference.std(ddof=1) * trusted.sum() ** 0.5 + 0.2
    assert np.corrcoef(found.pointwise[trusted], exact[trusted])[0, 1] > 0.99

"""Residuals follow what the model misses, and nothing else."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from estimators.checks.tables import QUICK, rows
from pmcnet import PMCNetClassifier
from pmcnet.errors import InputError
from pmcnet.estimators.checks.residual_trends import Against, Residuals


def made(residual, **against):
    n, one = len(residual), np.ones(len(residual))
    features = tuple(Against(name, *each) for name, each in against.items())
    replicated = np.random.default_rng(7).normal(size=(200, n))
    return Residuals(np.arange(n), residual, 0 * one, one, features, replicated)


def test_residuals_are_in_deviations_of_the_prediction(right):
    x, y = rows(200, seed=3)
    found = right.residuals(x, y)
    mean, std = right.predict(x, return_std=True)
    assert found.standardised == pytest.approx((y - mean) / std)
    assert 0.85 < found.standardised.std() < 1.15
    assert not found.trends["clear"].any()


def test_mean_that_follows_a_feature_is_clear():
    source = np.random.default_rng(0)
    a, b = source.normal(size=(2, 400))
    found = made(source.normal(size=400) + 0.5 * a**2, a=(a,), b=(b,)).trends
    assert found.set_index("against")["clear"].to_dict() == {"a": True, "b": False}
    assert found["against"][0] == "a"


def test_spread_that_follows_a_feature_is_clear():
    source = np.random.default_rng(1)
    a = source.normal(size=400)
    found = made(np.exp(0.5 * a) * source.normal(size=400), a=(a,)).trends
    assert found["p_spread"][0] < 1e-6
    assert found["clear"][0]


def test_trends_by_bin_are_those_of_the_library():
    source = np.random.default_rng(4)
    residual, codes = source.normal(size=90), np.repeat([0.0, 1.0, 2.0], 30)
    found = made(residual, a=(codes, ("x", "y", "z"))).trends.iloc[0]
    groups = residual.reshape(3, 30)
    assert found.p_mean == pytest.approx(stats.f_oneway(*groups).pvalue)
    assert found.p_spread == pytest.approx(stats.levene(*groups, center="mean").pvalue)


def test_share_of_replicates_with_a_trend_is_a_p_value():
    source = np.random.default_rng(2)
    shares = [
        made(source.normal(size=100), **{f"x{i}": (source.normal(size=100),) for i in range(5)})
        .trends["p_value"]
        .min()
        for _ in range(100)
    ]
    assert stats.kstest(shares, "uniform").pvalue > 0.01


def test_levels_and_missing_values_are_bins_of_their_own():
    codes = np.array([0.0] * 6 + [1.0] * 6 + [2.0] * 2)
    assert Against("c", codes, ("x", "y", "z")).bins.tolist() == [0] * 6 + [1] * 6 + [-1] * 2
    values = np.append(np.arange(20.0), [np.nan] * 6)
    bins = Against("v", values).bins
    assert len(set(bins[:20])) == 2
    assert set(bins[20:]) == {2}


def test_feature_of_one_value_has_no_trend():
    found = made(np.random.default_rng(3).normal(size=50), a=(np.ones(50),)).trends.iloc[0]
    assert (found.p_mean, found.p_value) == (1.0, 1.0)


def test_features_are_the_columns_of_the_table(right):
    table = pd.DataFrame(rows(40)[0])
    names = [each.name for each in right.residuals(table.to_numpy(), rows(40)[1]).against]
    assert names == ["prediction", "column 0", "column 1"]


def test_residuals_of_classes_are_refused():
    x, y = rows(60)
    model = PMCNetClassifier(**QUICK).fit(x, y > 0)
    with pytest.raises(InputError, match="Use predictive_check"):
        model.residuals(x, y > 0)

"""What is exported to ArviZ is what its functions expect."""

import warnings

import numpy as np
import pandas as pd
import pytest

from estimators.checks.tables import QUICK, rows
from pmcnet import PMCNetClassifier, PMCNetRegressor

pytest.importorskip("arviz_base")
arviz_loo = pytest.importorskip("arviz_stats.loo")

GROUPS = {
    "posterior",
    "posterior_predictive",
    "log_likelihood",
    "observed_data",
    "constant_data",
    "prior",
    "prior_predictive",
}


def test_islands_are_chains_and_rows_have_the_names_of_the_table(right):
    x, y = rows(80)
    names = [f"row {i}" for i in range(80)]
    model = PMCNetRegressor(likelihood="gaussian", noise=0.6, **QUICK)
    tree = model.fit(pd.DataFrame(x, index=names, columns=["a", "b"]), y).to_arviz(
        pd.DataFrame(x, index=names, columns=["a", "b"]), y
    )
    assert set(tree.children) == GROUPS
    for name in ("posterior", "posterior_predictive", "log_likelihood"):
        assert tree[name].sizes["chain"] == 4
    assert tree["log_likelihood"]["y"].dims == ("chain", "draw", "row")
    assert tree["observed_data"]["row"].values.tolist() == names
    assert tree["observed_data"]["y"].values == pytest.approx(y)
    assert set(tree["prior"].data_vars) == set(tree["posterior"].data_vars)


def test_loo_of_arviz_is_that_of_the_model(right):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of k-hat
        theirs = arviz_loo.loo(right.to_arviz(*rows(80), n=1000), pointwise=True)
    ours = right.loo(*rows(80), n_draws=1000)
    assert theirs.elpd == pytest.approx(ours.elpd, abs=0.5)
    assert theirs.elpd_i.values == pytest.approx(ours.pointwise, abs=0.15)


def test_loo_pit_of_arviz_is_uniform(right):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = arviz_loo.loo_pit(right.to_arviz(*rows(80)))["y"].values
    assert found.mean() == pytest.approx(0.5, abs=5 * (1 / 12 / 80) ** 0.5)


def test_log_likelihood_averages_to_the_predictive_density(right):
    x, y = rows(80)
    each = right.to_arviz(x, y)["log_likelihood"]["y"].values
    average = np.log(np.exp(each).mean((0, 1)))
    assert average == pytest.approx(right.log_predictive(x, y), abs=1e-4)


def test_rows_that_were_kept_are_exported_without_being_given(right):
    tree = right.to_arviz()
    assert np.sort(tree["observed_data"]["y"].values) == pytest.approx(np.sort(rows(80)[1]))


def test_kept_rows_that_count_twice_are_there_twice():
    x, y = rows(40)
    model = PMCNetRegressor(likelihood="lognormal", **QUICK)
    model.fit(x, np.exp(y), np.where(np.arange(40) < 3, 2.0, 1.0))
    found = model.to_arviz()["observed_data"]["y"].values
    expected = np.sort(np.concatenate([np.exp(y), np.exp(y[:3])]))
    assert np.sort(found) == pytest.approx(expected, rel=1e-5)


def test_model_without_its_rows_has_its_posterior_alone(right, tmp_path):
    loaded = PMCNetRegressor.load(right.save(tmp_path / "m"), device="cpu")
    assert set(loaded.to_arviz().children) == {"posterior"}


def test_classes_are_whole_numbers_with_their_names():
    x, y = rows(60)
    labels = np.where(y > 0, "up", "down")
    tree = PMCNetClassifier(**QUICK).fit(x, labels).to_arviz(x, labels)
    assert tree["observed_data"]["y"].dtype.kind == "i"
    assert set(np.unique(tree["posterior_predictive"]["y"].values)) == {0, 1}
    assert tree.attrs["classes"] == ["down", "up"]

"""The checks of the page: which there are, of which rows, and small enough."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from estimators.checks.tables import QUICK, rows
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.estimators.checks.checks_record import KnownTable, checks_record
from pmcnet.estimators.evaluation.second_column import SecondColumn
from pmcnet.reports.page import render
from reports import records


def table(n, seed=0, **columns):
    x, y = rows(n, seed)
    return pd.DataFrame(x, columns=["a", "b"]).assign(**columns), y


def of(model, tested, trained):
    record = checks_record(model, tested, trained, 0)
    json.dumps(record, allow_nan=False)
    task = "regression" if isinstance(model, PMCNetRegressor) else "binary"
    render(records.bare(task) | record)
    return record


def test_regression_has_every_check():
    x, y = table(80, group=np.resize(["u", "v"], 80))
    model = PMCNetRegressor(likelihood="gaussian", noise=0.6, **QUICK).fit(x, y)
    new, truth = table(40, 1, group=np.resize(["u", "w"], 40))
    numbers = np.arange(1, 81)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a level that training had not was told of before
        found = of(model, KnownTable(new, truth), KnownTable(x, y, numbers=numbers + 100))
    assert set(found) == {"posterior_predictive", "residuals", "loo", "prior_predictive"}
    assert {item["name"] for item in found["residuals"]["features"]} == {"a", "b", "group"}
    assert found["prior_predictive"]["functions"]["feature"] == "a"
    assert len(found["loo"]["khat"]) == 80
    assert all(101 <= row["row"] <= 180 for row in found["loo"]["influential"])
    assert len(json.dumps(found)) < 60_000


def test_classes_have_counts_and_no_residuals():
    x, y = table(80)
    labels = np.where(y > 0, "up", "down")
    model = PMCNetClassifier(**QUICK).fit(x, labels)
    found = of(model, KnownTable(x, labels, seen=True), KnownTable(x, labels))
    assert set(found) == {"posterior_predictive", "loo", "prior_predictive"}
    names = [line["class"] for line in found["posterior_predictive"]["classes"]]
    assert names == ["down", "up"]
    assert found["posterior_predictive"]["seen"]


def test_censored_rows_have_ranks_and_are_left_out_one_at_a_time():
    x, y = table(80)
    times, event = np.exp(y), np.resize([1.0, 1.0, 0.0], 80)
    model = PMCNetRegressor(likelihood="censored", **QUICK)
    model.fit(x, np.column_stack([times, event]))
    known = KnownTable(x, times, SecondColumn(event=event))
    found = of(model, known, known)
    assert set(found) == {"posterior_predictive", "loo"}
    assert found["posterior_predictive"]["n_censored"] == 26
    assert "densities" not in found["posterior_predictive"]


def test_few_rows_are_not_checked(right):
    x, y = rows(10)
    few = KnownTable(pd.DataFrame(x), y)
    assert checks_record(right, few, few, 0) == {}


def test_ensemble_has_replicates_and_leaves_nothing_out():
    x, y = table(60)
    settings = {"method": "adam-mle", "method_options": {"n_epochs": 2}, "device": "cpu"}
    model = PMCNetRegressor((2,), likelihood="gaussian", noise=0.6, prior_std=1.0, **settings)
    known = KnownTable(x, y)
    found = of(model.fit(x, y), known, known)
    assert set(found) == {"posterior_predictive", "residuals"}  # nor has it a prior


def test_rows_whose_inputs_know_their_targets_are_those_that_were_kept():
    levels = np.resize([f"level {i}" for i in range(30)], 90)
    x, y = table(90, level=levels)
    model = PMCNetRegressor(
        likelihood="gaussian", noise=0.6, column_types={"level": "many-levels"}, **QUICK
    ).fit(x, y)
    known = KnownTable(x, y)
    found = of(model, known, known)["loo"]
    assert found["merged"]
    assert found["elpd"] == pytest.approx(model.loo().elpd)


def test_large_tables_are_checked_by_a_thousand_rows(right):
    x, y = rows(1500)
    found = of(right, KnownTable(x_frame(x), y), KnownTable(x_frame(x[:80]), y[:80]))
    assert found["residuals"]["n_rows"] == 1000
    assert found["posterior_predictive"]["n_given"] == 1500
    assert len(found["residuals"]["prediction"]) == 200


def x_frame(x):
    return pd.DataFrame(x)

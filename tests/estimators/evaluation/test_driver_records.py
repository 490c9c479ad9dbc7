"""What drives predictions, as the page's record has it."""

import json

import pytest

from estimators.explanations.test_shapley import mixed_table
from estimators.tables import QUICK, classes
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.estimators.evaluation import driver_records as drivers
from pmcnet.estimators.evaluation.second_column import NO_COLUMN, SecondColumn
from pmcnet.io.plain import plain
from pmcnet.reports import page
from reports import records


@pytest.fixture(scope="module")
def model():
    return PMCNetRegressor(**QUICK, likelihood="gaussian", noise="learn").fit(*mixed_table())


def rows(x, y, n_test=0, second=NO_COLUMN):
    return drivers.KnownRows(
        x[n_test:], y[n_test:], second, x[:n_test], y[:n_test], second.at(slice(n_test))
    )


def test_record_of_a_table_can_be_drawn(model):
    found = json.loads(json.dumps(plain(drivers.driver_records(model, rows(*mixed_table())))))
    assert set(found) == {"importance", "effects", "interaction"}
    assert [each["feature"] for each in found["effects"]["columns"]] == [
        each["feature"] for each in found["importance"]["columns"]
    ]
    assert "Columns that act together" in page.render(records.regression() | found)


def test_importance_is_of_test_rows_where_there_are_enough(model):
    x, y = mixed_table(120, seed=3)
    assert drivers.driver_records(model, rows(x, y, 50))["importance"]["held_out"]
    assert not drivers.driver_records(model, rows(x, y, 49))["importance"]["held_out"]


def test_many_classes_are_five():
    x, y = classes(120, n_classes=4)
    found = drivers.driver_records(PMCNetClassifier(**QUICK).fit(x, y), rows(x, y))
    assert found["effects"]["classes"] == ["a", "b", "c", "d"]
    assert len(found["effects"]["columns"][0]["outputs"]) == 4


def test_large_networks_are_asked_less_and_too_large_ones_not_at_all(model, monkeypatch):
    known = rows(*mixed_table())
    monkeypatch.setattr(drivers, "_WORK", 2e7)
    assert drivers.driver_records(model, known)["effects"]["n_rows"] < 60
    monkeypatch.setattr(drivers, "_WORK", 1e4)
    assert drivers.driver_records(model, known) == {}


def test_counts_with_exposure_are_left_out(model):
    x, y = mixed_table()
    assert drivers.driver_records(model, rows(x, y, second=SecondColumn(exposure=y))) == {}

"""Other libraries in a comparison: the command, its files, what fails, and the rows they get."""

import json

import numpy as np
import pytest

from cli.commands import classes, done, files, numbers, refused, written
from estimators.tables import QUICK
from pmcnet import PMCNetClassifier, PMCNetRegressor, requirements
from pmcnet.competitors import COMPETITORS
from pmcnet.reports import page
from pmcnet.runs import compare, compared_names
from pmcnet.runs.compared_rows import given_rows, truth_of
from pmcnet.runs.config import RunSettings
from pmcnet.runs.prepare import prepare

KEPT = ("linear", "hist-boosting", "conformal-linear", "bde")
OURS = ("--hidden", 2, "--prior-std", 1, "--noise", "learn", "--device", "cpu")


@pytest.fixture
def few(monkeypatch):
    """A registry of four, one of which is not installed; runs have no pages of their own."""
    for name in set(COMPETITORS) - set(KEPT):
        monkeypatch.delitem(COMPETITORS, name)
    there = requirements.find_spec
    monkeypatch.setattr(requirements, "find_spec", lambda m: None if m == "bde" else there(m))
    monkeypatch.setattr(compare, "write_report", page.write_report)
    monkeypatch.setattr(page, "write_report", lambda record, path: path.write_text("<html>"))


def test_quick_compares_what_is_installed_and_ends_with_advice(few, tmp_path):
    data = written(numbers(80), tmp_path / "rows.csv")
    out = ("--out", tmp_path / "out")
    asked = ("--methods", "quick", "--budget", "1s", "--limit", "60s")
    result = done("compare", data, "--target", "y", *asked, *OURS, *out)
    stored = json.loads((tmp_path / "out" / "comparison.json").read_text())
    names = [entry["method"] for entry in stored["methods"]]
    assert names[1:] == ["linear", "hist-boosting", "conformal-linear"]
    assert "not installed, so not compared: bde. Use: pip install 'pmcnet[bde]'" in result.stderr
    assert "budget 1s for pmcnet, then at most 60 s for each of 3 models" in result.stderr
    assert result.stdout.splitlines()[-1] == stored["recommendation"]
    assert stored["recommendation"].startswith("Use ")
    ours, linear, boosting, conformal = stored["methods"]
    shared = {"rmse", "mae", "r2", "crps", "pinball", "coverage90", "width90"}
    assert all(shared <= set(entry["metrics"]) for entry in stored["methods"])
    assert "nll" in linear["metrics"]
    assert not {"nll"} & ({*boosting["metrics"]} | {*conformal["metrics"]})
    assert linear["library"].startswith("scikit-learn ")
    assert all(entry["seconds"] > 0 for entry in stored["methods"])
    assert ours["peak_mib"] is None
    assert any("rmse" in entry["best"] for entry in stored["methods"])
    text = (tmp_path / "out" / "report.html").read_text()
    assert "conformal-linear" in text
    assert stored["recommendation"].split(":")[0] in text


def test_what_fails_is_listed_and_ends_nothing(few, tmp_path):
    data = written(classes(60), tmp_path / "rows.csv")
    asked = ("--methods", "annealed,linear,hist-boosting,conformal-linear", "--budget", "1s")
    out = ("--out", tmp_path / "out")
    result = done("compare", data, "--target", "y", *asked, "--limit", 0.001, *OURS[:4], *out)
    entries = json.loads((tmp_path / "out" / "comparison.json").read_text())["methods"]
    assert [bool(entry.get("failed")) for entry in entries] == [False, True, True, True]
    slow = "not compared, fit and prediction took more than 0.001 s"
    assert f"hist-boosting: {slow}" in result.stdout
    assert "conformal-linear: not compared, it predicts numbers only" in result.stdout
    assert "it predicts numbers only" in (tmp_path / "out" / "report.html").read_text()


def test_competitors_need_test_rows_and_a_known_limit(tmp_path):
    data = written(numbers(), tmp_path / "rows.csv")
    common = ("compare", data, "--target", "y", "--methods", "annealed,linear")
    out = ("--out", tmp_path / "out")
    refused(*common, "--test-share", 0, *out, says=("linear can only be compared on test rows",))
    refused(*common, "--limit", "soon", *out, says=("--limit must be positive seconds",))
    assert files(tmp_path) == {"rows.csv"}


def test_second_columns_are_not_for_competitors(few, tmp_path):
    frame = numbers(60).assign(days=2.0)
    frame["y"] = (frame["y"] > 50).astype(int) * 3
    data = written(frame, tmp_path / "rows.csv")
    asked = ("--methods", "annealed,linear", "--exposure", "days", "--budget", "1s", "--json")
    common = ("--hidden", 2, "--prior-std", 1, "--likelihood", "poisson", "--out", tmp_path / "o")
    result = done("compare", data, "--target", "y", *asked, *common)
    entries = json.loads(result.stdout)
    assert entries[1]["failed"] == "it takes neither exposures nor events"


def test_rows_of_competitors_are_those_of_our_encoder(tmp_path):
    data = written(classes(40), tmp_path / "rows.csv")
    prepared = prepare(RunSettings(data=str(data), target="y"))
    model = PMCNetClassifier(**QUICK).fit(prepared.x_train, prepared.y_train)
    given = given_rows(model, prepared)
    encoded, levels = given["encoded"], given["levels"]
    np.testing.assert_allclose(
        encoded.x_test.values, model.encoder_.encode(model.encoder_.rows(prepared.x_test))
    )
    assert np.isfinite(encoded.x_train.values).all()
    place = list(prepared.x_train.columns).index("city")
    assert levels.x_train.categories == (place,)
    missing = prepared.x_train.isna().to_numpy()
    assert np.array_equal(np.isnan(levels.x_train.values), missing)
    codes = levels.x_train.values[~missing[:, place], place]
    assert set(codes) == {0.0, 1.0, 2.0}
    assert np.array_equal(encoded.y_test, truth_of(model, prepared).label.numpy())
    assert model.classes_[encoded.y_train.astype(int)].tolist() == prepared.y_train.tolist()


def test_levels_that_training_had_not_are_missing_to_competitors(tmp_path):
    data = written(classes(40), tmp_path / "rows.csv")
    prepared = prepare(RunSettings(data=str(data), target="y"))
    model = PMCNetClassifier(**QUICK).fit(prepared.x_train, prepared.y_train)
    strange = prepared._replace(x_test=prepared.x_test.assign(city="Paris"))
    with pytest.warns(UserWarning, match="cells unlike those of training"):
        model.predict(strange.x_test)
    column = given_rows(model, strange)["levels"].x_test.values[:, 2]
    assert np.isnan(column).all()


def test_target_averages_given_to_competitors_leave_out_the_row_itself(tmp_path):
    source = np.random.default_rng(0)
    frame = numbers(300).assign(code=[f"c{i}" for i in source.integers(0, 90, 300)])
    frame["y"] = frame["code"].str[1:].astype(int) / 30 + source.normal(size=300)
    data = written(frame, tmp_path / "rows.csv")
    settings = RunSettings(data=str(data), target="y", column_types={"code": "many-levels"})
    prepared = prepare(settings)
    model = PMCNetRegressor(**QUICK, column_types={"code": "many-levels"})
    model.fit(prepared.x_train, prepared.y_train)
    given = given_rows(model, prepared)["encoded"].x_train.values[:, -1]
    plain = model.encoder_.encode(model.encoder_.rows(prepared.x_train))[:, -1]
    residual = prepared.y_train - prepared.x_train["code"].str[1:].astype(int) / 30
    leaked = [np.corrcoef(inputs, residual)[0, 1] for inputs in (given, plain)]
    assert leaked[0] < leaked[1] - 0.1


def test_names_come_from_one_registry():
    assert compared_names.COMPETITORS is COMPETITORS

"""`pmcnet explain`: rows as people read them, JSON that adds up, and what is refused."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from cli.commands import classes, done, files, numbers, refused, written
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.estimators.evaluation.explained_rows import Effort


def explained(*arguments):
    return json.loads(done("explain", *arguments, "--json").stdout)


@pytest.fixture(scope="module")
def found(classified, tables):
    """Three rows of the table of the run."""
    return explained(classified, tables / "classes.csv", "--row", 17, "--rows", "3, 5-5")


def test_rows_come_in_the_order_asked_for(found):
    assert [row["row"] for row in found["rows"]] == [17, 3, 5]
    assert [row["truth"] for row in found["rows"]] == classes()["y"][[16, 2, 4]].tolist()
    assert found["remarks"] == []


def test_contributions_add_up_to_the_prediction(found):
    for row in found["rows"]:
        total = row["base"] + sum(one["mean"] for one in row["contributions"])
        assert total == pytest.approx(row["explained"], abs=1e-6)
        assert {one["column"] for one in row["contributions"]} == {"x", "z", "city"}
        for one in row["contributions"]:
            assert one["low95"] <= one["low80"] <= one["mean"] + 1e-12
            assert one["mean"] <= one["high80"] + 1e-12 <= one["high95"] + 2e-12


def test_prediction_and_novelty_are_those_of_the_model(found, classified, tables):
    model = PMCNetClassifier.load(classified / "model")
    frame = classes().drop(columns="y").iloc[[16, 2, 4]]
    probability, novelty = model.predict_proba(frame), model.novelty(frame)
    for i, row in enumerate(found["rows"]):
        stated = [one["probability"] for one in row["classes"]]
        np.testing.assert_allclose(stated, probability[i], rtol=1e-5)
        assert row["novelty"]["percentile"] == pytest.approx(novelty.percentile[i], abs=1e-5)
        assert row["novelty"]["is_novel"] == novelty.is_novel[i]


def test_nearest_rows_are_training_rows_with_their_cells(found, classified):
    tested = set(pd.read_csv(classified / "predictions.csv")["row"])
    frame = classes().astype(object).where(classes().notna(), None)
    for row in found["rows"]:
        distances = [one["distance"] for one in row["nearest"]]
        assert len(distances) == 5
        assert distances == sorted(distances)
        for one in row["nearest"]:
            assert one["row"] not in tested | {row["row"]}
            cells = frame.iloc[one["row"] - 1]
            assert one["target"] == cells["y"]
            assert one["values"] == {name: cells[name] for name in one["values"]}


def test_text_says_prediction_contributions_novelty_and_neighbours(regressed, tables):
    text = done("explain", regressed, tables / "numbers.csv", "--row", 17).stdout
    assert "row 17 of " in text
    assert f"with probability 95 %; the table has {numbers()['y'][16]:g}" in text
    for words in ("novelty: ", "farther from the training data than", "networks disagree"):
        assert words in text
    for title in ("predictive distribution", "contributions to the prediction", "nearest training"):
        assert title in text
    assert "average of training rows" in text


@pytest.mark.parametrize("run", ["classified", "regressed"])
def test_report_explains_test_rows_by_training_rows(run, request):
    folder = request.getfixturevalue(run)
    tested = pd.read_csv(folder / "predictions.csv").set_index("row")
    rows = json.loads((folder / "report.json").read_text())["explained"]
    assert 3 <= len(rows) <= 5
    for row in rows:
        assert row["truth"] == tested["truth"][row["row"]]
        assert row["novelty"]["percentile"] == pytest.approx(
            tested["novelty"][row["row"]], abs=1e-5
        )
        assert len(row["contributions"]) == (3 if run == "classified" else 2)
        assert not {one["row"] for one in row["nearest"]} & set(tested.index)
    assert '<section id="explained">' in (folder / "report.html").read_text()


def test_effort_of_contributions_keeps_to_its_limit(regressed):
    model = PMCNetRegressor.load(regressed / "model")
    n_sets, dim = 4, model.posterior_.network.layout.dim
    for most in np.geomspace(1e2, 1e8, 25):
        found = Effort.within(model, 3, most)
        if found is not None:
            assert 3 * n_sets * dim * found.n_networks * found.n_background <= most
    assert Effort.within(model, 3, 1e3) is None
    assert Effort.within(model, 3, 1e8) == (100, 100)
    assert Effort.within(model, 3, 1e8, 7) == (7, 100)


def test_table_that_has_changed_leaves_row_numbers(regressed, tables, tmp_path):
    run = shutil.copytree(regressed, tmp_path / "run")
    config = (run / "config.toml").read_text()
    other = written(numbers().assign(z=0.5), tmp_path / "other.csv")
    (run / "config.toml").write_text(config.replace(str(tables / "numbers.csv"), str(other)))
    found = explained(run, tables / "numbers.csv", "--row", 2)
    assert "has changed since" in found["remarks"][0]
    (row,) = found["rows"]
    assert row["nearest"]
    assert all(set(one) == {"row", "update", "distance"} for one in row["nearest"])
    tested = set(pd.read_csv(regressed / "predictions.csv")["row"])
    assert not {one["row"] for one in row["nearest"]} & tested  # numbers of the table
    assert {one["row"] for one in row["nearest"]} <= set(range(1, 31))


def test_model_saved_without_reference_rows_has_no_novelty(regressed, tables, tmp_path):
    model = PMCNetRegressor.load(regressed / "model")
    path = model.save(tmp_path / "m", reference_rows=False)
    result = done("predict", path, tables / "numbers.csv")
    assert "novelty" not in result.stdout.splitlines()[0]
    assert "unlike the training rows" not in result.stderr
    refused(
        "explain", path, tables / "numbers.csv", "--row", 1, says=("saved without reference rows",)
    )


def test_row_far_from_all_others_is_counted_and_flagged(regressed, tmp_path):
    frame = numbers().drop(columns="y")
    frame.loc[[3, 7], "x"] = 1e6
    path = written(frame, tmp_path / "new.csv")
    result = done("predict", regressed, path, "-o", tmp_path / "p.csv")
    rows = pd.read_csv(tmp_path / "p.csv")
    assert rows["is_novel"][[3, 7]].tolist() == [1, 1]
    assert rows["novelty"][[3, 7]].min() > 0.999
    assert f"{rows['is_novel'].sum()} of 30 rows are unlike the training rows" in result.stderr
    text = done("explain", regressed, path, "--rows", "4,8", "--passes", 5).stdout
    assert text.count("unlike the training rows") == 2
    assert "more than 99.9 %" in text
    assert "by 5 networks" in text


def test_json_goes_to_a_file_that_does_not_exist_yet(regressed, tables, tmp_path):
    out = tmp_path / "rows.json"
    asked = ("explain", regressed, tables / "numbers.csv", "--row", 1, "-o", out)
    result = done(*asked)
    assert (result.stdout, "explained 1 rows" in result.stderr) == ("", True)
    assert json.loads(out.read_text())["rows"][0]["row"] == 1
    refused(*asked, says=("exists already",))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), ("no row was named", "--row 17")),
        (("--row", "0"), ("30 rows, numbered from 1; there is no row 0", "from 1 to 30")),
        (("--row", "-3"), ("there is no row -3",)),
        (("--row", "31"), ("there is no row 31",)),
        (("--rows", "1,99999999999999"), ("there is no row 99999999999999",)),
        (("--rows", "7-2"), ("in the wrong order",)),
        (("--rows", "1-x"), ("row numbers like 3,17,20-25", "1-x")),
        (("--rows", "٣"), ("row numbers like",)),
        (("--rows", "1e3"), ("row numbers like",)),
        (("--rows", "9" * 500), ("row numbers like",)),
        (("--rows", "1-100000000"), ("at most 100 rows", "got 101")),
        (("--row", "x"), ("'x' is not a valid integer",)),
        (("--row", "1", "--passes", "1"), ("--passes",)),
        (("--row", "1", "-o", "no/such/folder/x.json"), ("cannot be written",)),
    ],
)
def test_rows_that_cannot_be_explained_are_refused(regressed, tables, options, says):
    refused("explain", regressed, tables / "numbers.csv", *options, says=says)


def test_table_without_a_column_of_the_model_is_refused(regressed, tmp_path):
    path = written(numbers().drop(columns="z"), tmp_path / "new.csv")
    refused("explain", regressed, path, "--row", 1, says=("lacks the column(s) 'z'",))


def test_folder_without_a_model_is_refused(tables, tmp_path):
    (tmp_path / "run").mkdir()
    says = ("has no model",)
    refused("explain", tmp_path / "run", tables / "numbers.csv", "--row", 1, says=says)
    assert files(tmp_path) == {"run"}

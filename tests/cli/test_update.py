"""`pmcnet update`: a run and new rows make another run."""

import json
import shutil
import tomllib

import numpy as np
import pandas as pd
import pytest

from cli.commands import TINY, classes, done, files, invoke, numbers, refused, written
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.runs.update import _Watch

pytestmark = pytest.mark.usefixtures("no_page")
OLD, NEW = 40, 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """old.csv, new.csv, a run of the old rows, and its update."""
    made, rows = tmp_path_factory.mktemp("update"), numbers(60)
    written(rows[:OLD], made / "old.csv")
    written(rows[OLD : OLD + NEW], made / "new.csv")
    written(rows[OLD + NEW :], made / "newer.csv")
    done("fit", made / "old.csv", "--target", "y", *TINY, "--out", made / "run")
    done("update", made / "run", made / "new.csv", "--out", made / "updated")
    return made


def config(run):
    return tomllib.loads((run / "config.toml").read_text())


def record(run, name="metrics.json"):
    return json.loads((run / name).read_text())


def test_update_makes_another_run_and_leaves_the_first(folder):
    first, second = folder / "run", folder / "updated"
    assert config(second)["provenance"]["updated_from"] == str(first)
    assert config(second)["provenance"]["updated_with"] == str(folder / "new.csv")
    assert "updated_from" not in config(first)["provenance"]
    assert "update" not in record(first)
    found = record(second)["update"]
    assert (found["number"], found["n_rows"]) == (1, NEW)
    n_train = [record(run, "report.json")["summary"]["n_train"] for run in (first, second)]
    assert n_train[1] == n_train[0] + NEW


def test_update_is_scored_on_the_test_rows_of_the_first_run(folder):
    before, after = (pd.read_csv(folder / run / "predictions.csv") for run in ("run", "updated"))
    assert (before["row"] == after["row"]).all()
    assert not np.allclose(before["prediction"], after["prediction"])


def test_update_of_a_run_equals_that_of_its_model(folder):
    model = PMCNetRegressor.load(folder / "run" / "model")
    rows = pd.read_csv(folder / "old.csv")
    tested = pd.read_csv(folder / "run" / "predictions.csv")["row"].to_numpy() - 1
    rows = rows.drop(index=tested).reset_index(drop=True)
    new = pd.read_csv(folder / "new.csv")
    model.restore_rows(rows[["x", "z"]], rows["y"]).update(new[["x", "z"]], new["y"])
    again = PMCNetRegressor.load(folder / "updated" / "model")
    assert (again.predict(new[["x", "z"]]) == model.predict(new[["x", "z"]])).all()


def test_update_prints_what_the_rows_were_and_an_updated_run_is_updated_again(folder, tmp_path):
    result = done("update", folder / "updated", folder / "newer.csv", "--out", tmp_path / "two")
    assert "10 new rows: log predictive evidence" in result.stdout
    assert record(tmp_path / "two")["update"]["number"] == 2
    assert config(tmp_path / "two")["provenance"]["updated_rows"] == 2 * NEW


def test_update_without_out_takes_a_free_place_beside_the_run(folder, tmp_path):
    shutil.copytree(folder / "run", tmp_path / "mine")
    result = done("update", tmp_path / "mine", folder / "new.csv", "--json")
    assert (tmp_path / "mine-updated" / "config.toml").is_file()
    assert json.loads(result.stdout)["update"]["n_rows"] == NEW


def test_rows_of_another_source_are_named_as_drift(folder, tmp_path):
    rows = pd.read_csv(folder / "new.csv")
    path = written(rows.assign(y=rows["y"] + 60), tmp_path / "shifted.csv")
    result = done("update", folder / "run", path, "--out", tmp_path / "out")
    assert "the new rows are far less probable than the model expected" in result.stderr
    assert record(tmp_path / "out")["update"]["drift"]


def test_rows_without_a_target_are_left_out(folder, tmp_path):
    rows = pd.read_csv(folder / "new.csv")
    rows.loc[[2, 5], "y"] = np.nan
    path = written(rows, tmp_path / "gaps.csv")
    result = done("update", folder / "run", path, "--out", tmp_path / "out")
    assert "2 rows of" in result.stderr
    assert record(tmp_path / "out")["update"]["n_rows"] == NEW - 2


def test_classification_is_updated(classified, tmp_path):
    path = written(classes(40)[30:], tmp_path / "new.csv")
    done("update", classified, path, "--out", tmp_path / "out")
    model = PMCNetClassifier.load(tmp_path / "out" / "model")
    assert model.update_.n_rows == 10
    assert model.classes_.tolist() == ["no", "yes"]


def test_class_that_the_run_had_not_is_refused(classified, tmp_path):
    rows = classes(40)[30:]
    rows.iloc[3, rows.columns.get_loc("y")] = "maybe"
    path = written(rows, tmp_path / "new.csv")
    says = ("class 'maybe' in row 4", "Correct or drop that row")
    refused_without_files(tmp_path, "update", classified, path, says=says)


def refused_without_files(tmp_path, *arguments, says):
    before = files(tmp_path)
    result = invoke(*arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2, result.output
    line = result.stderr.splitlines()[-1]
    assert line.startswith("Error: ")
    assert all(words in line for words in says), line
    assert files(tmp_path) == before


def test_data_that_has_changed_is_refused(folder, tmp_path):
    rows = pd.read_csv(folder / "old.csv")
    path = written(rows, tmp_path / "old.csv")
    done("fit", path, "--target", "y", *TINY, "--out", tmp_path / "run")
    written(rows.iloc[::-1].assign(x=1.5 * rows["x"]), path)
    says = ("has changed since", "fit again on all rows")
    refused_without_files(tmp_path, "update", tmp_path / "run", folder / "new.csv", says=says)


def test_rows_that_the_run_has_seen_are_refused(folder, tmp_path):
    says = ("has seen the rows of", "Give new rows only")
    for run, name in (("run", "old.csv"), ("updated", "new.csv")):
        refused_without_files(tmp_path, "update", folder / run, folder / name, says=says)


def test_methods_without_islands_are_refused(regressed, folder, tmp_path):
    says = ("fitted by pmcnet-light", "Fit again on all rows")
    refused_without_files(tmp_path, "update", regressed, folder / "new.csv", says=says)


def test_table_without_the_target_is_refused(folder, tmp_path):
    path = written(pd.read_csv(folder / "new.csv").drop(columns="y"), tmp_path / "new.csv")
    refused_without_files(
        tmp_path, "update", folder / "run", path, says=("has no target column 'y'",)
    )


def test_place_that_is_taken_is_refused(folder):
    refused("update", folder / "run", folder / "new.csv", "--out", folder / "updated",
            says=("exists already",))  # fmt: skip


def test_config_of_an_updated_run_is_no_config_of_a_fit(folder, tmp_path):
    says = ("was updated from", "Give the config of that run")
    refused_without_files(
        tmp_path, "fit", "--config", folder / "updated" / "config.toml", says=says
    )


def test_interrupted_update_leaves_no_folder(folder, tmp_path, monkeypatch):
    def stop(self, state, info):
        raise KeyboardInterrupt

    monkeypatch.setattr(_Watch, "__call__", stop)
    result = invoke("update", folder / "run", folder / "new.csv", "--out", tmp_path / "out")
    assert result.exit_code == 130
    assert "is as it was. Update again." in result.stderr
    assert files(tmp_path) == set()

"""Runs, models, configs and rows that cannot be used: one sentence, exit code 2, no files."""

import json
import shutil
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import tomli_w

from cli.commands import TINY, classes, done, files, refused, written
from pmcnet.estimators.model_file import fingerprint
from pmcnet.runs import predict as run_predict


@pytest.fixture
def run(classified, tmp_path) -> Path:
    """A finished run that may be damaged."""
    shutil.copytree(classified, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def unfinished(run) -> Path:
    for name in ("model", "checkpoint"):
        shutil.rmtree(run / name)
    for name in ("metrics.json", "report.json", "report.html", "predictions.csv"):
        (run / name).unlink()
    return run


@pytest.fixture
def predict(classified, tmp_path):
    """Predict a table, which must be refused and leave nothing."""

    def refuse(frame: pd.DataFrame, *says: str) -> None:
        path = written(frame, tmp_path / "rows.csv")
        refused("predict", classified, path, "-o", tmp_path / "out.csv", says=says)
        refused("predict", classified, path, says=says)
        assert files(tmp_path) == {"rows.csv"}

    return refuse


def test_missing_columns_are_named(predict):
    predict(classes()[["city"]], "lacks the column(s) 'x', 'z'", "Add them")


def test_unseen_levels_are_counted_over_the_pieces_of_a_table(classified, tmp_path, monkeypatch):
    monkeypatch.setattr(run_predict, "CHUNK_ROWS", 7)
    frame = classes()
    frame.loc[[3, 11, 26], "city"] = "Paris"
    path = written(frame, tmp_path / "rows.csv")
    result = done("predict", classified, path, "-o", tmp_path / "out.csv")
    assert "cells unlike those of training count as missing: 'city' in 3 rows." in result.stderr
    found = pd.read_csv(tmp_path / "out.csv")
    frame.loc[[3, 11, 26], "city"] = None
    done(
        "predict",
        classified,
        written(frame, tmp_path / "gaps.csv"),
        "-o",
        tmp_path / "gaps_out.csv",
    )
    gaps = pd.read_csv(tmp_path / "gaps_out.csv")
    columns = [name for name in found if name.startswith("probability")]
    assert (found[columns] == gaps[columns]).all(axis=None)


def test_text_in_a_column_of_numbers_is_refused_with_its_row(predict):
    frame = classes().astype({"x": object})
    frame.loc[4, "x"] = "abc"
    predict(frame, "column 'x'", "row 5", "'abc'")


def test_infinite_number_is_refused_with_its_row(predict):
    frame = classes()
    frame.loc[4, "x"] = float("inf")
    predict(frame, "column 'x' has an infinity", "row 5")


def test_table_with_a_prediction_already_is_refused(predict):
    predict(classes().assign(prediction="yes"), "column 'prediction' already", "Rename")


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_table_that_is_not_there_is_refused(classified, tmp_path, command):
    refused(command, classified, tmp_path / "no.csv", says=("no file",))


@pytest.mark.parametrize("coverage", ["0", "1", "95", "nan"])
def test_coverage_outside_0_and_1_is_refused(classified, tables, coverage):
    refused(
        "predict",
        classified,
        tables / "classes.csv",
        "--coverage",
        coverage,
        says=("--coverage", "0.95"),
    )


@pytest.mark.parametrize("options", [("--passes", "0"), ("--passes", "x"), ("--device", "abacus")])
def test_option_of_predict_that_cannot_be_is_refused(classified, tables, options):
    refused("predict", classified, tables / "classes.csv", *options)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (classes().drop(columns="y"), "no target column 'y'"),
        (classes().assign(y="maybe"), "class 'maybe' in row 1"),
        (classes().assign(y=None), "no row with a target 'y'"),
        (classes().drop(columns="x"), "lacks the column(s) 'x'"),
    ],
)
def test_table_that_cannot_be_scored_is_refused(classified, tmp_path, frame, says):
    refused("evaluate", classified, written(frame, tmp_path / "rows.csv"), says=(says,))


def test_regression_cannot_be_scored_on_strings(regressed, tables):
    refused("evaluate", regressed, tables / "classes.csv", says=("holds strings such as",))


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("full", "exists already"),
        ("file", "exists already"),
        ("file/below", "cannot be written"),
        ("new/" + 300 * "x", "cannot be written"),
    ],
)
def test_folder_that_cannot_be_made_is_refused(tables, tmp_path, place, says):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = files(tmp_path)
    arguments = (tables / "classes.csv", "--target", "y", "--out", tmp_path / place)
    refused("fit", *arguments, *TINY, says=(says, "Choose another --out"))
    refused("compare", *arguments, says=(says,))
    assert files(tmp_path) == before


def test_folder_that_may_not_be_written_is_refused(tables, tmp_path, monkeypatch):
    def forbid(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", forbid)
    arguments = (
        "fit",
        tables / "classes.csv",
        "--target",
        "y",
        *TINY,
        "--out",
        tmp_path / "a" / "b",
    )
    refused(*arguments, says=("cannot be written (Permission denied)",))
    assert files(tmp_path) == set()


def test_empty_folder_stays_when_the_fit_is_refused(tables, tmp_path):
    refused("fit", tables / "classes.csv", "--target", "q", "--out", tmp_path)
    assert tmp_path.is_dir()


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("out.csv", "exists already"),
        ("no/out.csv", "No such file"),
        ("out.csv/below.csv", "Not a directory"),
    ],
)
def test_file_that_cannot_be_written_is_refused(classified, tables, tmp_path, place, says):
    (tmp_path / "out.csv").write_text("mine")
    refused(
        "predict",
        classified,
        tables / "classes.csv",
        "-o",
        tmp_path / place,
        says=(says, "Choose another -o"),
    )
    assert files(tmp_path) == {"out.csv"}
    assert (tmp_path / "out.csv").read_text() == "mine"


def _truncated_tensors(model: Path) -> None:
    file = model / "tensors.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def _no_tensors(model: Path) -> None:
    (model / "tensors.safetensors").unlink()


def _no_json(model: Path) -> None:
    (model / "model.json").unlink()


def _truncated_json(model: Path) -> None:
    file = model / "model.json"
    file.write_text(file.read_text()[:-100])


def _edited_json(model: Path) -> None:
    file = model / "model.json"
    file.write_text(file.read_text().replace('"prior_std_": 1.0', '"prior_std_": 9.0'))


def _other_json(model: Path) -> None:
    (model / "model.json").write_text('{"kind": "recipe"}')


def _newer(model: Path) -> None:
    file = model / "model.json"
    record = json.loads(file.read_text()) | {"version": 99}
    file.write_text(json.dumps(record | {"fingerprint": fingerprint(record)}))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_truncated_tensors, "damaged or was changed"),
        (_no_tensors, "has no tensors.safetensors"),
        (_no_json, "has no model.json"),
        (_truncated_json, "damaged or truncated"),
        (_edited_json, "was changed after it was written"),
        (_other_json, "JSON of another kind"),
        (_newer, "format version 99"),
    ],
)
def test_damaged_model_is_refused(run, tables, damage, says):
    damage(run / "model")
    refused("predict", run, tables / "classes.csv", says=(says,))
    refused("diagnose", run, says=(says,))


@pytest.mark.parametrize("command", ["predict", "evaluate", "diagnose", "resume", "report"])
def test_folder_that_is_no_run_is_refused(tmp_path, tables, command):
    data = (tables / "classes.csv",) if command in ("predict", "evaluate") else ()
    for place in (tmp_path, tmp_path / "nowhere", tables / "classes.csv"):
        refused(command, place, *data, says=("Give a folder that `pmcnet fit` wrote",))
    assert files(tmp_path) == set()


@pytest.mark.parametrize("command", ["predict", "evaluate", "diagnose", "report"])
def test_unfinished_run_says_how_to_go_on(unfinished, tables, command):
    data = (tables / "classes.csv",) if command in ("predict", "evaluate") else ()
    refused(command, unfinished, *data, says=("not finished", f"pmcnet resume {unfinished}"))


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 1}', '{"format": 99}', "null"])
def test_damaged_record_is_not_drawn(run, content):
    before = (run / "report.html").read_bytes()
    (run / "report.json").write_text(content)
    refused("report", run)
    assert (run / "report.html").read_bytes() == before
    assert not list(run.glob(".*"))


def test_finished_run_is_not_resumed(classified):
    refused("resume", classified, says=("is finished; there is nothing to resume",))


def test_damaged_checkpoint_is_refused(run):
    (run / "metrics.json").unlink()
    (run / "checkpoint" / "state.safetensors").write_bytes(b"no")
    before = files(run)
    refused("resume", run, says=("cannot be read as a checkpoint",))
    assert files(run) == before


def test_run_whose_data_changed_is_not_resumed(run, tmp_path):
    _with_data(run, written(classes().head(20), tmp_path / "rows.csv"))
    (run / "metrics.json").unlink()
    refused("resume", run, says=("has changed since the run began",))


@pytest.mark.usefixtures("no_page")
def test_config_whose_data_changed_is_refused(run, tmp_path):
    path = written(classes().head(20), tmp_path / "rows.csv")
    _with_data(run, path)
    arguments = ("fit", "--config", run / "config.toml", "--out", tmp_path / "other")
    refused(*arguments, says=("fingerprint differs", "remove [provenance]"))
    assert not (tmp_path / "other").exists()
    done("fit", written(classes().tail(25), tmp_path / "new.csv"), *arguments[1:])


def _with_data(run: Path, data: Path) -> None:
    config = tomllib.loads((run / "config.toml").read_text())
    (run / "config.toml").write_text(tomli_w.dumps(config | {"data": str(data)}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("data = ", "not a readable TOML file"),
        ("data = 3", "data must be a string; got 3"),
        ("wings = 2", "there is no setting wings; there are data, delimiter"),
        ("hidden = 'a'", "hidden must be a list of whole numbers; got 'a'"),
        ("hidden = [1.5]", "hidden must be a list of whole numbers"),
        ("seed = 1.5", "seed must be a whole number; got 1.5"),
        ("seed = inf", "seed must be a whole number; got inf"),
        ("seed = true", "seed must be a whole number; got True"),
        ("task = 'cluster'", "task must be one of auto, regression, classification; got 'cluster'"),
        ("activation = 'sine'", "activation must be one of tanh, relu, sigmoid, silu"),
        ("prior = 'cauchy'", "prior must be one of gaussian, layer, laplace"),
        ("feature_scaling = 'x'", "feature_scaling must be one of columns, common, none"),
        ("prior_std = [1]", "prior_std must be a number or a string"),
        ("method_options = 3", "method_options must be a table"),
        ("method_options = {n_particles = 'x'}", "n_particles must be a whole number"),
        ("provenance = 3", "provenance must be a table"),
        ("method = 3", "method must be a string"),
    ],
)
def test_config_that_cannot_be_is_refused(tables, tmp_path, text, says):
    (tmp_path / "c.toml").write_text(text)
    data = () if text.startswith("data") else (tables / "classes.csv",)
    options = ("--target", "y", "--config", tmp_path / "c.toml", "--out", tmp_path / "run")
    refused("fit", *data, *options, says=(says,))
    assert files(tmp_path) == {"c.toml"}


def test_config_that_is_not_there_is_refused(tmp_path):
    refused("fit", "--config", tmp_path / "no.toml", says=("no config file",))
    refused("fit", "--config", tmp_path, says=("not a readable TOML file (Is a directory)",))

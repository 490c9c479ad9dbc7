"""One table in many forms on the command line: the same bits, and a line on what was read."""

import tomllib
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from cli.commands import done, invoke, refused
from data.readers.same_table import QUERY, WAYS, database, table
from pmcnet.cli import main

QUICK = (
    "--method", "adam-map", "--option", "n_epochs=3", "--prior-std", "1", "--noise", "learn",
    "--likelihood", "gaussian", "--hidden", "2", "--device", "cpu", "--target", "y",
)  # fmt: skip
FILES = (
    "commas.csv",
    "decimal.csv",
    "wide.csv",
    "rows.csv.bz2",
    "rows.zip",
    "rows.xlsx",
    "rows.parquet",
    "rows.feather",
    "rows.jsonl",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("forms")
    for name in FILES:
        (folder / name).write_bytes(WAYS[name](table()))
    database(table(), folder / "rows.db")
    done("fit", folder / "commas.csv", *QUICK, "--out", folder / "run")
    done("predict", folder / "run", folder / "commas.csv", "-o", folder / "predicted.csv")
    return folder


def fitted(place: Path, out: Path, *data: object, stdin: bytes | None = None) -> tuple[str, str]:
    """What the run on that table predicts, and what it printed."""
    arguments = [str(each) for each in ("fit", *data, *QUICK, "--out", out)]
    result = CliRunner().invoke(main, arguments, input=stdin)
    assert result.exit_code == 0, result.output
    return (out / "predictions.csv").read_text(), result.stderr


@pytest.mark.parametrize(
    "name", ["wide.csv", "rows.zip", "rows.xlsx", "rows.feather", "rows.jsonl"]
)
def test_predictions_have_the_same_bits_whatever_the_file(place, tmp_path, name):
    found, said = fitted(place, tmp_path / "run", place / name)
    assert found == (place / "run" / "predictions.csv").read_text()
    assert "read 40 rows, 5 columns" in said


def test_predictions_have_the_same_bits_from_standard_input_and_a_database(place, tmp_path):
    expected = (place / "run" / "predictions.csv").read_text()
    content = WAYS["decimal.csv"](table())
    found, said = fitted(place, tmp_path / "a", "-", stdin=content)
    assert found == expected
    assert "read 40 rows, 5 columns; delimiter ';', decimal comma\n" in said
    url = f"sqlite:///{place / 'rows.db'}"
    found, said = fitted(place, tmp_path / "b", url, "--sql", QUERY)
    assert found == expected
    assert f"SQL from {url}" in said


@pytest.mark.parametrize("name", FILES[1:])
def test_run_predicts_tables_of_every_kind(place, tmp_path, name):
    done("predict", place / "run", place / name, "-o", tmp_path / "out.csv")
    added = ["prediction", "std", "lower", "upper"]
    one, other = (
        pd.read_csv(path)[added] for path in (place / "predicted.csv", tmp_path / "out.csv")
    )
    pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_run_is_evaluated_alike_on_tables_of_every_kind(place):
    names = ("commas.csv", "wide.csv", "rows.xlsx", "rows.jsonl")
    assert len({done("evaluate", place / "run", place / name).stdout for name in names}) == 1


def test_predict_and_evaluate_read_standard_input_and_say_how(place):
    content = WAYS["rows.csv.bz2"](table())
    result = CliRunner().invoke(main, ["predict", str(place / "run"), "-"], input=content)
    assert result.exit_code == 0, result.output
    assert "understood: delimiter ';', decimal comma, bzip2\n" in result.stderr
    result = CliRunner().invoke(main, ["evaluate", str(place / "run"), "-"], input=content)
    assert result.exit_code == 0, result.output


def test_predict_takes_its_own_reading_options(place, tmp_path):
    path = tmp_path / "new.txt"
    path.write_bytes(b"x:n:city:when\n1,5:3:Z\xfcrich:2024-01-05\n")
    result = done("predict", place / "run", path, "--delimiter", ":", "--decimal", ",",
                  "--encoding", "latin-1")  # fmt: skip
    assert "delimiter ':', decimal comma, LATIN-1" in result.stderr
    assert "Zürich" in result.stdout


def test_run_keeps_how_its_table_is_read_and_repeats(place, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text(table().to_csv(index=False, sep=":", decimal=","))
    asked = ("--delimiter", ":", "--decimal", ",")
    first, _ = fitted(place, tmp_path / "a", path, *asked)
    config = tomllib.loads((tmp_path / "a" / "config.toml").read_text())
    assert (config["delimiter"], config["decimal"]) == (":", ",")
    assert config["provenance"]["table"].endswith("delimiter ':', decimal comma")
    done("fit", "--config", tmp_path / "a" / "config.toml", "--out", tmp_path / "b")
    assert (tmp_path / "b" / "predictions.csv").read_text() == first
    other = ("--config", tmp_path / "a" / "config.toml", "--out", tmp_path / "c")
    done("fit", place / "rows.parquet", *other)  # read in its own way
    assert (tmp_path / "c" / "predictions.csv").read_text() == first


def test_compare_reads_standard_input_once_for_all_methods(tmp_path):
    arguments = ["compare", "-", "--target", "y", "--methods", "adam-map,adam-mle", "--tune",
                 "none", "--hidden", "2", "--device", "cpu", "--prior-std", "1", "--noise",
                 "learn", "--likelihood", "gaussian", "--out", str(tmp_path / "out")]  # fmt: skip
    result = CliRunner().invoke(main, arguments, input=WAYS["commas.csv"](table()))
    assert result.exit_code == 0, result.output
    assert result.stderr.count("read 40 rows, 5 columns; delimiter ','") == 2


def test_bad_reading_options_are_refused_in_a_sentence(place, tmp_path):
    out = ("--target", "y", "--out", tmp_path / "run")
    refused("fit", place / "commas.csv", "--delimiter", ";", *out, says=("look separated by",))
    refused("fit", place / "rows.xlsx", "--sheet", "7", *out, says=("no sheet '7'", "'Sheet1'"))
    refused("fit", place / "rows.parquet", "--decimal", ",", *out, says=("has no decimal",))
    refused("fit", "sqlite:///no.db", *out, says=("Say which rows: --sql",))
    url = f"sqlite:///{place / 'rows.db'}"
    refused("fit", url, "--sql", "DROP TABLE rows", *out, says=("Nothing else is run",))
    refused("predict", place / "run", "-", "--sheet", "x", says=("is empty",))
    assert not (tmp_path / "run").exists()


def test_password_of_a_database_is_not_stored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = "postgresql://me:secret@127.0.0.1:1/shop"
    result = invoke("fit", url, "--sql", "SELECT 1", "--target", "y")
    assert result.exit_code == 2
    assert "secret" not in result.output
    assert list(tmp_path.iterdir()) == []

"""What commands write is opened in spreadsheets: no text of a table may run there."""

import csv
import json

import pandas as pd
import pytest

from cli.commands import TINY, classes, done
from pmcnet import data
from pmcnet.data.csv_injection import unguarded

SIGNS = tuple("=+-@\t\r")


def hostile() -> pd.DataFrame:
    """Formulas as classes, categories, identifiers and column names; a class with a line break."""
    frame = classes()
    frame["y"] = frame["y"].map({"yes": "=HYPERLINK(1)", "no": "@no\rno"})
    frame["city"] = frame["city"].map({"Bergen": "+b|'x'!A1", "Oslo": "-oslo", "Tromsø": "-"})
    frame["id"] = [f"=cmd{i}\r" if i % 2 else f"-{i}" for i in range(len(frame))]
    return frame.rename(columns={"x": "=x", "z": "-z"})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    hostile().to_csv(folder / "rows.csv", index=False, quoting=csv.QUOTE_ALL)
    done(
        "fit", folder / "rows.csv", "--target", "y", "--drop", "id", *TINY, "--out", folder / "run"
    )
    done("predict", folder / "run", folder / "rows.csv", "-o", folder / "out.csv")
    return folder


def cells(path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", ["out.csv", "run/predictions.csv"])
def test_no_cell_would_run(run, name):
    rows = cells(run / name)
    assert len({len(row) for row in rows}) == 1
    for cell in (cell for row in rows for cell in row):
        assert not cell.startswith(SIGNS) or is_number(cell) or len(cell) == 1, cell


def test_classes_are_guarded_in_predictions(run):
    header, *rows = cells(run / "run" / "predictions.csv")
    assert header[:3] == ["row", "truth", "prediction"]
    assert {row[1] for row in rows} | {row[2] for row in rows} <= {"'=HYPERLINK(1)", "'@no\rno"}


def test_numbers_are_untouched(run):
    given, found = hostile(), pd.read_csv(run / "out.csv")
    assert list(found.columns[:5]) == ["'=x", "'-z", "city", "y", "id"]
    pd.testing.assert_series_equal(found["'=x"], given["=x"], check_names=False)
    assert found["id"][0] == "-0"


def test_written_table_is_read_as_it_was(run):
    before, after = data.read_frame(run / "rows.csv"), data.read_frame(run / "out.csv")
    pd.testing.assert_frame_equal(after[before.columns], before)
    assert set(after["prediction"]) <= {"=HYPERLINK(1)", "@no\rno"}


def test_written_table_is_evaluated_like_the_original(run):
    found = [
        json.loads(done("evaluate", run / "run", run / f"{name}.csv", "--json").stdout)
        for name in ("rows", "out")
    ]
    assert found[0]["bma"] == found[1]["bma"]


def test_standard_output_is_guarded_too(run):
    text = done("predict", run / "run", run / "rows.csv").stdout
    assert text.encode() == (run / "out.csv").read_bytes()


def test_original_texts_are_known(run):
    assert {unguarded(row[3]) for row in cells(run / "out.csv")[1:]} == {"=HYPERLINK(1)", "@no\rno"}

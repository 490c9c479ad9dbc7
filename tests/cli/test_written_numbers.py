"""A table of prices, percentages and words for missing, from fit to evaluate."""

import json

import numpy as np
import pandas as pd
import pytest

from cli.commands import LIGHT, done, invoke, written


def prices(n, seed=0):
    """Prices by size and discount, as a shop writes them."""
    draw = np.random.default_rng(seed)
    size, discount = draw.lognormal(3, 1, n), draw.integers(0, 30, n)
    price = 50 * size * (1 - discount / 100)
    return pd.DataFrame(
        {
            "size": [f"{value:.1f} kg" for value in size],
            "discount": [f"{value} %" if value else "-" for value in discount],
            "price": [f"€ {value:,.2f}" for value in price],
            "grade": np.where(price > 2000, "high", "low"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run, and the table it was fitted to."""
    folder = tmp_path_factory.mktemp("prices")
    written(prices(60), folder / "rows.csv")
    target = ("--target", "price", "--drop", "grade")
    result = done("fit", folder / "rows.csv", *target, *LIGHT, "--out", folder / "run")
    assert "the target 'price' is read as numbers like '€ " in result.stderr
    return folder


def test_written_numbers_are_listed_in_the_report(folder):
    columns = json.loads((folder / "run" / "report.json").read_text())["columns"]
    assert [one["kind"] in ("number", "log-number") for one in columns] == [True, True]
    assert "kg'" in columns[0]["why"]
    assert "cells ('-') that are none and count as missing" in columns[1]["why"]


def test_later_tables_may_write_a_word(folder, tmp_path):
    later = prices(5, seed=1).drop(columns=["price", "grade"])
    later.loc[2, "size"] = "large"
    written(later, tmp_path / "later.csv")
    result = done("predict", folder / "run", tmp_path / "later.csv", "-o", tmp_path / "out.csv")
    assert "cells unlike those of training count as missing: 'size' in 1 rows." in result.stderr
    predicted = pd.read_csv(tmp_path / "out.csv")
    assert np.isfinite(predicted["prediction"]).all()


def test_later_tables_in_another_notation_are_refused(folder, tmp_path):
    later = prices(5, seed=1).assign(size=[f"{i} lb" for i in range(5)])
    written(later.drop(columns=["price", "grade"]), tmp_path / "later.csv")
    result = invoke("predict", folder / "run", tmp_path / "later.csv")
    assert result.exit_code == 2
    assert "column 'size' is a" in result.stderr
    assert "row 1 has '0 lb'" in result.stderr


def test_written_targets_are_evaluated(folder, tmp_path):
    written(prices(20, seed=2), tmp_path / "truth.csv")
    result = done("evaluate", folder / "run", tmp_path / "truth.csv", "--json")
    found = json.loads(result.stdout)
    assert found["n_test"] == 20
    assert found["base_rate"] is None
    assert found["bma"]["rmse"] > 10  # in euros


def test_base_rate_stands_below_the_accuracy(tmp_path):
    frame = prices(60)
    written(frame, tmp_path / "rows.csv")
    target = ("--target", "grade", "--drop", "price")
    result = done("fit", tmp_path / "rows.csv", *target, *LIGHT, "--out", tmp_path / "run")
    found = json.loads((tmp_path / "run" / "metrics.json").read_text())["base_rate"]
    rows = pd.read_csv(tmp_path / "run" / "predictions.csv")["row"] - 1
    shares = frame["grade"].iloc[rows].value_counts(normalize=True)
    assert found == {"class": shares.idxmax(), "accuracy": pytest.approx(shares.max())}
    words = f"always saying {found['class']!r} would be right in {found['accuracy']:.1%}"
    assert words in result.stdout
    assert f"Always saying &#x27;{found['class']}" in (tmp_path / "run" / "report.html").read_text()

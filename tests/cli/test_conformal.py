"""`pmcnet fit --conformal`: calibrated columns, metrics of both, and a page that says so."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.commands import TINY, done, invoke, refused, written
from pmcnet import PMCNetClassifier, PMCNetRegressor

BOTH = [f"{prefix}{what}" for prefix in ("", "conformal_") for what in ("coverage", "width")]
ASKED = [f"{name}{level}" for level in (90, 95) for name in BOTH]
SETS = [f"conformal_set_{what}{level}" for level in (90, 95) for what in ("coverage", "size")]


def table(n=120, seed=0) -> pd.DataFrame:
    source = np.random.default_rng(seed)
    x = source.normal(size=n)
    y = x + source.normal(size=n)
    return pd.DataFrame({"x": x, "y": y, "kind": np.digitize(y, [-0.7, 0.7])})


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A calibrated run of numbers and one of classes."""
    folder = tmp_path_factory.mktemp("conformal")
    written(table(), folder / "rows.csv")
    for target, other in (("y", "kind"), ("kind", "y")):
        done(
            *("fit", folder / "rows.csv", "--target", target, "--drop", other, *TINY),
            *("--conformal", "--out", folder / target),
        )
    return folder


def record(run: Path, name: str) -> dict:
    return json.loads((run / name).read_text())


def test_metrics_hold_plain_and_calibrated_intervals(runs):
    found = record(runs / "y", "metrics.json")["bma"]
    assert set(ASKED) <= set(found)
    model = PMCNetRegressor.load(runs / "y" / "model")
    predictions = pd.read_csv(runs / "y" / "predictions.csv")
    rows = table().iloc[predictions["row"] - 1]
    truth = predictions["truth"]
    for level in (90, 95):
        interval = model.predict_interval(rows[["x"]], level / 100)
        plain = model.predict_quantiles(rows[["x"]], [0.5 - level / 200, 0.5 + level / 200])
        for prefix, (low, high) in (("conformal_", interval.T), ("", plain.T)):
            inside = ((low <= truth) & (truth <= high)).mean()
            assert found[f"{prefix}coverage{level}"] == pytest.approx(inside)
            assert found[f"{prefix}width{level}"] == pytest.approx((high - low).mean(), rel=1e-6)


def test_tables_have_calibrated_intervals(runs, tmp_path):
    model = PMCNetRegressor.load(runs / "y" / "model")
    predictions = pd.read_csv(runs / "y" / "predictions.csv")
    rows = table().iloc[predictions["row"] - 1][["x"]]
    np.testing.assert_allclose(
        predictions[["lower", "upper"]], model.predict_interval(rows, 0.9), rtol=1e-6
    )
    done("predict", runs / "y", runs / "rows.csv", "-o", tmp_path / "new.csv")
    new = pd.read_csv(tmp_path / "new.csv")
    expected = model.predict_interval(table()[["x"]], 0.95)
    np.testing.assert_allclose(new[["lower", "upper"]], expected, rtol=1e-6)


def test_tables_have_sets_of_classes(runs, tmp_path):
    model = PMCNetClassifier.load(runs / "kind" / "model")
    predictions = pd.read_csv(runs / "kind" / "predictions.csv", dtype={"prediction_set": str})
    rows = table().iloc[predictions["row"] - 1][["x"]]
    expected = [
        " | ".join(str(i) for i in np.flatnonzero(row)) for row in model.predict_set(rows, 0.9)
    ]
    assert predictions["prediction_set"].tolist() == expected
    done("predict", runs / "kind", runs / "rows.csv", "-o", tmp_path / "new.csv")
    assert pd.read_csv(tmp_path / "new.csv")["prediction_set"].notna().all()


def test_evaluate_reports_coverage_and_size_of_sets(runs):
    output = done("evaluate", runs / "kind", runs / "rows.csv", "--json").output
    found = json.loads(output)["bma"]
    assert set(SETS) <= set(found)
    assert 1 <= found["conformal_set_size90"] <= found["conformal_set_size95"] <= 3
    assert found["conformal_set_coverage90"] <= found["conformal_set_coverage95"]
    shown = done("evaluate", runs / "y", runs / "rows.csv").output
    assert all(name in shown for name in ASKED)


def test_page_names_the_calibration_beside_the_metrics(runs):
    for target, words in (("y", "conformal intervals"), ("kind", "conformal sets of classes")):
        text = (runs / target / "report.html").read_text()
        assert f"{words}, by 19 training rows held out" in text
    entries = {each["name"]: each for each in record(runs / "y", "report.json")["metrics"]}
    assert entries["conformal_width90"]["label"] == "mean width of conformal 90 % intervals"
    assert entries["width90"]["better"] == "lower"
    assert entries["coverage90"]["better"] == "near 90 %"


def test_config_repeats_the_run(runs, tmp_path):
    assert "conformal = true" in (runs / "y" / "config.toml").read_text()
    done("fit", "--config", runs / "y" / "config.toml", "--out", tmp_path / "again")
    again = (tmp_path / "again" / "predictions.csv").read_bytes()
    assert again == (runs / "y" / "predictions.csv").read_bytes()


def test_plain_run_has_none_of_it(regressed, classified):
    assert not {name for name in record(regressed, "metrics.json")["bma"] if "conformal" in name}
    assert "prediction_set" not in pd.read_csv(classified / "predictions.csv").columns
    assert record(regressed, "report.json")["summary"]["calibration"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--exposure", "kind"), "conformal intervals are for counts without an exposure"),
        (("--event", "kind"), "not for times that may be censored"),
    ],
)
def test_second_columns_are_refused(runs, tmp_path, arguments, says):
    run = ("--target", "y", *arguments, "--conformal", "--out", tmp_path / "r")
    refused("fit", runs / "rows.csv", *run, says=(says,))
    assert not (tmp_path / "r").exists()


def test_table_that_is_too_small_is_refused(tmp_path):
    written(table(40), tmp_path / "rows.csv")
    run = ("--target", "y", *TINY, "--conformal", "--out", tmp_path / "r")
    result = invoke("fit", tmp_path / "rows.csv", *run)
    assert result.exit_code == 2
    assert "got 32 rows. Give 38 rows" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.output
    assert not (tmp_path / "r").exists()


def test_config_whose_flag_is_no_flag_is_refused(tmp_path):
    written(table(40), tmp_path / "rows.csv")
    (tmp_path / "c.toml").write_text(f'data = "{tmp_path}/rows.csv"\ntarget = "y"\nconformal = 1\n')
    refused("fit", "--config", tmp_path / "c.toml", says=("conformal must be true or false",))

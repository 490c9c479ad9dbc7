"""Counts with exposures and times with events, from tables to run folders and back."""

import json
import re
import shutil
import tomllib

import numpy as np
import pandas as pd
import pytest

from cli.commands import LIGHT, TINY, done, numbers, refused, written
from pmcnet import PMCNetRegressor
from pmcnet.errors import InputError
from pmcnet.runs.exposures_and_events import exposures

COUNTS = ("--target", "n", "--exposure", "days", "--likelihood", "poisson", *TINY)
TIMES = ("--target", "time", "--event", "died", *TINY)


def counted(n_rows=40):
    source = np.random.default_rng(0)
    x, days = source.normal(size=n_rows).round(3), (10 ** source.uniform(-1, 1.5, n_rows)).round(3)
    return pd.DataFrame({"x": x, "days": days, "n": source.poisson(days * np.exp(1 + x))})


def timed(n_rows=40):
    source = np.random.default_rng(1)
    x = source.normal(size=n_rows).round(3)
    time = np.exp(1 + 0.5 * x + 0.3 * source.normal(size=n_rows))
    late = source.exponential(6, n_rows)
    died = np.where(time <= late, "yes", "No")
    return pd.DataFrame({"x": x, "time": np.minimum(time, late).round(3), "died": died})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("second")
    written(counted(), made / "counts.csv")
    written(timed(), made / "times.csv")
    return made


@pytest.fixture(scope="module")
def counts(folder):
    done("fit", folder / "counts.csv", *COUNTS, "--out", folder / "counts")
    return folder / "counts"


@pytest.fixture(scope="module")
def times(folder):
    done("fit", folder / "times.csv", *TIMES, "--out", folder / "times")
    return folder / "times"


def config(run):
    return tomllib.loads((run / "config.toml").read_text())


def metrics(run):
    return json.loads((run / "metrics.json").read_text())["bma"]


def test_exposure_is_a_setting_and_no_feature(counts):
    assert (config(counts)["exposure"], config(counts)["event"]) == ("days", "")
    model = PMCNetRegressor.load(counts / "model")
    assert model.encoder_.columns.names == ("x",)
    assert model.likelihood_ == "poisson"


def test_test_rows_are_predicted_with_their_exposure(counts):
    found = pd.read_csv(counts / "predictions.csv")
    frame = counted().iloc[found["row"] - 1].reset_index(drop=True)
    assert (found["exposure"] == frame["days"]).all()
    model = PMCNetRegressor.load(counts / "model")
    wanted = model.predict(frame[["x"]], exposure=frame["days"])
    np.testing.assert_allclose(found["prediction"], wanted, rtol=1e-6)
    nll = -model.log_predictive(frame[["x"]], frame["n"], exposure=frame["days"]).mean()
    assert metrics(counts)["nll"] == pytest.approx(nll, rel=1e-6)
    assert metrics(counts)["mae"] == pytest.approx(np.abs(wanted - frame["n"]).mean(), rel=1e-6)


def test_predict_uses_the_exposure_of_the_table(counts, folder, tmp_path):
    done("predict", counts, folder / "counts.csv", "-o", tmp_path / "with.csv")
    model, frame = PMCNetRegressor.load(counts / "model"), counted()
    found = pd.read_csv(tmp_path / "with.csv")
    mean, std = model.predict(frame[["x"]], return_std=True, exposure=frame["days"])
    np.testing.assert_allclose(found["prediction"], mean, rtol=1e-6)
    np.testing.assert_allclose(found["std"], std, rtol=1e-5)
    interval = model.predict_interval(frame[["x"]], exposure=frame["days"])
    assert np.array_equal(found[["lower", "upper"]], interval)


def test_predict_says_that_the_exposure_is_1_where_there_is_none(counts, tmp_path):
    new = written(counted()[["x"]], tmp_path / "new.csv")
    result = done("predict", counts, new, "-o", tmp_path / "out.csv")
    assert "no column 'days': predictions are for an exposure of 1" in result.stderr
    wanted = PMCNetRegressor.load(counts / "model").predict(counted()[["x"]])
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], wanted, rtol=1e-6)


def test_predict_takes_the_exposure_by_another_name(counts, tmp_path):
    table = written(counted().rename(columns={"days": "weeks"}), tmp_path / "weeks.csv")
    result = done("predict", counts, table, "--exposure", "weeks", "-o", tmp_path / "a.csv")
    assert "exposure of 1" not in result.stderr
    done("predict", counts / "model", table, "--exposure", "weeks", "-o", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    says = ("no column 'months'", "Use --exposure COLUMN")
    refused("predict", counts, table, "--exposure", "months", says=says)


def test_evaluate_uses_the_exposure(counts, folder, tmp_path):
    found = json.loads(done("evaluate", counts, folder / "counts.csv", "--json").stdout)["bma"]
    frame, model = counted(), PMCNetRegressor.load(counts / "model")
    nll = -model.log_predictive(frame[["x"]], frame["n"], exposure=frame["days"]).mean()
    assert found["nll"] == pytest.approx(nll, rel=1e-6)
    assert found["r2"] == pytest.approx(
        model.score(frame[["x"]], frame["n"], exposure=frame["days"])
    )
    table = written(frame.drop(columns="days"), tmp_path / "without.csv")
    refused("evaluate", counts, table, says=("no column 'days'", "Use --exposure COLUMN"))


def test_families_of_counts_are_compared(folder, tmp_path, no_page):
    settings = ("--target", "n", "--exposure", "days", *TINY, "--out", tmp_path / "run")
    done("fit", folder / "counts.csv", *settings)
    found = config(tmp_path / "run")
    assert found["likelihood"] in ("poisson", "negative-binomial")
    assert found["provenance"]["asked_likelihood"] == "auto"
    assert "negative-binomial" in found["provenance"]["formulation_reason"]
    again = ("fit", "--config", tmp_path / "run" / "config.toml", "--out", tmp_path / "again")
    done(*again)
    csv = [(tmp_path / name / "predictions.csv").read_text() for name in ("run", "again")]
    assert csv[0] == csv[1]


@pytest.mark.parametrize("kind", ["counts", "times"])
def test_interrupted_runs_go_on(kind, counts, times, tmp_path, no_page):
    whole = {"counts": counts, "times": times}[kind]
    again = tmp_path / "again"
    shutil.copytree(whole, again)
    shutil.rmtree(again / "model")
    for name in ("metrics.json", "predictions.csv"):
        (again / name).unlink()
    done("resume", again)
    for name in ("predictions.csv", "model/tensors.safetensors"):
        assert (again / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize("kind", ["counts", "times"])
def test_checkpoints_belong_to_their_second_column(kind, counts, times, tmp_path):
    whole, name = {"counts": (counts, "exposure"), "times": (times, "event")}[kind]
    again = tmp_path / "again"
    shutil.copytree(whole, again)
    (again / "metrics.json").unlink()
    text = (again / "config.toml").read_text()
    (again / "config.toml").write_text(re.sub(rf'^{name} = ".*"', f'{name} = ""', text, flags=re.M))
    refused("resume", again, says=(f"it was begun with another {name}",))


def test_events_make_censored_times(times):
    found = config(times)
    assert (found["event"], found["likelihood"], found["task"]) == ("died", "censored", "auto")
    model = PMCNetRegressor.load(times / "model")
    assert (model.likelihood_, model.encoder_.columns.names) == ("censored", ("x",))


def test_metrics_of_times_are_about_what_is_known(times):
    rows = pd.read_csv(times / "predictions.csv")
    frame = timed().iloc[rows["row"] - 1]
    event = (frame["died"] == "yes").to_numpy()
    assert (rows["event"] == event).all()
    assert 0 < event.sum() < len(event)
    model = PMCNetRegressor.load(times / "model")
    known = np.column_stack([frame["time"], event])
    found = metrics(times)
    assert set(found) == {"nll", "mse_observed", "rmse_observed", "mae_observed"}
    nll = -model.log_predictive(frame[["x"]], known).mean()
    assert found["nll"] == pytest.approx(nll, rel=1e-6)
    error = (rows["prediction"] - rows["truth"])[event]
    assert found["mae_observed"] == pytest.approx(error.abs().mean(), rel=1e-6)


def test_page_of_times_shows_observed_events(times):
    page = (times / "report.html").read_text()
    report = json.loads((times / "report.json").read_text())
    rows = pd.read_csv(times / "predictions.csv").set_index("row")
    assert "Censored rows are left out." in page
    assert "mean absolute error of observed events" in page
    drawn = [point["row"] for point in report["scatter"]]
    assert sorted(drawn) == sorted(rows.index[rows["event"] == 1])
    assert "calibration" not in report
    late = [each["truth"] for each in report["uncertain"] if not rows["event"][each["row"]]]
    assert late
    assert all(truth.startswith("> ") for truth in late)


def test_evaluate_knows_the_events(times, folder, tmp_path):
    found = json.loads(done("evaluate", times, folder / "times.csv", "--json").stdout)["bma"]
    assert "mae_observed" in found
    every = written(timed().assign(died=True), tmp_path / "every.csv")
    found = json.loads(done("evaluate", times, every, "--json").stdout)["bma"]
    assert {"nll", "rmse", "r2", "mae", "crps", "coverage90"} <= set(found)
    table = written(timed().rename(columns={"died": "dead"}), tmp_path / "dead.csv")
    refused("evaluate", times, table, says=("no column 'died'", "Use --event COLUMN"))
    done("evaluate", times, table, "--event", "dead")


@pytest.mark.parametrize(
    "words", [("yes", "no"), ("TRUE", "FALSE"), ("1", "0"), ("1.0", "0.0"), ("True", "False")]
)
def test_events_are_words_or_numbers(words, folder, tmp_path, times):
    frame = timed()
    frame["died"] = np.where(frame["died"] == "yes", *words)
    table = written(frame, tmp_path / "words.csv")
    results = [done("evaluate", times, each, "--json") for each in (table, folder / "times.csv")]
    found, wanted = (json.loads(result.stdout)["bma"] for result in results)
    assert found == wanted


def test_times_without_events_are_all_observed(folder, tmp_path, no_page):
    frame = timed().drop(columns="died")
    table = written(frame, tmp_path / "times.csv")
    settings = ("--target", "time", "--likelihood", "censored", *TINY)
    done("fit", table, *settings, "--out", tmp_path / "run")
    assert {"nll", "rmse", "coverage90"} <= set(metrics(tmp_path / "run"))
    every = written(frame.assign(died=1), tmp_path / "every.csv")
    options = ("--event", "died", "--test-share", "0", "--out", tmp_path / "every")
    done("fit", every, *settings, *options)
    done("fit", table, *settings, "--test-share", "0", "--out", tmp_path / "none")
    models = [PMCNetRegressor.load(tmp_path / name / "model") for name in ("every", "none")]
    predicted = [model.predict(frame[["x"]]) for model in models]
    np.testing.assert_allclose(predicted[0], predicted[1], rtol=0.1)


def test_methods_are_compared_on_either(folder, tmp_path, no_page):
    methods = ("--methods", "adam-map,annealed", "--tune", "none", "--json")
    settings = ("--prior-std", "1", "--hidden", "2", "--budget", "5s", "--device", "cpu")
    for name, options in (
        ("counts", ("--target", "n", "--exposure", "days", "--likelihood", "poisson")),
        ("times", ("--target", "time", "--event", "died")),
    ):
        out = ("--out", tmp_path / name)
        found = done("compare", folder / f"{name}.csv", *options, *methods, *settings, *out)
        entries = json.loads(found.stdout)
        assert [entry["method"] for entry in entries] == ["adam-map", "annealed"]
        assert all(np.isfinite(entry["metrics"]["nll"]) for entry in entries)
        assert any("nll" in entry["best"] for entry in entries)
    n_observed = pd.read_csv(tmp_path / "times" / "annealed" / "predictions.csv")["event"].sum()
    assert len(entries[0]["squared_errors"]) == n_observed


def test_settings_are_tuned_on_either(folder, tmp_path, no_page):
    common = ("--methods", "adam-map", "--prior-std", "1", "--hidden", "2", "--device", "cpu")
    out = ("--out", tmp_path / "compared")
    done("compare", folder / "times.csv", "--target", "time", "--event", "died", *common, *out)
    (entry,) = json.loads((tmp_path / "compared" / "comparison.json").read_text())["methods"]
    assert entry["chosen_by"] == "validation"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--exposure", "weeks"), ("no column 'weeks'", "Use --exposure COLUMN")),
        (("--event", "lost"), ("no column 'lost'", "Use --event COLUMN")),
        (("--exposure", "n"), ("'n' is both target and exposure",)),
        (("--event", "n"), ("'n' is both target and event",)),
        (("--exposure", "days", "--event", "died"), ("got both, days and died",)),
        (("--exposure", "zero"), ("exposure must be positive", "got 0 in row 3")),
        (("--exposure", "gap"), ("the exposure 'gap' is missing in 1 of 40", "in row 5")),
        (("--exposure", "word"), ("the exposure 'word' holds strings such as 'a'",)),
        (("--event", "gap"), ("the event 'gap' is missing in 1 of 40 rows",)),
        (("--event", "word"), ("the event 'word' holds 'a' in row 1", "yes and no")),
        (("--event", "days"), ("the event 'days' holds",)),
        (("--event", "never"), ("no event was observed",)),
        (("--exposure", "days", "--task", "classification"), ("Use --task regression",)),
        (("--event", "died", "--task", "classification"), ("Use --task regression",)),
        (("--exposure", "days", "--likelihood", "gaussian"), ("got likelihood gaussian",)),
        (("--event", "died", "--likelihood", "poisson"), ("got likelihood poisson",)),
        (("--exposure", "days", "--target", "half"), ("y must hold counts", "in row 37")),
        (("--event", "died", "--target", "start"), ("time must be positive; got 0 in row 38",)),
        (("--exposure", "days", "--drop", "x,word,gap,zero,half,start,died,never"),
         ("no column besides the target 'n' and 'days'",)),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_are_refused(options, says, tmp_path):
    frame = counted().assign(died=1, never=0, zero=1.0, gap=1.0, word="a")
    frame.loc[2, "zero"], frame.loc[4, "gap"] = 0.0, np.nan
    frame["half"] = frame["n"] + 0.5 * (np.arange(40) == 36)
    frame["start"] = frame["n"] + 1.0 * (np.arange(40) != 37)
    frame.loc[37, "start"] = 0
    table = written(frame, tmp_path / "rows.csv")
    target = () if "--target" in options else ("--target", "n")
    refused("fit", table, *target, *TINY, *options, "--out", tmp_path / "run", says=says)
    assert not (tmp_path / "run").exists()


def test_models_of_other_targets_refuse_both(tmp_path):
    table = written(numbers().assign(days=1.0), tmp_path / "numbers.csv")
    settings = ("--target", "y", "--drop", "days", "--likelihood", "gaussian", *LIGHT)
    done("fit", table, *settings, "--prior-std", "1", "--noise", "learn", "--out", tmp_path / "run")
    says = ("got likelihood gaussian",)
    refused("predict", tmp_path / "run", table, "--exposure", "days", says=says)
    refused("evaluate", tmp_path / "run", table, "--exposure", "days", says=says)
    refused("evaluate", tmp_path / "run", table, "--event", "days", says=says)


def test_bad_exposure_is_named_by_its_row_of_the_table(counts, tmp_path):
    frame = counted()
    frame.loc[6, "days"] = -2.0
    table = written(frame, tmp_path / "bad.csv")
    refused("predict", counts, table, says=("exposure must be positive", "got -2 in row 7"))
    with pytest.raises(InputError, match="got -2 in row 1007"):
        exposures(frame["days"], "days", first_row=1001)


def test_help_names_both():
    for command in ("fit", "compare", "evaluate"):
        text = done(command, "--help").output
        assert "--exposure" in text
        assert "--event" in text
    assert "--exposure" in done("predict", "--help").output

"""Every command as it is meant to be used."""

import io
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from cli.commands import LIGHT, TINY, classes, done, files, numbers, written
from pmcnet import __version__
from pmcnet.cli import main
from pmcnet.methods import registry
from pmcnet.runs import predict

RUN_FILES = {
    "config.toml", "model", "model/model.json", "model/tensors.safetensors", "metrics.json",
    "predictions.csv", "history.jsonl", "report.html", "report.json", "checkpoint",
    "checkpoint/state.safetensors",
}  # fmt: skip


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


@pytest.mark.parametrize("run", ["classified", "regressed"])
def test_run_folder_holds_what_is_promised(run, request):
    assert files(request.getfixturevalue(run)) == RUN_FILES


@pytest.mark.parametrize(
    ("run", "task"), [("classified", "classification"), ("regressed", "regression")]
)
def test_metrics_have_the_promised_form(run, task, request):
    metrics = json.loads((request.getfixturevalue(run) / "metrics.json").read_text())
    assert list(metrics) == [
        "task",
        "method",
        "n_test",
        "bma",
        "per_draw",
        "base_rate",
        "diagnostics",
        "seconds",
    ]
    assert (metrics["task"], metrics["n_test"]) == (task, 6)
    assert {"accuracy", "nll"} <= set(metrics["bma"]) or {"rmse", "nll"} <= set(metrics["bma"])
    for name, summary in metrics["per_draw"].items():
        assert set(summary) == {"mean", "std", "interval95"}, name
        low, high = summary["interval95"]
        assert low <= high
    assert {"ess", "khat", "log_evidence", "verdict"} <= set(metrics["diagnostics"])
    assert set(metrics["seconds"]) == {"fit", "predict"}


def test_test_rows_are_written_with_truth_and_prediction(classified):
    rows = pd.read_csv(classified / "predictions.csv")
    added = ["prediction", "probability_no", "probability_yes", "epistemic", "aleatoric"]
    more = ["monte_carlo_error", "novelty", "is_novel"]
    assert list(rows.columns) == ["row", "truth", *added, *more]
    assert (classes()["y"].to_numpy()[rows["row"] - 1] == rows["truth"]).all()
    np.testing.assert_allclose(rows["probability_no"] + rows["probability_yes"], 1, rtol=1e-6)


def test_history_has_a_line_for_each_step(classified, regressed):
    lines = [json.loads(line) for line in (classified / "history.jsonl").read_text().splitlines()]
    assert lines[-1]["temperature"] == 1
    assert len((regressed / "history.jsonl").read_text().splitlines()) == 4


def test_summary_says_verdict_report_and_what_is_next(tables, tmp_path):
    result = done("fit", tables / "classes.csv", "--target", "y", *TINY, "--out", tmp_path / "run")
    assert result.stdout.startswith("verdict: ")
    assert f"report: {tmp_path / 'run' / 'report.html'}" in result.stdout
    assert f"pmcnet predict {tmp_path / 'run'}" in result.stdout


@pytest.mark.usefixtures("no_page")
@pytest.mark.parametrize("name", ["rows.tsv", "rows.parquet", "rows.csv.gz", "rows.tsv.gz"])
def test_every_format_gives_the_run_of_the_csv(classified, tmp_path, name):
    frame, path = classes(), tmp_path / name
    if name.endswith("parquet"):
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    result = done("fit", path, "--target", "y", *TINY, "--out", tmp_path / "run", "--json")
    assert (
        json.loads(result.stdout)["bma"]
        == json.loads((classified / "metrics.json").read_text())["bma"]
    )


@pytest.mark.usefixtures("no_page")
def test_several_classes_have_a_probability_each(tmp_path):
    frame = numbers().assign(y=lambda t: pd.cut(t["x"], 3, labels=["low", "mid", "high"]))
    path = written(frame, tmp_path / "rows.csv")
    done("fit", path, "--target", "y", *TINY, "--out", tmp_path / "run")
    rows = read(done("predict", tmp_path / "run", path).stdout)
    probability = rows[["probability_high", "probability_low", "probability_mid"]]
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-6)
    assert set(rows["prediction"]) <= {"low", "mid", "high"}


@pytest.mark.usefixtures("no_page")
def test_truth_values_and_whole_numbers_are_classes(tmp_path):
    frame = numbers().assign(y=lambda t: t["y"] > 50, z=lambda t: t["z"] > 0)
    for y in (frame["y"], frame["y"].astype(int), frame["y"].astype(float)):
        path = written(frame.assign(y=y), tmp_path / f"{y.dtype}.csv")
        run = tmp_path / str(y.dtype)
        done("fit", path, "--target", "y", *TINY, "--out", run)
        assert json.loads((run / "metrics.json").read_text())["task"] == "classification"
        assert set(read(done("predict", run, path).stdout)["prediction"]) <= {0, 1}
    done("evaluate", tmp_path / "int64", tmp_path / "float64.csv")


@pytest.mark.usefixtures("no_page")
def test_rare_classes_are_trained_on_and_rare_levels_pooled(tmp_path):
    frame = classes()
    frame["city"] = [f"village {i}" if i % 3 == 0 else "Oslo" for i in range(30)]
    frame.loc[29, "y"] = "perhaps"
    path = written(frame, tmp_path / "rows.csv")
    result = done("fit", path, "--target", "y", *TINY, "--out", tmp_path / "run")
    assert "class 'perhaps' has one row" in result.stderr
    later = written(frame.assign(city="Rome"), tmp_path / "later.csv")
    assert (
        "cells unlike those of training count as missing: 'city' in 30 rows"
        in done("predict", tmp_path / "run", later).stderr
    )


def test_columns_are_read_and_reported_and_rows_without_target_predicted(tmp_path):
    frame = classes().assign(
        id=range(30), seen=pd.date_range("2024-05-01", periods=30).strftime("%d.%m.%Y")
    )
    frame.loc[[4, 9], "y"] = None
    path = written(frame, tmp_path / "rows.csv")
    options = ("--column", "city=drop", *TINY, "--out", tmp_path / "run")
    result = done("fit", path, "--target", "y", *options)
    assert "the target is missing in 2 of 30 rows; these are not fitted but predicted" in (
        result.stderr
    )
    found = pd.read_csv(tmp_path / "run" / "missing_targets.csv")
    assert found["row"].tolist() == [5, 10]
    assert set(found["prediction"]) <= set(frame["y"].dropna())
    page = (tmp_path / "run" / "report.html").read_text()
    for words in ("How the columns were read", "dates like %d.%m.%Y", "it is an identifier"):
        assert words in page
    later = written(frame.drop(columns=["id", "city", "y"]), tmp_path / "later.csv")
    done("predict", tmp_path / "run", later, "-o", tmp_path / "predicted.csv")
    assert len(pd.read_csv(tmp_path / "predicted.csv")) == 30


@pytest.mark.usefixtures("no_page")
def test_no_test_rows_give_no_metrics(tables, tmp_path):
    result = done(
        "fit",
        tables / "classes.csv",
        "--target",
        "y",
        *TINY,
        "--test-share",
        0,
        "--out",
        tmp_path / "run",
    )
    assert "no rows were kept for testing" in result.stdout
    assert files(tmp_path / "run") == RUN_FILES - {"predictions.csv"}


@pytest.mark.usefixtures("no_page")
def test_runs_are_named_after_the_data(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        done("fit", tables / "classes.csv", "--target", "y", *TINY)
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"classes", "classes-2"}


def test_rows_keep_their_cells_and_gain_predictions(regressed, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("id,z,x,note\n007,123456789.123,0.5,NA\n008,,1e-3,\n")
    result = done("predict", regressed, path)
    said = "1 of 2 rows is unlike the training rows"  # whose z are around 1
    assert result.stderr.splitlines() == ["understood: delimiter ','", "predicted 2 rows", said]
    header, *rows = result.stdout.splitlines()
    added = "prediction,std,lower,upper,epistemic,aleatoric,novelty,is_novel"
    assert header == f"id,z,x,note,{added}"
    assert rows[0].startswith("007,123456789.123,0.5,NA,")
    assert rows[1].startswith("008,,1e-3,,")
    table = read(result.stdout)
    assert (table["lower"] < table["prediction"]).all()
    assert (table["prediction"] < table["upper"]).all()
    assert table["is_novel"].tolist() == [1, 0]
    np.testing.assert_allclose(
        table["std"] ** 2, table["epistemic"] + table["aleatoric"], rtol=1e-6
    )


def test_order_of_columns_does_not_matter(classified, tables, tmp_path):
    path = written(classes()[["y", "city", "z", "x"]], tmp_path / "rows.csv")
    ours, theirs = (
        read(done("predict", classified, p).stdout) for p in (path, tables / "classes.csv")
    )
    pd.testing.assert_frame_equal(ours[theirs.columns], theirs)


def test_file_and_standard_output_hold_the_same(classified, tables, tmp_path):
    printed = done("predict", classified, tables / "classes.csv").stdout
    done("predict", classified, tables / "classes.csv", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == printed
    assert files(tmp_path) == {"out.csv"}


@pytest.mark.parametrize("run", ["classified", "regressed"])
def test_pieces_are_predicted_as_the_whole(run, tables, request, monkeypatch):
    folder = request.getfixturevalue(run)
    path = tables / ("classes.csv" if run == "classified" else "numbers.csv")
    whole = read(done("predict", folder, path).stdout)
    monkeypatch.setattr(predict, "CHUNK_ROWS", 7)
    pd.testing.assert_frame_equal(read(done("predict", folder, path).stdout), whole, rtol=1e-4)


def test_fewer_networks_and_other_coverage_can_be_asked_for(regressed, tables):
    wide, narrow = (
        read(
            done(
                "predict", regressed, tables / "numbers.csv", "--passes", 20, "--coverage", c
            ).stdout
        )
        for c in (0.95, 0.5)
    )
    assert (wide["upper"] - wide["lower"] > narrow["upper"] - narrow["lower"]).all()


@pytest.mark.parametrize(("run", "frame"), [("classified", classes()), ("regressed", numbers())])
def test_evaluation_of_the_test_rows_gives_the_runs_metrics(run, frame, request, tmp_path):
    folder = request.getfixturevalue(run)
    rows = pd.read_csv(folder / "predictions.csv")["row"] - 1
    path = written(frame.iloc[rows], tmp_path / "rows.csv")
    found = json.loads(done("evaluate", folder, path, "--json").stdout)
    metrics = json.loads((folder / "metrics.json").read_text())
    assert {k: v for k, v in found.items() if k != "seconds"} == {
        k: v for k, v in metrics.items() if k != "seconds"
    }
    table = done("evaluate", folder, path).stdout
    assert table.startswith("verdict: ")
    assert "6 test rows" in table
    assert all(name in table for name in metrics["bma"])


def test_truth_may_have_another_name(classified, tmp_path):
    path = written(classes().rename(columns={"y": "outcome"}), tmp_path / "rows.csv")
    assert (
        json.loads(done("evaluate", classified, path, "--target", "outcome", "--json").stdout)[
            "n_test"
        ]
        == 30
    )


def test_diagnosis_says_verdict_and_what_to_do(classified, regressed):
    for run in (classified, regressed):
        diagnostics = json.loads((run / "metrics.json").read_text())["diagnostics"]
        found = json.loads(done("diagnose", run, "--json").stdout)
        assert {key: found[key] for key in diagnostics} == diagnostics
        text = done("diagnose", run).stdout
        assert diagnostics["reason"] in text
        assert all(f"- {step}" in text for step in found["advice"])


def test_diagnosis_reads_a_saved_model_too(classified):
    assert done("diagnose", classified / "model").stdout.startswith("verdict: ")


def test_report_has_networks_unless_it_is_asked_without(classified, tmp_path):
    assert "networks" in json.loads((classified / "report.json").read_text())["what_if"]
    assert 'id="what_if"' in (classified / "report.html").read_text()
    shutil.copytree(classified, tmp_path / "run")
    done("report", tmp_path / "run", "--no-what-if")
    assert 'id="what_if"' not in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.usefixtures("no_page")
def test_fit_without_what_if_stores_no_networks_for_the_page(tables, tmp_path):
    where = ("--target", "y", *LIGHT, "--prior-std", "1", "--no-what-if", "--out", tmp_path / "run")
    done("fit", tables / "numbers.csv", *where)
    assert "what_if" not in json.loads((tmp_path / "run" / "report.json").read_text())
    assert "what_if = false" in (tmp_path / "run" / "config.toml").read_text()


def test_report_is_drawn_again_the_same(classified):
    before = (classified / "report.html").read_bytes()
    (classified / "report.html").unlink()
    assert done("report", classified).stdout.strip() == str(classified / "report.html")
    assert (classified / "report.html").read_bytes() == before


def test_methods_are_compared_on_the_same_rows(tables, tmp_path):
    out = tmp_path / "out"
    options = ("--target", "y", "--hidden", 2, "--prior-std", 1, "--budget", "1s", "--out", out)
    result = done("compare", tables / "classes.csv", "--methods", "annealed,pmcnet-light", *options)
    assert {"comparison.json", "report.html", "annealed", "pmcnet-light"} == {
        path.name for path in out.iterdir()
    }
    compared = json.loads((out / "comparison.json").read_text())["methods"]
    assert [entry["method"] for entry in compared] == ["annealed", "pmcnet-light"]
    assert all(entry["method"] in result.stdout for entry in compared)
    rows = [
        pd.read_csv(out / entry["method"] / "predictions.csv")["row"].tolist() for entry in compared
    ]
    assert rows[0] == rows[1]
    assert done("predict", out / "annealed", tables / "classes.csv").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_names_the_program(shell):
    script = done("completion", shell).stdout
    assert "pmcnet" in script
    assert "_PMCNET_COMPLETE" in script


def test_version_is_the_packages():
    assert done("--version").stdout == f"pmcnet, version {__version__}\n"


@pytest.mark.parametrize("command", [None, *main.commands])
def test_help_of_every_command(command):
    result = done(*([command] if command else []), "-h")
    assert result.stdout.startswith("Usage: pmcnet")
    assert result.stdout == done(*([command] if command else []), "--help").stdout


def test_help_of_fit_names_every_method():
    text = re.sub(r"-\n\s+", "-", done("fit", "--help").stdout)  # names broken at the end of a line
    words = re.split(r"[\s,;.]+", text)
    assert {"auto", *registry.METHODS} <= set(words)


def test_help_is_shown_without_heavy_imports():
    script = """
import sys
from pmcnet.cli import main
main(["--help"], standalone_mode=False)
heavy = {"torch", "sklearn", "pandas", "numpy", "rich", "matplotlib"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else 0)
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_program_fails_as_a_process_with_one_sentence(tmp_path):
    command = [sys.executable, "-m", "pmcnet", "fit", "no.csv", "--target", "y"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: there is no file 'no.csv'")
    assert len(result.stderr.splitlines()) == 1
    assert files(tmp_path) == set()


@pytest.mark.usefixtures("no_page")
@pytest.mark.parametrize("setup", [TINY, LIGHT])
def test_fit_leaves_the_global_random_generators_alone(tables, tmp_path, setup):
    import torch

    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    done("fit", tables / "classes.csv", "--target", "y", *setup, "--out", tmp_path / "run")
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002

"""Runs repeated from their config, or interrupted and resumed, are the same bit for bit."""

import json
import tomllib
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from cli.commands import LIGHT, TINY, classes, done, files, invoke, numbers, written
from pmcnet.runs import fit, outcome
from pmcnet.runs.run_observer import RunObserver

pytestmark = pytest.mark.usefixtures("no_page")


def assert_same_model(ours: Path, theirs: Path) -> None:
    a, b = (load_file(run / "model" / "tensors.safetensors") for run in (ours, theirs))
    assert set(a) == set(b)
    for name in a:
        assert torch.equal(a[name], b[name]), name
    a, b = (json.loads((run / "metrics.json").read_text()) for run in (ours, theirs))
    assert a["bma"] == b["bma"]
    assert a["per_draw"] == b["per_draw"]


@pytest.mark.parametrize("run", ["classified", "regressed"])
def test_config_repeats_the_run(run, request, tmp_path):
    first = request.getfixturevalue(run)
    done("fit", "--config", first / "config.toml", "--out", tmp_path / "again")
    assert_same_model(tmp_path / "again", first)


def test_config_repeats_a_run_whose_prior_and_size_were_chosen(tmp_path):
    path = written(classes(), tmp_path / "rows.csv")
    first = ("--hidden", 2, "--budget", "20s", "--out", tmp_path / "first")
    done("fit", path, "--target", "y", *first)
    config = tomllib.loads((tmp_path / "first" / "config.toml").read_text())
    assert config["prior_std"] in (1.0, "layer", "ard")
    assert config["provenance"]["asked_prior_std"] == "auto"
    done("fit", "--config", tmp_path / "first" / "config.toml", "--out", tmp_path / "again")
    assert_same_model(tmp_path / "again", tmp_path / "first")


def test_options_win_over_the_config(classified, tmp_path):
    options = (
        "--seed",
        3,
        "--hidden",
        "3",
        "--option",
        "n_particles=16",
        "--out",
        tmp_path / "other",
    )
    done("fit", "--config", classified / "config.toml", *options)
    config = tomllib.loads((tmp_path / "other" / "config.toml").read_text())
    assert (config["seed"], config["hidden"]) == (3, [3])
    assert config["method_options"]["n_particles"] == 16
    assert config["prior_std"] == 1.0


def interrupted(monkeypatch, after: int, *arguments: object) -> str:
    """Run a fit in which Ctrl-C is pressed after that many steps; returns what is said."""
    original = RunObserver.__call__

    def press(self, state, info):
        original(self, state, info)
        if state.step == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunObserver, "__call__", press)
        result = invoke(*arguments)
    assert result.exit_code == 130
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("run", "frame", "setup"),
    [("classified", classes(), TINY), ("regressed", numbers(), LIGHT)],
)
def test_resumed_run_equals_an_uninterrupted_one(run, frame, setup, request, tmp_path, monkeypatch):
    whole, out = request.getfixturevalue(run), tmp_path / "run"
    path = written(frame, tmp_path / "rows.csv")
    after = 2
    said = interrupted(monkeypatch, after, "fit", path, "--target", "y", *setup, "--out", out)
    assert said == f"Error: interrupted. A checkpoint was saved; go on with: pmcnet resume {out}"
    assert files(out) == {
        "config.toml",
        "history.jsonl",
        "checkpoint",
        "checkpoint/state.safetensors",
    }
    assert len((out / "history.jsonl").read_text().splitlines()) == after
    noted = tomllib.loads((out / "config.toml").read_text())["provenance"]
    done("resume", out)
    assert_same_model(out, whole)
    assert tomllib.loads((out / "config.toml").read_text())["provenance"] == noted
    histories = [(folder / "history.jsonl").read_text().splitlines() for folder in (out, whole)]
    assert len(histories[0]) == len(histories[1])
    for ours, theirs in zip(*(map(json.loads, lines) for lines in histories), strict=True):
        timeless = (
            {k: v for k, v in line.items() if not k.startswith("seconds")}
            for line in (ours, theirs)
        )
        assert next(timeless) == next(timeless)
    assert invoke("resume", out).exit_code == 2


def test_resumed_run_still_says_why_its_method_was_chosen(tables, tmp_path, monkeypatch):
    out, setup = tmp_path / "run", (*TINY[2:], "--prior-std", "evidence")
    interrupted(
        monkeypatch,
        2,
        "fit",
        tables / "classes.csv",
        "--target",
        "y",
        *setup,
        "--out",
        out,
    )
    done("resume", out)
    noted = tomllib.loads((out / "config.toml").read_text())["provenance"]
    assert (noted["asked_method"], noted["asked_prior_std"]) == ("auto", "evidence")
    assert noted["method_reason"] == "Method: annealed; its settings were given."
    assert (
        json.loads((out / "report.json").read_text())["summary"]["method_reason"]
        == noted["method_reason"]
    )


def test_run_that_keeps_all_draws_is_resumed_from_the_beginning(tables, tmp_path, monkeypatch):
    arguments = (
        "fit",
        tables / "numbers.csv",
        "--target",
        "y",
        *LIGHT,
        "--prior-std",
        1,
        "--option",
        "keep=all",
    )
    done(*arguments, "--out", tmp_path / "whole")
    said = interrupted(monkeypatch, 2, *arguments, "--out", tmp_path / "run")
    assert "The settings were saved" in said
    done("resume", tmp_path / "run")
    assert_same_model(tmp_path / "run", tmp_path / "whole")


def test_run_interrupted_before_sampling_is_resumed_from_the_beginning(
    classified, tables, tmp_path, monkeypatch
):
    def press(self, plan, settled):
        original(self, plan, settled)
        if settled is not None:
            raise KeyboardInterrupt

    out, original = tmp_path / "run", RunObserver.planned
    with monkeypatch.context() as patch:
        patch.setattr(RunObserver, "planned", press)
        result = invoke("fit", tables / "classes.csv", "--target", "y", *TINY, "--out", out)
    assert result.exit_code == 130
    assert "The settings were saved; go on with: pmcnet resume" in result.stderr
    assert files(out) == {"config.toml"}
    done("resume", out)
    assert_same_model(out, classified)


def test_run_interrupted_while_scoring_is_resumed(classified, tables, tmp_path, monkeypatch):

    def press(*args, **kwargs):
        raise KeyboardInterrupt

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(outcome, "predictions_of", press)
        result = invoke("fit", tables / "classes.csv", "--target", "y", *TINY, "--out", out)
    assert result.exit_code == 130
    assert f"go on with: pmcnet resume {out}" in result.stderr
    assert json.loads(done("resume", out, "--json").stdout)["n_test"] == 6
    assert_same_model(out, classified)


def test_interruption_before_anything_was_written_leaves_nothing(tables, tmp_path, monkeypatch):

    def press(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit, "prepare", press)
    result = invoke(
        "fit", tables / "classes.csv", "--target", "y", *TINY, "--out", tmp_path / "run"
    )
    assert result.exit_code == 130
    assert result.stderr == "Error: interrupted.\n"
    assert files(tmp_path) == set()

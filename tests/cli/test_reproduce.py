"""`pmcnet reproduce` as a user meets it."""

import json
from importlib import import_module

import pytest
from click.testing import CliRunner

from paper import small
from pmcnet import __version__, data, paper
from pmcnet.cli import main
from pmcnet.runs.lock import locked


def invoke(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


def test_version_is_the_packages():
    assert __version__ in invoke("--version").output


def test_reproduce_lists_what_there_is():
    output = invoke("reproduce", "--list").output
    for name in paper.EXPERIMENTS:
        assert name in output
    assert {"protein", "naval", "mnist-c", "svhn-g", "cifar10"} <= paper.EXPERIMENTS.keys()
    assert invoke("reproduce").output == output


def test_unknown_experiment_is_one_sentence_and_exit_code_2(tmp_path):
    result = invoke("reproduce", "mnist", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "no experiment is called 'mnist'" in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["wine", "control-sizes", "control-variants"])
def test_quick_reproduction_prints_a_table_and_writes_json_and_figures(name, tmp_path):
    result = invoke("reproduce", name, "--quick", "--seeds", "1", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "paper" in result.output
    assert "degenerate" in result.output or "doubtful" in result.output
    assert ("ms per test row" in result.output) == (name == "wine")
    record = json.loads((tmp_path / f"{name}.json").read_text())
    assert record["experiment"] == name
    pictures = list(tmp_path.glob("*.png"))
    assert (tmp_path / f"{name}-roc.png") in pictures
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_bad_device_is_refused_plainly(tmp_path):
    result = invoke(
        "reproduce", "wine", "--quick", "--device", "abacus", "--out", str(tmp_path / "out")
    )
    assert result.exit_code == 2
    assert "device" in result.output


@pytest.fixture
def little(monkeypatch):
    """The large experiments find small data."""
    monkeypatch.setattr(data, "load_images", small.images)
    monkeypatch.setattr(data, "paper_split", small.split)


def reproduced(name, out, *options):
    return invoke("reproduce", name, "--quick", "--out", str(out), *options)


@pytest.mark.parametrize(("name", "figure"), [("naval", "errors"), ("mnist-c", "confusion")])
def test_large_experiment_prints_both_tables_and_writes_its_figure(name, figure, little, tmp_path):
    result = reproduced(name, tmp_path)
    assert result.exit_code == 0, result.output
    for words in (
        "PMCnet-light, exact weights",
        "paper",
        "time on cpu",
        "fit s",
        "ms per test row",
    ):
        assert words in result.stdout, words
    assert json.loads((tmp_path / f"{name}.json").read_text())["experiment"] == name
    assert {path.name for path in tmp_path.glob("*.png")} == {f"{name}-{figure}.png"}
    assert f"wrote {tmp_path / f'{name}-{figure}.png'}" in result.stdout


def test_timing_has_the_papers_beside_ours_where_it_tells_them(little, tmp_path):
    lines = reproduced("mnist-c", tmp_path).stdout.splitlines()
    header = next(line for line in lines if line.startswith("method"))
    assert "paper fit s" in header
    timing = lines[lines.index(header) :]
    assert next(line for line in timing if line.startswith("SAE")).split()[-2:] == ["2100", "261"]
    assert next(line for line in timing if line.startswith("deep ensemble")).split()[-2:] == [
        "-",
        "-",
    ]
    assert "paper fit s" not in reproduced("naval", tmp_path).stdout


def test_interrupted_experiment_says_how_to_go_on_and_goes_on(little, tmp_path, monkeypatch):
    whole = reproduced("naval", tmp_path / "whole").stdout

    def stop(line):
        if "step 1 of" in line:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(import_module("pmcnet.cli.reproduce"), "_say", stop)
        result = reproduced("naval", tmp_path)
    assert result.exit_code == 130
    assert f"The same command goes on from {tmp_path / 'checkpoints' / 'quick'}" in result.stderr
    result = reproduced("naval", tmp_path)
    assert "naval: going on from" in result.stderr
    assert "epoch" not in result.stderr
    assert table_of(result.stdout) == table_of(whole)


def table_of(output):
    """What is printed before the times."""
    return output.split("time on")[0]


def test_fresh_deletes_the_checkpoints_of_that_experiment_alone(little, tmp_path):
    reproduced("naval", tmp_path)
    kept = tmp_path / "checkpoints" / "quick" / "protein-settings.json"
    kept.write_text("{}")
    result = reproduced("naval", tmp_path, "--fresh")
    assert result.exit_code == 0, result.output
    assert "going on" not in result.stderr
    assert "naval: start, epoch 2 of 2" in result.stderr
    assert kept.exists()


def test_fresh_of_an_unknown_name_deletes_nothing(tmp_path):
    kept = tmp_path / "checkpoints" / "mnist-c-settings.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    for name in ("mnist", "*", "mnist-c-settings"):
        result = invoke("reproduce", name, "--fresh", "--out", str(tmp_path))
        assert result.exit_code == 2
    assert kept.exists()


def test_other_settings_are_refused_with_what_to_do(little, tmp_path):
    reproduced("naval", tmp_path)
    settings = tmp_path / "checkpoints" / "quick" / "naval-settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"sigma": 1.0}))
    result = reproduced("naval", tmp_path)
    assert result.exit_code == 2
    assert "--fresh" in result.stderr


def test_quick_run_is_not_in_the_way_of_a_full_one(little, tmp_path):
    reproduced("naval", tmp_path)
    assert not list((tmp_path / "checkpoints").glob("naval-*"))


def test_options_without_a_name_are_not_a_wish_for_the_list():
    result = invoke("reproduce", "--seeds", "3")
    assert result.exit_code == 2
    assert "NAME is missing" in result.output


def test_a_run_has_its_checkpoints_to_itself(little, tmp_path):
    folder = tmp_path / "checkpoints" / "quick"
    folder.mkdir(parents=True)
    with locked(folder, ".naval.lock"):
        result = reproduced("naval", tmp_path, "--fresh")
    assert result.exit_code == 2
    assert "is in use" in result.output

"""`pmcnet reproduce` as a user meets it."""

import json
from importlib import import_module

import pytest
from click.testing import CliRunner

from paper import small
from pmcnet import __version__, paper
from pmcnet.cli import main
from pmcnet.paper import deep_problems
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
    monkeypatch.setattr(deep_problems.data, "load_images", small.images)
    monkeypatch.setattr(deep_problems.data, "paper_split", small.split)


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


def test_fresh_spares_experiments_whose_names_begin_alike(little, monkeypatch, tmp_path):
    monkeypatch.setattr(
        paper, "reproduce", lambda name, **_: {"figures": {}, "table": {"title": name}}
    )
    monkeypatch.setattr(import_module("pmcnet.cli.reproduce"), "_show", lambda record: None)
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for name in ("mnist-c", "mnist-c-posterior"):
        (folder / f"{name}-settings.json").write_text("{}")
    assert invoke("reproduce", "mnist-c", "--fresh", "--out", str(tmp_path)).exit_code == 0
    assert [file.name for file in folder.iterdir()] == ["mnist-c-posterior-settings.json"]


def test_runs_with_several_seeds_are_joined(little, monkeypatch, tmp_path):
    monkeypatch.setattr(deep_problems.data, "svhn_crops", lambda: None)
    name, options = "mnist-c-posterior", ("--budget", "0.01s", "--chains", "3", "--only", "chains")
    for seed in ("1", "2"):
        result = reproduced(name, tmp_path / seed, "--seed", seed, *options)
        assert result.exit_code == 0, result.output
        settings = json.loads((tmp_path / seed / f"{name}.json").read_text())["settings"]
        assert (settings["seed"], settings["n_chains"]) == (int(seed), 3)
    folders = ("--join", str(tmp_path / "1"), "--join", str(tmp_path / "2"))
    result = reproduced(name, tmp_path / "both", *folders)
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "both" / f"{name}.json").read_text())["settings"]["seed"] == [
        1,
        2,
    ]
    assert (tmp_path / "both" / f"{name}-probability.npz").exists()
    assert "SGHMC chains, approximate" in result.stdout
    assert "SGLD" not in result.stdout
    result = reproduced(name, tmp_path / "both", *folders, *options)
    assert result.exit_code == 2
    assert "--join runs nothing; leave --budget, --chains, --only out" in result.output
    for wrong, words in (
        (("--join", str(tmp_path / "1")), "there must be two at least"),
        ((*folders, "--out", str(tmp_path / "1")), "is one of the runs"),
        (
            ("--join", str(tmp_path / "1"), "--join", str(tmp_path)),
            "holds no run of mnist-c-posterior",
        ),
    ):
        result = reproduced(name, tmp_path / "both", *wrong)
        assert result.exit_code == 2
        assert words in result.output


def test_a_run_goes_on_from_the_networks_of_another(little, monkeypatch, tmp_path):
    name, options = "mnist-c-posterior", ("--budget", "0.01s", "--only", "chains")
    assert reproduced(name, tmp_path / "1", *options).exit_code == 0
    left = tmp_path / "1" / "checkpoints" / "quick" / f"{name}-networks.safetensors"
    result = reproduced(
        name, tmp_path / "2", "--budget", "0.01s", "--start", str(left), "--seed", "1"
    )
    assert result.exit_code == 0, result.output
    assert "2 networks read in" in result.stderr
    assert "SGLD" not in result.stdout
    result = reproduced(name, tmp_path / "2", "--start", str(left), "--only", "ensemble")
    assert result.exit_code == 2
    assert "only chains go on from networks of another run" in result.output
    result = reproduced(name, tmp_path / "1", *options, "--start", str(left), "--fresh")
    assert result.exit_code == 2
    assert "--fresh would delete" in result.output
    assert left.exists()
    result = reproduced(name, tmp_path / "3", "--start", str(tmp_path / "nothing"))
    assert result.exit_code == 2
    assert "nothing is no file" in result.output
    assert not list((tmp_path / "3").rglob(f"{name}-*"))
    result = reproduced("naval", tmp_path / "3", "--start", str(left))
    assert result.exit_code == 2
    assert "naval has no chains" in result.output


def test_options_without_a_name_are_not_a_wish_for_the_list():
    result = invoke("reproduce", "--seed", "3")
    assert result.exit_code == 2
    assert "NAME is missing" in result.output


def test_a_run_has_its_checkpoints_to_itself(little, tmp_path):
    folder = tmp_path / "checkpoints" / "quick"
    folder.mkdir(parents=True)
    with locked(folder, ".naval.lock"):
        result = reproduced("naval", tmp_path, "--fresh")
    assert result.exit_code == 2
    assert "is in use" in result.output


def test_a_budget_may_be_a_number_of_seconds(little, tmp_path):
    result = reproduced("mnist-c-posterior", tmp_path, "--budget", "0.01", "--only", "chains")
    assert result.exit_code == 0, result.output

"""The command line as a user meets it."""

import json

import pytest
from click.testing import CliRunner

from pmcnet import __version__
from pmcnet.cli import main


def invoke(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


def test_version_is_the_packages():
    assert __version__ in invoke("--version").output


def test_reproduce_lists_what_there_is():
    output = invoke("reproduce", "--list").output
    for name in ("control-sizes", "control-variants", "ionosphere", "wine", "glass"):
        assert name in output
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
    record = json.loads((tmp_path / f"{name}.json").read_text())
    assert record["experiment"] == name
    pictures = list(tmp_path.glob("*.png"))
    assert (tmp_path / f"{name}-roc.png") in pictures
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_bad_device_is_refused_plainly(tmp_path):
    result = invoke("reproduce", "wine", "--quick", "--device", "abacus", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "device" in result.output

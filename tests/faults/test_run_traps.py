"""Run folders and config files that were made to do harm."""

import json
import os
import time

import pytest

from pmcnet.errors import InputError
from pmcnet.runs.config import RunSettings, read_config
from pmcnet.runs.folder import RunFolder, first_lines, read_json, write_text


def _lines(path):
    return first_lines(path, 2)


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    (path / "config.toml").write_text("data = 'wine'")
    return path


@pytest.mark.parametrize(
    "name",
    [
        "model",
        "history.jsonl",
        "checkpoint",
        "report.html",
        "report.json",
        "metrics.json",
        "predictions.csv",
    ],
)
def test_run_with_a_link_out_of_it_is_not_opened(run, tmp_path, name):
    RunFolder.open(run)
    (run / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"leads out of the run\. Copy"):
        RunFolder.open(run)


def test_run_may_itself_be_a_link(run, tmp_path):
    (tmp_path / "link").symlink_to(run)
    assert RunFolder.open(tmp_path / "link").path == tmp_path / "link"


def test_link_in_the_place_of_the_temporary_file_is_not_followed(run, tmp_path):
    (tmp_path / "mine").write_text("mine")
    (run / ".config.toml.part").symlink_to(tmp_path / "mine")
    write_text(run / "config.toml", "x = 1")
    assert (tmp_path / "mine").read_text() == "mine"
    assert (run / "config.toml").read_text() == "x = 1"


@pytest.mark.parametrize("read", [read_json, _lines, read_config])
def test_pipe_and_device_are_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        with pytest.raises(InputError):
            read(path)


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", "1e999", "9" * 5000, "\xff"])
def test_json_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_bytes(text.encode("latin-1"))
    for read in (read_json, _lines):
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path / "a.json")


STEP = {"step": 1, "ess": 0.5, "seconds": 1.0}


@pytest.mark.parametrize("line", ["[]", "3", "{}", '{"step": 1}', "null"])
def test_line_that_is_no_step_is_named(tmp_path, line):
    step = json.dumps(STEP)
    (tmp_path / "a").write_text(f"{step}\n{line}\n")
    with pytest.raises(InputError, match=r"line 2 of .* is no step"):
        _lines(tmp_path / "a")
    (tmp_path / "a").write_text(f"{step}\n{step.replace('0.5', 'null', 1)}\n")
    assert len(_lines(tmp_path / "a")) == 2


@pytest.mark.parametrize("step", [{"step": "x"}, {"step": 1.5}, {"seconds": None}, {"ess": "x"}])
def test_step_with_a_part_that_is_no_number_is_named(tmp_path, step):
    (tmp_path / "a").write_text(json.dumps(STEP | step))
    with pytest.raises(InputError, match="is no step of a run that can go on"):
        _lines(tmp_path / "a")


def test_name_that_is_too_long_is_free(tmp_path):
    assert RunFolder.free(tmp_path, "x" * 5000).name == "x" * 5000
    with pytest.raises(InputError, match="cannot be written"):
        RunFolder.create(tmp_path / ("x" * 5000))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = " + "[" * 100_000, "not a readable TOML"),
        ("seed = " + "9" * 400, "seed must be a whole number"),
        ("seed = " + "9" * 5000, "not a readable TOML"),
        ("seed = 0x" + "f" * 5000, "seed must be a whole number; got int"),
        ("budget = " + "9" * 400, "budget must be a number or a string"),
        (f"budget = '{'9' * 5000}'", "budget must be a number or a string"),
        (".".join("a" * 100_000) + " = 1", "more than 1000 dots"),
        ("x" * (1 << 19) + " = 1", "more than the 524288"),
        ("hidden = [1000000000000]", "up to 100 layers of 100000 units"),
        ("hidden = [" + "1," * 1000 + "]", "up to 100 layers"),
        ("n_passes = 1000000000000", "n_passes must be at least 1, at most 1048576"),
        ("target = 1979-05-27", "target must be a string"),
        ("target = ['a']", "target must be a string"),
        ("[provenance]\nmethod_reason = [1]", "provenance.method_reason must be"),
        ("[method_options]\na = {b = 1}", "method_options.a must be"),
        ("[method_options]\na = " + "9" * 400, "method_options.a must be a number"),
        ("[method_options]\na = 1979-05-27", "method_options.a must be"),
        ('"\\u001b[2J" = 1', "there is no setting '.x1b.2J'"),
        ("data = 'w'\nnoise = '" + "\\x1b" * 9 + "'", "noise must be auto, learn"),
    ],
)
def test_config_that_cannot_be_is_refused_in_a_line(tmp_path, text, says):
    (tmp_path / "c.toml").write_text(text)
    start = time.process_time()
    with pytest.raises(InputError, match=says) as caught:
        RunSettings.of(
            {"data": "w"}
            | {k: v for k, v in read_config(tmp_path / "c.toml").items() if k != "provenance"}
        )
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000
    assert time.process_time() - start < 5


def test_worst_dots_that_are_read_take_seconds(tmp_path):
    (tmp_path / "c.toml").write_text("\n".join(f"a{i}{'.a' * 1000} = 1" for i in range(100)))
    start = time.process_time()
    with pytest.raises(InputError, match="there is no setting a0, a1"):
        RunSettings.of(read_config(tmp_path / "c.toml"))
    assert time.process_time() - start < 10

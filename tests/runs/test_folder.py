"""Folders that are made whole and undone whole."""

import json

import pytest

from pmcnet.errors import InputError
from pmcnet.runs.folder import RunFolder, first_lines, read_json, write_json, write_text


def test_discarded_folder_leaves_no_parent_that_it_made(tmp_path):
    folder = RunFolder.create(tmp_path / "a" / "b" / "c")
    write_text(folder.config, "x = 1")
    folder.checkpoint.parent.mkdir()
    folder.discard()
    assert list(tmp_path.iterdir()) == []


def test_discarded_folder_leaves_what_was_there_before(tmp_path):
    (tmp_path / "run").mkdir()
    folder = RunFolder.create(tmp_path / "run")
    write_text(folder.config, "x = 1")
    folder.discard()
    assert list(tmp_path.rglob("*")) == [tmp_path / "run"]


def test_discarded_folder_leaves_its_neighbours(tmp_path):
    folder, other = (
        RunFolder.create(tmp_path / "runs" / "a"),
        RunFolder.create(tmp_path / "runs" / "b"),
    )
    folder.discard()
    assert list((tmp_path / "runs").iterdir()) == [other.path]


def test_free_name_is_numbered(tmp_path):
    assert RunFolder.free(tmp_path, "wine") == tmp_path / "wine"
    (tmp_path / "wine").mkdir()
    (tmp_path / "wine-2").write_text("")
    assert RunFolder.free(tmp_path, "wine") == tmp_path / "wine-3"


def test_writing_leaves_no_part(tmp_path):
    write_json(tmp_path / "a.json", {"x": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert read_json(tmp_path / "a.json") == {"x": 1}


def test_json_holds_no_nan(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert list(tmp_path.iterdir()) == []


STEP = json.dumps({"step": 1, "ess": 1.5, "warming": True, "seconds": 1})


def test_broken_line_is_named(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text(STEP + "\n{")
    with pytest.raises(InputError, match=r"history\.jsonl cannot be read"):
        first_lines(path, 2)


def test_line_that_was_torn_behind_the_steps_does_not_hurt(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_bytes((STEP + "\n" + STEP + "\n" + STEP[:20]).encode() + b"\xff")
    assert len(first_lines(path, 2)) == 2
    assert first_lines(path, 0) == first_lines(tmp_path / "nothing", 0) == []


def test_history_that_lacks_steps_is_refused(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text(STEP + "\n")
    with pytest.raises(InputError, match="has 1 steps, and the checkpoint is of step 3"):
        first_lines(path, 3)


def test_folder_of_a_run_that_was_killed_before_its_first_file_is_free(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / ".config.toml.part").touch()
    assert RunFolder.create(tmp_path).made == ()
    (tmp_path / "config.toml").touch()
    with pytest.raises(InputError, match="exists already"):
        RunFolder.create(tmp_path)


def test_what_a_killed_run_had_begun_is_cleared(tmp_path):
    folder = RunFolder(tmp_path)
    (tmp_path / ".model-x").mkdir()
    (tmp_path / ".model-x" / "tensors").touch()
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".link").symlink_to(tmp_path / "elsewhere")
    for name in (".report.html.part", "config.toml", "checkpoint/.next.safetensors.part"):
        (tmp_path / name).touch()
    folder.clear()
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"checkpoint", "config.toml", "elsewhere"}

"""Folders that are made whole and undone whole."""

import json

import pytest

from pmcnet.errors import InputError
from pmcnet.runs.folder import RunFolder, read_json, read_lines, write_json, write_text


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
    folder, other = RunFolder.create(tmp_path / "runs" / "a"), RunFolder.create(tmp_path / "runs" / "b")
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


def test_broken_line_is_named(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text(json.dumps({"step": 1}) + "\n{")
    with pytest.raises(InputError, match=r"history\.jsonl cannot be read"):
        read_lines(path)

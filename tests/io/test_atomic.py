"""Files that are written whole or not at all."""

import errno
import os

import pytest
import torch
from safetensors.torch import save

from pmcnet.io.atomic import write_whole
from pmcnet.io.tensors import read_metadata


def test_file_takes_the_place_of_the_one_before(tmp_path):
    for content in (b"old", b"new"):
        assert write_whole(tmp_path / "a", content) == tmp_path / "a"
    assert (tmp_path / "a").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_failure_leaves_the_file_before_and_no_part(tmp_path, monkeypatch, failing):
    write_whole(tmp_path / "a", b"old")

    def fail(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_content_is_on_the_disk_before_the_old_file_is_given_up(tmp_path, monkeypatch):
    done, sync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda place: (done.append("sync"), sync(place))[1])
    monkeypatch.setattr(
        os, "replace", lambda one, other: (done.append("replace"), replace(one, other))[1]
    )
    write_whole(tmp_path / "a", b"x")
    assert done == ["sync", "replace", "sync"]


def test_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / ".a.part").symlink_to(tmp_path / "mine")
    write_whole(tmp_path / "a", b"x")
    assert (tmp_path / "mine").read_text() == "mine"


def test_metadata_are_read_without_the_tensors(tmp_path):
    write_whole(tmp_path / "a", save({"x": torch.zeros(1000)}, {"problem": "this"}))
    assert read_metadata(tmp_path / "a") == {"problem": "this"}
    os.truncate(tmp_path / "a", 200)
    assert read_metadata(tmp_path / "a") == {"problem": "this"}
    os.truncate(tmp_path / "a", 20)
    with pytest.raises(ValueError, match="is announced"):
        read_metadata(tmp_path / "a")

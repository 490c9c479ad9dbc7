"""One process at a time works in a run's folder."""

import os
import subprocess
import sys

import pytest

from pmcnet.errors import InputError
from pmcnet.runs.lock import locked

HOLD = """
import sys, time
from pathlib import Path
from pmcnet.runs.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_lock_that_is_held_is_refused_and_nothing_changes(tmp_path):
    with locked(tmp_path):
        with (
            pytest.raises(InputError, match=rf"{tmp_path} is in use.*Wait until it has ended"),
            locked(tmp_path),
        ):
            pass
        assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        pass


def test_lock_of_a_process_that_was_killed_is_free(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="in use"), locked(tmp_path):
            pass
        process.kill()
        process.wait()
        assert (tmp_path / ".lock").exists()
        with locked(tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []


def test_lock_that_was_removed_while_it_was_opened_is_taken_again(tmp_path, monkeypatch):
    opened, original = [], os.open

    def late(path, *args):
        place = original(path, *args)
        if not opened:
            os.unlink(path)  # as the run that held it does when it ends
        opened.append(place)
        return place

    monkeypatch.setattr(os, "open", late)
    with locked(tmp_path):
        assert len(opened) == 2
        assert (tmp_path / ".lock").exists()


def test_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    (tmp_path / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path):
        pass
    assert not (tmp_path / "elsewhere").exists()

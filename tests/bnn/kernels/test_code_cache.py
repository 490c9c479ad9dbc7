"""Compiled kernels on disk: several processes, folders that cannot be used, damaged files."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

numba = pytest.importorskip("numba", reason="only numba's code is kept")

from pmcnet.bnn.kernels import code_cache  # noqa: E402

SIGNATURE = numba.float64(numba.float64)

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import numba
from halved import halve
from pmcnet.bnn.kernels import code_cache
found = code_cache.compiled(halve, numba.float64(numba.float64), "halve")
assert found(3.0) == 1.5
print(sum(found.stats.cache_hits.values()))
"""


@pytest.fixture
def halve(tmp_path, monkeypatch):
    """A function in a file of its own, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "halved.py").write_text("def halve(x):\n    return 0.5 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("halved", None)
    from halved import halve

    return halve


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").rglob("*.nb*"))


def test_code_is_kept_in_the_users_cache_and_found_again(halve, tmp_path):
    assert code_cache.compiled(halve, SIGNATURE, "halve")(3.0) == 1.5
    kept = files(tmp_path)
    assert kept
    again = code_cache.compiled(halve, SIGNATURE, "halve")
    assert again(3.0) == 1.5
    assert sum(again.stats.cache_hits.values()) == 1
    assert files(tmp_path) == kept


def test_numbas_own_folder_is_left_as_it_was(halve):
    before = numba.config.CACHE_DIR
    code_cache.compiled(halve, SIGNATURE, "halve")
    assert before == numba.config.CACHE_DIR


def test_another_version_has_another_folder(halve, monkeypatch):
    before = code_cache._folder()
    monkeypatch.setattr(numba, "__version__", "0.0.0")
    assert code_cache._folder() != before


def test_a_folder_that_cannot_be_written_does_no_harm(halve, tmp_path, monkeypatch, caplog):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING, "pmcnet.kernels"):
        assert code_cache.compiled(halve, SIGNATURE, "halve")(3.0) == 1.5
    assert "not kept" in caplog.text


@pytest.mark.parametrize("what", [b"", b"\x80\x04damaged"])
def test_damaged_files_are_made_again(halve, tmp_path, what, caplog):
    code_cache.compiled(halve, SIGNATURE, "halve")
    for path in files(tmp_path):
        path.write_bytes(what)
    with caplog.at_level(logging.WARNING, "pmcnet.kernels"):
        assert code_cache.compiled(halve, SIGNATURE, "halve")(3.0) == 1.5


def test_processes_that_compile_at_once_do_not_disturb_each_other(halve, tmp_path):
    command = [sys.executable, "-c", SCRIPT.format(folder=str(tmp_path))]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert all(process.wait(120) == 0 for process in running)
    for process in running:
        assert process.stdout is not None
        process.stdout.close()
    last = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert last.stdout.strip() == "1"

"""Standard input: any format, read once, bounded, removed at the end."""

import io
import os
import subprocess
import sys

import pytest

from pmcnet import data
from pmcnet.data.readers import spool
from pmcnet.data.readers.spool import discard, spooled
from pmcnet.errors import InputError


@pytest.fixture
def given(monkeypatch):
    def given(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return given


def test_errors_name_standard_input(given):
    given(b"a,a\n1,2\n")
    with pytest.raises(InputError, match="standard-input has the column name 'a' more than once"):
        data.read_frame("-")


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_nothing_is_refused(given, content):
    given(content)
    with pytest.raises(InputError, match="is empty"):
        data.read_frame("-")


def test_terminal_is_refused(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stdin in (Terminal(), None):
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(InputError, match=r"standard input is a terminal.*Use a pipe"):
            data.read_frame("-")


def test_input_without_end_is_refused(given, monkeypatch, tmp_path):
    monkeypatch.setattr(spool.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(spool, "MOST_BYTES", 1 << 20)
    given(bytes(3 << 20))
    with pytest.raises(InputError, match="standard-input has more than 1 MiB"):
        data.read_frame("-")
    assert not list(tmp_path.iterdir())


def test_file_is_removed_when_the_process_ends(tmp_path):
    code = "from pmcnet import data; print(data.read_frame('-').shape)"
    result = subprocess.run(
        [sys.executable, "-c", code],
        input=b"a;b\n1;2\n",
        capture_output=True,
        check=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert result.stdout == b"(1, 2)\n"
    assert not list(tmp_path.iterdir())


def test_spool_says_where_there_is_no_room(monkeypatch, tmp_path):
    def full():
        yield b"x"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InputError, match=r"cannot be kept in .*No space left.*TMPDIR"):
        spooled(full(), "rows")
    path = spooled([b"a", b"b"], "rows")
    assert path.read_bytes() == b"ab"
    discard(path)
    assert not list(tmp_path.iterdir())

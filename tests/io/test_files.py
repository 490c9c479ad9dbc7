"""Files of others: what is no plain file is refused at once, JSON is read as in the standard."""

import json
import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmcnet.io import files
from pmcnet.io.files import leads_inside, one_line, parse_json, read_file

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_file_is_read_whole(tmp_path):
    (tmp_path / "a").write_bytes(b"abc" * 1000)
    assert read_file(tmp_path / "a") == b"abc" * 1000


def test_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe or a device"):
        read_file(tmp_path / "pipe")


def test_device_is_refused():
    with pytest.raises(ValueError, match="pipe or a device"):
        read_file("/dev/zero")


def test_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)


def test_file_beyond_the_limit_is_refused_unread(tmp_path):
    (tmp_path / "a").write_bytes(b"abcd")
    with pytest.raises(ValueError, match="4 bytes, more than the 3"):
        read_file(tmp_path / "a", most=3)


def test_file_larger_than_memory_is_refused_unread(tmp_path):
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(1 << 42)  # takes no room on the disk
    with pytest.raises(ValueError, match="more than the"):
        read_file(path)


def test_file_without_length_reads_as_empty():
    assert read_file("/proc/self/status") == b""


def test_path_with_nul_is_refused():
    with pytest.raises(ValueError, match="null"):
        read_file("a\0b")


def test_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "own").write_text("x")
    (folder / "inner").symlink_to("own")
    with pytest.raises(ValueError, match="leads out of its folder"):
        read_file(folder / "link", inside=folder)
    assert read_file(folder / "inner", inside=folder) == b"x"
    assert read_file(folder / "link") == b"x"


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd"])
def test_path_out_of_the_folder_is_noticed(tmp_path, path):
    assert not leads_inside(tmp_path / path, tmp_path)
    assert leads_inside(tmp_path / "x", tmp_path)


def test_folder_may_itself_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert read_file(tmp_path / "link" / "a", inside=tmp_path / "link") == b"x"


@given(PLAIN)
def test_json_comes_back(value):
    assert parse_json(json.dumps(value)) == value
    assert (
        parse_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) == value
    )


@given(st.binary(max_size=60) | st.text(alphabet='[]{}",:0123456789eE+-. ntrufals\\', max_size=60))
def test_json_is_read_or_refused_by_a_value_error(content):
    try:
        parse_json(content)
    except ValueError:
        return


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e999",
        "[-1e999]",
        "9" * 301,
        "9" * 5000,
        "[" * 100_000,
        '{"a":' * 100_000,
        "",
        "\ufeff1",
    ],
)
def test_json_that_is_none_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011
        parse_json(text)


def test_json_of_brackets_alone_is_refused_unread():
    with pytest.raises(ValueError, match="brackets"):
        parse_json(b"[" + b"[]," * 1_000_000 + b"[]]")


def test_memory_of_the_machine_is_known():
    assert 1 << 28 < files.machine_memory() < 1 << 62


def test_error_is_told_in_one_printable_line():
    assert one_line(ValueError("a\nb\x1b[2J.")) == "a b\\x1b[2J"
    assert one_line(ValueError("x" * 1000)) == "x" * 297 + "..."
    assert one_line(MemoryError()) == "MemoryError"


def test_numbers_stay_as_they_were():
    assert parse_json("[1, 1.5, -0.0, 1e-320]") == [1, 1.5, -0.0, 1e-320]
    assert math.copysign(1, parse_json("-0.0")) == -1

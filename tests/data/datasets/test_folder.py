from pathlib import Path

import pytest

from pmcnet import data
from pmcnet.data.datasets.data_folder import Form, at_hand, read_first
from pmcnet.errors import InputError


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """No folder named anywhere, and a home of its own."""
    for name in ("PMCNET_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


def test_data_folder_argument_wins(bare, tmp_path):
    bare.setenv("PMCNET_DATA", "/elsewhere")
    assert data.data_folder(tmp_path / "here") == tmp_path / "here"
    assert data.data_folder(str(tmp_path)) == tmp_path


def test_data_folder_variable_wins_over_the_cache(bare):
    bare.setenv("PMCNET_DATA", "~/data")
    bare.setenv("XDG_CACHE_HOME", "/cache")
    assert data.data_folder() == Path.home() / "data"


def test_data_folder_is_in_the_cache_by_default(bare, tmp_path):
    assert data.data_folder() == tmp_path / ".cache" / "pmcnet"
    bare.setenv("XDG_CACHE_HOME", "/cache")
    assert data.data_folder() == Path("/cache/pmcnet")


@pytest.mark.parametrize("value", ["", "relative/cache"])
def test_data_folder_ignores_a_cache_that_is_no_absolute_path(bare, tmp_path, value):
    bare.setenv("XDG_CACHE_HOME", value)
    bare.setenv("PMCNET_DATA", "")
    assert data.data_folder() == tmp_path / ".cache" / "pmcnet"


def test_data_folder_is_absolute(bare, tmp_path):
    bare.chdir(tmp_path)
    assert data.data_folder("x") == tmp_path / "x"


def test_data_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"is a file\. Give a folder"):
        data.data_folder(tmp_path / "file")


def names_read(paths, verify):
    return [path.name for path in paths], verify


FORMS = (
    Form((("a.gz", "a"), ("b",)), names_read),
    Form((("c",), ("d",), ("e",)), names_read),
)


def test_form_takes_the_first_place_of_each_file(tmp_path):
    for name in ("a", "a.gz", "b"):
        (tmp_path / name).touch()
    assert read_first("letters", FORMS, tmp_path, True) == (["a.gz", "b"], True)


def test_form_of_which_a_file_is_missing_gives_way_to_the_next(tmp_path):
    for name in ("a", "c", "d", "e"):
        (tmp_path / name).touch()
    assert read_first("letters", FORMS, tmp_path, False) == (["c", "d", "e"], False)


def test_at_hand_needs_every_file_of_a_form(tmp_path):
    (tmp_path / "a").touch()
    assert not at_hand(FORMS, tmp_path)
    (tmp_path / "b").mkdir()
    assert not at_hand(FORMS, tmp_path)
    (tmp_path / "b").rmdir()
    (tmp_path / "b").touch()
    assert at_hand(FORMS, tmp_path)


def test_missing_files_are_those_of_the_official_form(tmp_path):
    with pytest.raises(
        InputError, match=rf"letters is not at hand: the data folder {tmp_path} has no a.gz, b\."
    ) as refusal:
        read_first("letters", FORMS, tmp_path, True)
    assert "`pmcnet datasets --fetch letters`" in str(refusal.value)
    assert "PMCNET_DATA" in str(refusal.value)


def test_missing_files_are_those_of_the_form_that_is_nearly_there(tmp_path):
    (tmp_path / "c").touch()
    (tmp_path / "e").touch()
    with pytest.raises(InputError, match=r"has no d\."):
        read_first("letters", FORMS, tmp_path, True)

"""Runs that several tests look at and none changes."""

from pathlib import Path

import pytest

from cli.commands import LIGHT, TINY, classes, done, numbers, written
from pmcnet.reports import page


@pytest.fixture(scope="session")
def tables(tmp_path_factory) -> Path:
    """A folder with classes.csv and numbers.csv."""
    folder = tmp_path_factory.mktemp("tables")
    written(classes(), folder / "classes.csv")
    written(numbers(), folder / "numbers.csv")
    return folder


@pytest.fixture(scope="session")
def classified(tables) -> Path:
    """A finished annealed run of a classification."""
    done("fit", tables / "classes.csv", "--target", "y", *TINY, "--out", tables / "classified")
    return tables / "classified"


@pytest.fixture(scope="session")
def regressed(tables) -> Path:
    """A finished run of pmcnet-light on a regression, whose prior was searched."""
    done("fit", tables / "numbers.csv", "--target", "y", *LIGHT, "--out", tables / "regressed")
    return tables / "regressed"


@pytest.fixture
def no_page(classified, regressed, monkeypatch) -> None:
    """Pages are not drawn, which take most of the time of a small run; shared runs have one."""
    monkeypatch.setattr(page, "write_report", lambda record, path: Path(path).write_text("<html>"))

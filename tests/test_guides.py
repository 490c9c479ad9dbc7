"""The guides name what there is, and the Python of the first pages and of the estimators runs."""

import ast
import importlib
import re
import warnings
from pathlib import Path

import pytest

from pmcnet.bnn.likelihoods.registry import FAMILIES
from pmcnet.runs.config import RunSettings

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", FAMILIES)
def test_every_likelihood_has_its_rows(name):
    assert re.search(rf"^\| `{name}` \|", (DOCS / "estimators.md").read_text(), re.MULTILINE)
    rows = [line for line in (DOCS / "bnn.md").read_text().splitlines() if line.startswith("| `")]
    for kind in FAMILIES[name]:
        assert any(f"`{kind.__name__}(" in row.split("|")[1] for row in rows), kind


def test_every_setting_of_a_run_is_named():
    text = (DOCS / "cli.md").read_text()
    missing = [name for name in RunSettings.__dataclass_fields__ if f"`{name}`" not in text]
    assert missing == ["method_options"]  # which is a table of its own
    assert "`[method_options]`" in text


ROOMS = ("ais", "bnn", "data", "methods", "metrics", "tune")


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


def executed(page: Path) -> dict:
    names: dict = {}
    for block in blocks(page):
        exec(compile(block, page.name, "exec"), names)
    return names


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda p: p.stem)
def test_python_of_guides_names_what_there_is(page):
    for block in blocks(page):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("pmcnet"):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names), block
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                room = node.value.id
                if room in ROOMS:
                    assert hasattr(importlib.import_module(f"pmcnet.{room}"), node.attr), node.attr


def test_first_fit_runs(capsys, monkeypatch):
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    names = executed(DOCS / "start.md")
    assert str(names["model"].verdict_) in capsys.readouterr().out
    assert ((names["low"] < names["mean"]) & (names["mean"] < names["high"])).all()


@pytest.mark.slow
def test_guide_to_the_estimators_runs():
    assert executed(DOCS / "estimators.md")["model"].formulation_reason_


def test_guide_to_the_checks_runs(capsys):
    pytest.importorskip("arviz_stats.loo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of k-hat, by ArviZ
        executed(DOCS / "checks.md")
    assert "Expected log predictive density" in capsys.readouterr().out


def test_guide_to_explanations_runs():
    names = executed(DOCS / "explanations.md")
    assert names["importance"].frame["feature"].iloc[0] == "size"
    assert set(names["effects"].pairs[0].features) == {"age", "town"}

"""The guides name what there is, and the Python of the guides to estimators and checks runs."""

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


def test_guide_to_the_checks_runs(capsys):
    pytest.importorskip("arviz_stats.loo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of k-hat, by ArviZ
        run_guide("checks.md")
    assert "Expected log predictive density" in capsys.readouterr().out


def run_guide(name: str) -> dict:
    text = (DOCS / name).read_text()
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, name, "exec"), names)
    return names


@pytest.mark.slow
def test_guide_to_the_estimators_runs():
    assert run_guide("estimators.md")["model"].formulation_reason_


def test_guide_to_explanations_runs():
    names = run_guide("explanations.md")
    assert names["importance"].frame["feature"].iloc[0] == "size"
    assert set(names["effects"].pairs[0].features) == {"age", "town"}

"""The demo, with fits that take no time."""

from dataclasses import replace

import pytest

from cli.commands import done, refused
from pmcnet.errors import InputError
from pmcnet.methods.point_estimates import AdamMethod
from pmcnet.reports import page
from pmcnet.runs import compare

QUICK = ({"n_epochs": 2, "prior_std": 1.0},)


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What the demo asks for; it gets two networks that were hardly trained."""
    real, given = compare.compare_runs, []

    def quick(settings, methods, out, *, shown):
        given.append((settings, methods, out))
        light = replace(settings, data="wine", n_passes=5, device="cpu")
        return real(light, ["adam-map", "adam-mle"], out, shown=shown)

    monkeypatch.setattr(AdamMethod, "grid", QUICK)
    monkeypatch.setattr(compare, "compare_runs", quick)
    monkeypatch.setattr(compare, "write_report", lambda record, path: path)
    monkeypatch.setattr(page, "write_report", lambda record, path: path.write_text("<html>"))
    monkeypatch.chdir(tmp_path)
    return given


def test_demo_compares_our_method_with_the_papers_on_its_network(asked, tmp_path):
    told = done("demo", "--seed", 3).stdout
    ((settings, methods, _),) = asked
    assert (settings.data, settings.hidden, settings.seed) == ("ionosphere", (5,), 3)
    assert methods == ["annealed", "pmcnet"]
    assert (tmp_path / "runs" / "demo" / "comparison.json").is_file()
    assert "adam-map" in told
    assert "verdict" in told
    assert "Open the report in a browser." in told


def test_demo_never_writes_over_an_earlier_one(monkeypatch, tmp_path):
    asked = []

    def enough(settings, methods, out, *, shown):
        asked.append(out)
        raise InputError("enough.")

    monkeypatch.setattr(compare, "compare_runs", enough)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "demo").mkdir(parents=True)
    (tmp_path / "runs" / "demo" / "mine").write_text("mine")
    refused("demo", says=("enough",))
    refused("demo", "--out", "mine", says=("enough",))
    free, mine = asked
    assert not free.exists()
    assert free.parent.name == "runs"
    assert mine.name == "mine"
    assert [path.name for path in (tmp_path / "runs" / "demo").iterdir()] == ["mine"]

"""What averages were worth at given times, of chains and of the ensembles beside them."""

import itertools
from dataclasses import replace

import pytest
import torch

from paper import small
from pmcnet.paper import EXPERIMENTS, chains, deep_problems, posterior, rivals

SETTINGS = replace(
    EXPERIMENTS["mnist-c-posterior"].settings.quick(), budget=1.0, parts=("ensemble",)
)


@pytest.fixture(autouse=True)
def little(monkeypatch):
    monkeypatch.setattr(deep_problems.data, "load_images", small.images)


@pytest.fixture
def ensemble(monkeypatch):
    """Of rounds that take 0.3 s, the first one too: what it records with these settings."""
    monkeypatch.setattr(rivals, "since", lambda begun, device: 0.3)

    def record(folder=None, **changed):
        settings = replace(SETTINGS, **changed)
        device = torch.device("cpu")
        study = posterior.made(
            "mnist-c-posterior", settings=settings, device=device, say=print, folder=folder
        )
        return rivals.ensemble(study, torch.zeros(settings.n_chains, study.target.dim), 0.3)

    return record


@pytest.mark.parametrize(
    ("mark", "n_rounds"), [(0.2, None), (0.3, 1), (0.5, 1), (0.7, 2), (0.95, 3), (1.0, 3)]
)
def test_a_mark_has_the_rounds_that_were_over_by_then(ensemble, mark, n_rounds):
    """Also between the last round and the end of the budget."""
    found = ensemble(marks=(mark,))["marks"].get(str(mark))
    assert (found and found["n_networks"]) == (n_rounds and n_rounds * SETTINGS.n_chains)


def test_a_mark_does_not_depend_on_how_long_a_round_should_have_taken(ensemble, monkeypatch):
    """Rounds are over at .3, .6, 1.5 and 1.6 s: the third takes longer than the one before told, the fourth less."""
    times = iter([0.3, 0.9, 0.1, 0.4, 0.4])
    monkeypatch.setattr(rivals, "since", lambda begun, device: next(times))
    marks = ensemble(budget=2.45, marks=(1.0, 1.58, 1.7))["marks"]
    assert [scores["n_networks"] // SETTINGS.n_chains for scores in marks.values()] == [2, 3, 4]


def test_marks_of_an_ensemble_beyond_its_budget_or_before_a_later_call_are_not_known(
    ensemble, tmp_path
):
    assert ensemble(folder=tmp_path, marks=(1.1,))["marks"] == {}
    later = ensemble(folder=tmp_path, budget=2.0, marks=(0.4, 1.3))["marks"]
    assert {mark: scores["n_networks"] for mark, scores in later.items()} == {
        "1.3": 4 * SETTINGS.n_chains
    }


def test_a_mark_of_chains_has_the_draws_that_were_over_by_then(monkeypatch):
    """A tenth of a second for the start and every epoch; draws after epochs 2, 3 and so on."""
    clock = itertools.count(1)
    monkeypatch.setattr(chains, "since", lambda begun, device: 0.1 * next(clock))
    settings = replace(SETTINGS, parts=("chains",), budget=0.95, marks=(0.75,))
    device = torch.device("cpu")
    record = posterior.run("mnist-c-posterior", settings=settings, device=device, say=print)
    found = record["rows"]["SGHMC chains, approximate"]
    over = [line for line in found["history"] if "log_density" in line and line["seconds"] <= 0.75]
    assert 1 <= len(over) < sum("log_density" in line for line in found["history"])
    assert found["marks"]["0.75"]["n_networks"] == len(over) * SETTINGS.n_chains

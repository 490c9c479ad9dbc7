"""The settings among which baselines are tuned."""

import pytest

from pmcnet import requirements
from pmcnet.methods.registry import METHODS, options
from pmcnet.methods.settings import N_CHOICES, parts
from pmcnet.methods.training.loop import TrainedMethod

GRIDS = {name: settings.grid for name, settings in METHODS.items() if settings.grid}


def test_every_baseline_has_a_grid():
    assert set(GRIDS) == {
        name for name, settings in METHODS.items() if isinstance(settings, TrainedMethod)
    }


@pytest.mark.parametrize("name", GRIDS)
def test_every_method_gets_the_same_number_of_different_choices(name):
    choices = GRIDS[name]
    assert len(choices) == N_CHOICES
    assert all(choice not in choices[:i] for i, choice in enumerate(choices))


@pytest.mark.parametrize("name", GRIDS)
def test_choices_are_settings_of_the_method(name, monkeypatch):
    monkeypatch.setattr(requirements, "find_spec", lambda module: True)
    for choice in GRIDS[name]:
        own, prior_std = parts(choice)
        method = options(name, own, 100)
        assert {key: getattr(method, key) for key in own} == own
        assert prior_std > 0

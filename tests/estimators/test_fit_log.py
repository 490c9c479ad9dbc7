"""What a fit decides is logged at INFO, and nothing is printed."""

import logging

import numpy as np
import pytest
import torch

from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.estimators import plan

SMALL = {
    "likelihood": "gaussian",
    "noise": "learn",
    "prior_std": 1.0,
    "method_options": {"n_islands": 4, "n_particles": 8},
    "random_state": 0,
}


@pytest.fixture
def rows():
    source = np.random.default_rng(0)
    x = source.normal(size=(40, 2))
    return x, x[:, 0] + 0.1 * source.normal(size=40)


def test_decisions_are_logged(caplog, rows):
    caplog.set_level(logging.INFO, logger="pmcnet")
    model = PMCNetRegressor((3,), **SMALL).fit(*rows)
    assert {record.name for record in caplog.records} == {"pmcnet.fit"}
    lines = caplog.messages
    assert lines[0] == "columns: 2 number"
    assert lines[1] == model.method_reason_
    assert lines[-1] == f"verdict {model.verdict_}"


class LastState:
    """An observer that keeps where a fit can go on."""

    def stage(self, text):
        pass

    def planned(self, plan, settled):
        pass

    def __call__(self, state, info):
        self.state = state


@pytest.fixture
def informative(monkeypatch):
    """Few rows say much enough for chains."""
    monkeypatch.setattr(plan, "MUCH_INFORMATION", {"by-row": 1.0})


def test_a_change_of_method_is_logged(caplog, rows, informative):
    caplog.set_level(logging.INFO, logger="pmcnet")
    settings = SMALL | {"noise": "by-row", "method_options": None, "budget": "1s"}
    model = PMCNetRegressor((3,), **settings).fit(*rows)
    begun, changed = (line for line in caplog.messages if line.startswith("Method:"))
    assert begun.startswith("Method: annealed")
    assert changed == model.method_reason_
    assert model.method_ == "hmc"


def test_a_fit_that_changed_its_method_goes_on_from_its_state(rows, informative):
    seen = LastState()
    settings = SMALL | {"noise": "by-row", "method_options": None, "budget": "1s"}
    model = PMCNetRegressor((3,), **settings)
    model.fit_with(*rows, observers=[seen])
    again = PMCNetRegressor((3,), **settings).fit_with(*rows, state=seen.state)
    assert again.method_ == "hmc"
    assert torch.equal(again.posterior_.theta, model.posterior_.theta)


def test_nothing_is_printed_and_warnings_are_not_logged_as_info(capfd, caplog, rows):
    caplog.set_level(logging.WARNING, logger="pmcnet")
    PMCNetRegressor((3,), **SMALL).fit(*rows)
    assert capfd.readouterr() == ("", "")
    assert caplog.messages == []


def test_logging_changes_no_bit(caplog, rows):
    silent = PMCNetRegressor((3,), **SMALL).fit(*rows)
    caplog.set_level(logging.INFO, logger="pmcnet")
    heard = PMCNetRegressor((3,), **SMALL).fit(*rows)
    assert torch.equal(silent.posterior_.theta, heard.posterior_.theta)


def test_images_have_no_line_of_columns(caplog):
    caplog.set_level(logging.INFO, logger="pmcnet")
    images = np.random.default_rng(0).normal(size=(12, 1, 3, 3)).astype(np.float32)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(9, 1))
    options = {"n_islands": 4, "n_particles": 8}
    PMCNetClassifier(
        module=network,
        likelihood="categorical",
        prior_std=1.0,
        method_options=options,
        random_state=0,
    ).fit(images, np.arange(12) % 2)
    assert caplog.messages[0].startswith("Method:")

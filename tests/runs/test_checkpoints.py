"""The two states of a run on disk."""

import errno
import os
from contextlib import suppress

import pytest
import torch

from pmcnet import ais
from pmcnet.ais.pmc.state import Estimate
from pmcnet.errors import InputError
from pmcnet.methods.training.state import TrainingState
from pmcnet.runs.checkpoints import Checkpoints
from pmcnet.runs.run_observer import VARIABLE, seconds_between_checkpoints

CPU = torch.device("cpu")
KINDS = (ais.PMCState, TrainingState)
PROBLEM = {"data": "abc", "hidden": [16], "prior_std": 1.0, "method_options": {"n_steps": 3}}


def state(step: int) -> ais.PMCState:
    first = ais.pmcnet.init(torch.zeros(3, 2, dtype=torch.float64), seed=1)
    return first._replace(step=step, last=Estimate(0.0, 1.0), pooled=Estimate(0.0, 1.0))


@pytest.fixture
def kept(tmp_path):
    """Checkpoints of steps 1 and 2."""
    checkpoints = Checkpoints(tmp_path / "checkpoint")
    for step in (1, 2):
        checkpoints.save(state(step), PROBLEM)
    return checkpoints


def test_latest_is_read_and_the_one_before_is_kept(kept):
    found = kept.load(PROBLEM, KINDS, CPU)
    assert (found.state.step, found.remark) == (2, "")
    assert {path.name for path in kept.folder.iterdir()} == {
        "state.safetensors",
        "previous.safetensors",
    }


@pytest.mark.parametrize("how", ["missing", "cannot be read"])
def test_one_before_is_read_where_the_latest_cannot_be(kept, how):
    if how == "missing":
        kept.latest.unlink()
    else:
        os.truncate(kept.latest, 300)
    found = kept.load(PROBLEM, KINDS, CPU)
    assert found.state.step == 1
    assert how in found.remark
    assert "goes on from the checkpoint before it" in found.remark


def test_nothing_is_found_where_nothing_is(tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoint")
    assert not checkpoints.exist()
    assert checkpoints.load(PROBLEM, KINDS, CPU) is None


def test_checkpoints_that_cannot_be_read_are_refused(kept):
    for path in (kept.latest, kept.previous):
        path.write_bytes(b"no")
    with pytest.raises(InputError, match=r"state\.safetensors cannot be read as a checkpoint"):
        kept.load(PROBLEM, KINDS, CPU)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data", "x"),
        ("hidden", [17]),
        ("prior_std", 2.0),
        ("method_options", {"n_steps": 4}),
        ("method_options", {}),
    ],
)
def test_state_of_another_problem_is_refused_by_what_differs(kept, name, value):
    with pytest.raises(
        InputError, match=f"belongs to another run: it was begun with another {name}"
    ):
        kept.load({**PROBLEM, name: value}, KINDS, CPU)


def test_state_from_before_the_prior_was_known_fits_any(tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoint")
    checkpoints.save(TrainingState({"theta": torch.zeros(2)}, 1, 0, "start"), {"data": "abc"})
    assert checkpoints.load(PROBLEM, KINDS, CPU).state.epoch == 1
    with pytest.raises(InputError, match="it holds the state of another method"):
        checkpoints.load(PROBLEM, (ais.AnnealedState,), CPU)
    with pytest.raises(InputError, match="another data"):
        checkpoints.load({**PROBLEM, "data": "x"}, KINDS, CPU)


@pytest.mark.parametrize("failing", ["fsync", "replace", "open"])
def test_failure_to_write_leaves_a_state_that_can_be_read(kept, monkeypatch, failing):
    for after in range(4):
        original, calls = getattr(os, failing), []

        def fail(*args, original=original, calls=calls, after=after, **kwargs):
            calls.append(1)
            if len(calls) > after:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return original(*args, **kwargs)

        with monkeypatch.context() as patch, suppress(OSError):
            patch.setattr(os, failing, fail)
            kept.save(state(3), PROBLEM)
        assert kept.load(PROBLEM, KINDS, CPU).state.step in (1, 2, 3)


@pytest.mark.parametrize(("text", "seconds"), [(None, 15.0), ("", 15.0), ("0", 0.0), ("2.5", 2.5)])
def test_seconds_between_checkpoints_are_those_of_the_environment(monkeypatch, text, seconds):
    monkeypatch.delenv(VARIABLE, raising=False)
    if text is not None:
        monkeypatch.setenv(VARIABLE, text)
    assert seconds_between_checkpoints() == seconds


@pytest.mark.parametrize("text", ["-1", "often", "nan"])
def test_seconds_that_are_none_are_refused(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=f"{VARIABLE} must be a number of seconds"):
        seconds_between_checkpoints()

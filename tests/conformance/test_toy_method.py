"""A method of its own file and one line of the registry goes through everything there is."""

import json
import os
import signal
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from cli.commands import done, invoke, numbers, written
from pmcnet import PMCNetRegressor
from pmcnet.ais.comm import SERIAL
from pmcnet.bnn import Population
from pmcnet.methods.base import Fit, Method
from pmcnet.methods.registry import METHODS
from pmcnet.methods.settings import Settings, choices
from pmcnet.methods.training.loop import Watch
from pmcnet.methods.training.state import TrainingState
from pmcnet.rng import standard_normal, stream, uniform
from pmcnet.runs.run_observer import VARIABLE, RunObserver


@dataclass(frozen=True)
class ToyMethod(Method):
    """Random-walk Metropolis from draws of the prior."""

    n_chains: int
    n_steps: int
    step: float

    state_types: ClassVar = (TrainingState,)
    work: ClassVar = "a random walk"

    def fit(self, target, *, seed, state=None, observers=(), comm=SERIAL, validation=None):
        chains = [stream(seed, 0, chain) for chain in range(self.n_chains)]
        theta = target.sample_prior(chains, 1)[:, 0]  # (C, D)
        watch = Watch(target, validation, self.n_steps, seed, state, observers)
        watch.restore({"theta": theta}, theta)
        for step in range(watch.first, self.n_steps):
            source = stream(seed, 1 + step, 0)
            noise = standard_normal([source], tuple(theta.shape), like=theta)[0]
            proposed = theta + self.step * noise
            log_ratio = target.log_density(proposed) - target.log_density(theta)
            accepted = uniform([source], len(theta), like=theta)[0].log() < log_ratio
            theta[accepted] = proposed[accepted]
            watch.done({"theta": theta})
        return Fit(Population.of(target, theta, "a toy."), tuple(watch.history))


@dataclass(frozen=True, kw_only=True)
class ToyOptions(Settings):
    """Settings of the toy."""

    n_chains: int = 20
    n_steps: int = 6
    step: float = 0.05

    may_be_zero = frozenset({"step"})
    grid = choices(step=(0.02, 0.05), prior_std=(1.0,))

    def summary(self, name):
        return "a random walk"

    def method(self, name):
        return ToyMethod(self.n_chains, self.n_steps, self.step)

    def longer(self):
        return {"n_steps": 2 * self.n_steps}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(METHODS, "toy", ToyOptions())


@pytest.fixture
def table(tmp_path):
    return written(numbers(), tmp_path / "rows.csv")


def fit(table, out):
    common = ("--target", "y", "--hidden", 2, "--device", "cpu", "--passes", 5, "--prior-std", 1)
    return ("fit", table, *common, "--method", "toy", "--option", "n_steps=8", "--out", out)


def test_toy_is_an_estimator_with_a_model_file(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 3))
    model = PMCNetRegressor(method="toy", random_state=0, device="cpu").fit(x, x[:, 0])
    assert (model.method_, model.verdict_.reason) == ("toy", "a toy.")
    assert len(model.prior_trials_) > 0
    assert [line["epoch"] for line in model.history_] == [1, 2, 3, 4, 5, 6]
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m"))
    assert (loaded.predict(x) == model.predict(x)).all()


def test_toy_run_is_interrupted_and_resumed_bit_for_bit(table, tmp_path, monkeypatch):
    done(*fit(table, tmp_path / "whole"))
    original = RunObserver.__call__

    def press(self, state, info):
        if info.epoch == 3:
            os.kill(os.getpid(), signal.SIGINT)
        original(self, state, info)

    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, "0")
        patch.setattr(RunObserver, "__call__", press)
        assert invoke(*fit(table, tmp_path / "run")).exit_code == 130
    assert (tmp_path / "run" / "checkpoint" / "state.safetensors").is_file()
    done("resume", tmp_path / "run")
    runs = [tmp_path / name for name in ("run", "whole")]
    ours, theirs = (load_file(run / "model" / "tensors.safetensors") for run in runs)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    lines = (runs[0] / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == list(range(1, 9))
    assert "n_steps=16 (now 8)" in done("diagnose", runs[0]).stdout
    (runs[0] / "report.html").unlink()
    done("report", runs[0])
    assert "<td>toy" in (runs[0] / "report.html").read_text()
    assert done("predict", runs[0], table).stdout


def test_toy_is_compared_and_tuned(table, tmp_path):
    common = ("--target", "y", "--hidden", 2, "--device", "cpu", "--passes", 5)
    done("compare", table, *common, "--methods", "toy", "--out", tmp_path / "out")
    (entry,) = json.loads((tmp_path / "out" / "comparison.json").read_text())["methods"]
    assert entry["method"] == "toy"
    assert [trial["step"] for trial in entry["trials"]] == [0.02, 0.05]


def test_toy_is_in_the_help():
    assert "toy" in done("fit", "--help").stdout

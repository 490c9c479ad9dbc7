"""A likelihood that only this file knows goes everywhere: estimator, model file, runs, report."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy import stats

from cli.commands import TINY, done, invoke, numbers, refused, written
from pmcnet import PMCNetRegressor
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.base import Gradients, LearnedScale, column
from pmcnet.bnn.likelihoods.location_scale import Regression
from pmcnet.errors import InputError
from pmcnet.reports import page

K = math.pi / math.sqrt(3)


@dataclass(frozen=True)
class Logistic(LearnedScale, Regression):
    """y = output + s times logistic noise, with log s learned."""

    @classmethod
    def for_response(cls, response, units):
        return cls()

    def log_prob(self, output, y, extra):
        z = (y - column(output, y)) * (-extra).exp()
        return torch.nn.functional.logsigmoid(z) + torch.nn.functional.logsigmoid(-z) - extra

    def gradients(self, output, y, extra):
        z = (y - column(output, y)) * (-extra).exp()
        tanh = (z / 2).tanh()
        return Gradients(
            self.log_prob(output, y, extra),
            (tanh * (-extra).exp())[..., None],
            (z * tanh - 1)[..., None],
        )

    def noise_variance(self, extra):
        return (2 * extra[..., 0]).exp() * K**2

    def cdf(self, z):
        return (K * z).sigmoid()

    def pdf(self, z):
        return K * (K * z).sigmoid() * (-K * z).sigmoid()

    def standard_noise(self, source, shape):
        return source.logistic(size=shape) / K


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(registry.FAMILIES, "toy", (Logistic,))


def fitted():
    frame = numbers(60)
    settings = {
        "method_options": {"n_islands": 4, "n_particles": 16},
        "prior_std": 1.0,
        "random_state": 0,
    }
    model = PMCNetRegressor((2,), method="annealed", likelihood="toy", device="cpu", **settings)
    x = frame[["x", "z"]].to_numpy()
    return model.fit(x, frame["y"].to_numpy()), x, frame["y"].to_numpy()


def test_gradients_are_those_of_automatic_differentiation():
    source = torch.Generator().manual_seed(0)
    output = torch.randn(5, 7, 1, generator=source, dtype=torch.float64, requires_grad=True)
    extra = torch.randn(5, 1, generator=source, dtype=torch.float64, requires_grad=True)
    y = torch.randn(7, generator=source, dtype=torch.float64)
    toy = Logistic()
    log_prob = toy.log_prob(output, y, extra)
    known = stats.logistic.logpdf(
        y.numpy(), output.detach()[..., 0].numpy(), extra.detach().exp().numpy()
    )
    assert np.allclose(log_prob.detach().numpy(), known)
    expected = torch.autograd.grad(log_prob.sum(), (output, extra))
    found = toy.gradients(output.detach(), y, extra.detach())
    assert torch.allclose(found.log_prob, log_prob)
    assert torch.allclose(found.output, expected[0])
    assert torch.allclose(found.extra.sum(1), expected[1])


def test_estimator_predicts_samples_and_comes_back_from_a_file(tmp_path):
    model, x, y = fitted()
    assert isinstance(model.posterior_.likelihood, Logistic)
    mean, std = model.predict(x, return_std=True)
    interval, total = model.predict_interval(x, 0.9), model.uncertainty(x).total
    inside = (interval[:, 0] < y) & (y < interval[:, 1])
    assert np.corrcoef(mean, y)[0, 1] > 0.95
    assert inside.mean() > 0.75
    assert np.allclose(std**2, total)
    drawn = model.sample_y(x, 2000, random_state=1)
    below = (drawn[..., None] < interval[:, None]).mean(1)  # (N, 2)
    error = math.sqrt(0.05 * 0.95 / 2000)
    assert np.abs(below - [0.05, 0.95]).max() < 5 * error
    assert np.isfinite(model.log_predictive(x, y)).all()
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m"))
    assert loaded.likelihood == "toy"
    assert loaded.posterior_.likelihood == model.posterior_.likelihood
    assert (loaded.predict_interval(x, 0.9) == interval).all()
    assert (loaded.sample_y(x, 3) == model.sample_y(x, 3)).all()


def interrupt(monkeypatch, after: int, *arguments: object) -> None:
    """Run a command in which Ctrl-C is pressed when the likelihood is asked so many times."""
    original, asked = Logistic.gradients, []

    def press(self, *given):
        asked.append(None)
        if len(asked) == after:
            raise KeyboardInterrupt
        return original(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Logistic, "gradients", press)
        patch.setenv("PMCNET_CHECKPOINT_SECONDS", "0")
        result = invoke(*arguments)
    assert result.exit_code == 130, result.output
    assert "pmcnet resume" in result.stderr


def test_run_is_fitted_interrupted_resumed_evaluated_and_reported(tmp_path, monkeypatch):
    table = written(numbers(), tmp_path / "rows.csv")
    fit = ("fit", table, "--target", "y", "--likelihood", "toy", *TINY, "--out")
    whole, run = tmp_path / "whole", tmp_path / "run"
    with monkeypatch.context() as patch:  # drawing pages takes long; `report` draws one below
        patch.setattr(page, "write_report", lambda record, path: Path(path).write_text("<html>"))
        done(*fit, whole)
        interrupt(monkeypatch, 60, *fit, run)
        done("resume", run)
    assert 'likelihood = "toy"' in (run / "config.toml").read_text()
    theta = [load_file(each / "model" / "tensors.safetensors")["theta"] for each in (whole, run)]
    assert torch.equal(*theta)
    stored = json.loads((run / "model" / "model.json").read_text())
    assert stored["settings"]["likelihood"] == "toy"
    assert stored["likelihood"]["kind"] == "Logistic"
    done("predict", run, table, "-o", tmp_path / "predictions.csv")
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 31
    assert json.loads(done("evaluate", run, table, "--json").stdout)["bma"]["nll"] < 5
    done("report", run)
    assert "<svg" in (run / "report.html").read_text()


def test_unknown_name_is_refused_with_those_that_are_known(tmp_path):
    with pytest.raises(InputError, match=r"must be one of gaussian, .*, toy; got 'categorical'"):
        PMCNetRegressor(likelihood="categorical").fit([[0.0], [1.0]], [0.0, 1.0])
    table = written(numbers(), tmp_path / "rows.csv")
    arguments = ("fit", table, "--target", "y", "--likelihood", "magic", "--out", tmp_path / "run")
    refused(*arguments, says=("likelihood must be one of gaussian", "toy; got 'magic'"))
    assert not (tmp_path / "run").exists()

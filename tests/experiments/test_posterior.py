"""Posteriors of deep networks at tiny sizes on data made for it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from experiments import small
from pmcnet.errors import InputError
from pmcnet.experiments import EXPERIMENTS, deep_problems, posterior, reproduce
from pmcnet.experiments.averaging import Average

TINY = replace(EXPERIMENTS["mnist-c-posterior"].settings.quick(), budget=1.0)


@pytest.fixture(autouse=True)
def little(monkeypatch):
    monkeypatch.setattr(deep_problems.data, "load_images", small.images)


def run(settings=TINY, folder=None, say=lambda line: None):
    return posterior.run("mnist-c-posterior", settings=settings, device=torch.device("cpu"), say=say, folder=folder)


def test_averages_are_those_of_all_networks():
    draws = torch.rand(6, 20, 3, generator=torch.Generator().manual_seed(0)).softmax(-1)
    label = torch.arange(20) % 3
    added = Average.nothing(20, 3, draws.device).plus(draws[:2], label).plus(draws[2:], label)
    mean = draws.double().mean(0)
    assert torch.allclose(added.mean, mean)
    scores = added.scores(label)
    assert scores["n_networks"] == 6
    assert scores["accuracy"] == pytest.approx(float((mean.argmax(-1) == label).double().mean()))
    assert scores["single_accuracy"] == pytest.approx(float((draws.argmax(-1) == label).double().mean()))
    assert scores["nll"] == pytest.approx(float(-mean.gather(1, label[:, None]).log().mean()))
    total, shared = added.uncertainty
    assert (shared >= -1e-12).all()
    assert torch.allclose(total - shared, -(draws * draws.log()).sum(-1).double().mean(0))


def test_chains_are_compared_with_their_start_and_with_more_networks(tmp_path):
    record = run(folder=tmp_path)
    json.dumps(record, allow_nan=False)
    assert set(record["scores"]) == {"start", "chains", "ensemble"}
    assert [row["label"] for row in record["table"]["rows"]][-1] == "Hamiltonian chains"
    assert record["chains"]["seconds"] >= TINY.budget
    assert record["chains"]["verdict"][0] in ("trustworthy", "doubtful", "degenerate")
    kept = np.load(tmp_path / "mnist-c-posterior-probability.npz")["probability"]
    assert kept.dtype == np.float16
    assert np.allclose(kept.astype(float).sum(-1), 1, atol=5e-3)


def test_a_larger_budget_goes_on_where_the_run_was(tmp_path):
    first = run(folder=tmp_path)
    said = []
    more = run(replace(TINY, budget=2.0), folder=tmp_path, say=said.append)
    n = len(first["chains"]["history"])
    assert more["chains"]["history"][:n] == first["chains"]["history"]
    assert len(more["chains"]["history"]) > n
    assert more["start"] == first["start"]
    assert not any("networks trained" in line for line in said)


def test_resnet_of_posterior_studies_has_all_rows_and_no_batch_statistics(monkeypatch):
    monkeypatch.setitem(small.SHAPES, "cifar10", (3, 32, 32))
    how = deep_problems.Evaluation("float32", False, 1 << 30)
    problem = deep_problems.posterior_problem("cifar10-posterior", torch.device("cpu"), how, limits=(20, 0, 10))
    assert problem.network.layout.dim == 274042
    assert problem.augmentation is None
    theta = 0.1 * torch.randn(1, 274042, generator=torch.Generator().manual_seed(0))
    x = problem.train[0]
    assert torch.allclose(problem.network(theta, x)[:, :5], problem.network(theta, x[:5]), atol=1e-4)


def test_budget_and_seeds_are_refused_where_they_mean_nothing():
    with pytest.raises(InputError, match="has no budget"):
        reproduce("naval", quick=True, device="cpu", say=print, budget=3.0)
    with pytest.raises(InputError, match="has one seed"):
        reproduce("mnist-c-posterior", quick=True, device="cpu", say=print, n_seeds=2)

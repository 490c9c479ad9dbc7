"""The paper's experiments at tiny sizes, and the one published row that can be checked exactly."""

import json

import numpy as np
import pytest
import torch

from pmcnet import ais, data, metrics
from pmcnet.bnn import MLP, Bernoulli, ParticlePosterior
from pmcnet.errors import InputError
from pmcnet.methods import Jitter, PMCMethod
from pmcnet.paper import EXPERIMENTS, reproduce
from pmcnet.paper.paper_scores import score
from pmcnet.paper.problem import paper_problem
from pmcnet.paper.tables import ionosphere

SHALLOW = [name for name, each in EXPERIMENTS.items() if not each.keeps_checkpoints]


@pytest.mark.parametrize("name", SHALLOW)
def test_experiment_runs_at_quick_sizes_and_is_plain_data(name):
    said = []
    record = reproduce(name, quick=True, device="cpu", say=said.append)
    assert json.loads(json.dumps(record, allow_nan=False))["experiment"] == name
    assert said
    for run in record["runs"]:
        assert {"ess", "khat", "log_evidence", "verdict", "reason"} <= run["diagnostics"].keys()
        assert 0 <= run["per_draw"]["accuracy"]["mean"] <= 1
    for row in record["table"]["rows"]:
        assert set(record["table"]["columns"]) <= row["cells"].keys()


def test_experiments_repeat():
    first, second = (
        reproduce("wine", quick=True, device="cpu", say=lambda _: None, n_seeds=1) for _ in range(2)
    )
    for record in (first, second):
        del record["timing"]
        for run in record["runs"]:
            del run["seconds"], run["history"], run["milliseconds_per_row"]
        for run in (run for found in record["baselines"].values() for run in found):
            del run["seconds"], run["tuning_seconds"], run["milliseconds_per_row"]
    assert first == second


def test_unknown_experiment_is_refused():
    with pytest.raises(
        InputError, match="no experiment is called 'mnist'; there are control-sizes"
    ):
        reproduce("mnist", quick=True, device="cpu", say=lambda _: None)


@pytest.mark.parametrize(("name", "dim"), [("ionosphere", 176), ("wine", 54), ("glass", 166)])
def test_problems_have_the_papers_networks_and_scaling(name, dim):
    problem = paper_problem(name, torch.device("cpu"))
    assert problem.network.layout.dim == dim
    x = problem.train[0]
    torch.testing.assert_close(x.mean(0), torch.zeros(x.shape[1]).double(), rtol=0, atol=1e-10)
    assert not torch.allclose(problem.test[0].mean(0), torch.zeros(x.shape[1]).double(), atol=1e-3)


@pytest.fixture
def published_weights(shared) -> torch.Tensor:
    """The paper's starting weights on Ionosphere as a flat vector."""
    name = "paper_splits/ionosphere.npz"
    stored = np.load(shared(name) / name)
    names = sorted(key for key in stored if key.startswith("init_"))
    weights = {key: torch.as_tensor(stored[key]).double() for key in names}
    w1, w2 = (weights[k] for k in names if k.startswith("init_W"))
    b1, b2 = (weights[k] for k in names if k.startswith("init_b"))
    return torch.cat([w1.mT.reshape(-1), b1.reshape(-1), w2.mT.reshape(-1), b2.reshape(-1)])


def test_published_ionosphere_weights_give_the_published_adam_row(published_weights):
    """On the paper's rows, each part scaled by itself as its code did: ADAM-MLE, exactly."""
    theta, network = published_weights, MLP((33, 5, 1))
    split = data.standardise_each(data.paper_split("ionosphere"))
    x, label = torch.as_tensor(split.x_test), torch.as_tensor(split.y_test)
    samples = ais.WeightedSamples(theta[None], torch.zeros(1, dtype=torch.float64))
    probability = ParticlePosterior(network, Bernoulli(), samples).predict(x).mean
    assert round(float(metrics.accuracy(probability, label)), 4) == 0.9155
    assert round(float(metrics.auc(probability, label)), 4) == 0.9796
    assert metrics.confusion_matrix(probability, label).tolist() == [[21, 1], [5, 44]]


def test_score_of_a_perfect_network():
    network = MLP((1, 1))
    theta = torch.tensor([[100.0, 0.0]], dtype=torch.float64)
    posterior = ParticlePosterior(
        network, Bernoulli(), ais.WeightedSamples(theta, torch.zeros(1).double())
    )
    x = torch.tensor([[-1.0], [-0.5], [0.5], [1.0]], dtype=torch.float64)
    scored = score(posterior, x, torch.tensor([0.0, 0.0, 1.0, 1.0]).double(), n_passes=5)
    assert scored["bma"]["accuracy"] == scored["per_draw"]["auc"]["mean"] == 1.0
    assert scored["confusion"] == [[2, 0], [0, 2]]
    assert scored["diagnostics"]["khat"] is None  # one draw has no tail


@pytest.mark.slow
def test_pmcnet_from_the_published_weights_gives_the_published_row(published_weights):
    """Jitter 0.1 around the paper's solution, five seeds: within one reported std."""
    problem = paper_problem("ionosphere", torch.device("cpu"))
    method = PMCMethod(start=Jitter(0.1, solution=published_weights))
    target = problem.target(ionosphere.PUBLISHED.prior_variance)
    scored = [
        score(method.fit(target, seed=seed).posterior, *problem.test)["per_draw"]
        for seed in range(5)
    ]
    for name in ("accuracy", "auc"):
        mean, std = ionosphere.PUBLISHED.rows["pmcnet"][name]
        assert sum(s[name]["mean"] for s in scored) / 5 >= mean - std

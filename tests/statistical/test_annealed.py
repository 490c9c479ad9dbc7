"""The annealed sampler against closed forms and long runs of NUTS (`benchmarks/nuts.py`)."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from pmcnet import ais
from pmcnet.ais import analytic
from pmcnet.bnn import AnnealedPosterior
from pmcnet.paper.problem import control_problem, paper_problem

REFERENCE = json.loads((Path(__file__).parent / "nuts_reference.json").read_text())
EVIDENCE = {"ionosphere": -65.7, "glass": -143.1}


def wide(dim, sigma):
    loc = torch.zeros(1, dim, dtype=torch.float64)
    return ais.Proposals(loc, ais.Diagonal.isotropic(sigma, loc))


def correlated(dim):
    generator = torch.Generator().manual_seed(dim)
    root = torch.randn(dim, dim, generator=generator, dtype=torch.float64)
    mean = torch.randn(dim, generator=generator, dtype=torch.float64)
    covariance = root @ root.mT / dim + 0.1 * torch.eye(dim, dtype=torch.float64)
    return analytic.gaussian(mean, covariance, log_evidence=-3.0)


# With the scale of the start and the seed. In 200 dimensions every second run loses its ancestors,
# and its verdict says so.
KNOWN = {
    "gaussian 2": (correlated(2), 3.0, 0),
    "gaussian 20": (correlated(20), 3.0, 0),
    "gaussian 200": (correlated(200), 3.0, 2),
    "five modes": (analytic.five_modes(), 15.0, 0),
    "banana": (analytic.banana(5), 10.0, 0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_evidence_and_moments_are_those_of_the_target(name):
    truth, sigma, seed = KNOWN[name]
    result = ais.AnnealedPMC(n_particles=1000).run(
        ais.Bridge(truth.target, wide(truth.target.dim, sigma)), seed=seed
    )
    square = (result.samples.theta - truth.mean).square()
    assert abs(result.log_evidence - truth.log_evidence) < 5 * result.log_evidence_error
    assert ((result.samples.mean() - truth.mean).abs() < 5 * result.mean_error()).all()
    spread = result.samples.weight @ square
    assert ((spread - truth.covariance.diagonal()).abs() < 5 * result.mean_error(square)).all()
    assert result.verdict.status == "trustworthy"


def test_evidence_is_unbiased_and_its_error_honest():
    truth = correlated(2)
    runs = [
        ais.AnnealedPMC(n_particles=104).run(ais.Bridge(truth.target, wide(2, 3.0)), seed=s)
        for s in range(20)
    ]
    ratio = np.exp([run.log_evidence - truth.log_evidence for run in runs])
    assert abs(ratio.mean() - 1) < 5 * ratio.std(ddof=1) / math.sqrt(len(ratio))
    stated = np.mean([run.log_evidence_error for run in runs])
    assert 0.5 < stated / np.log(ratio).std(ddof=1) < 2


def against_nuts(name, n_particles, undecided):
    """Total variation and agreement of predictions, difference of mean log pi, and the run.

    Rows whose two likeliest classes are nearer than `undecided` in the reference have no class to
    agree on."""
    reference, cpu = REFERENCE["problems"][name], torch.device("cpu")
    control = REFERENCE["control"]
    made = (
        control_problem(control["n_train"], control["seed"], cpu)[0]
        if name == "control"
        else paper_problem(name, cpu)
    )
    problem = made._replace(train=(made.train[0].float(), made.train[1].float()))
    target, expected = (
        problem.target(reference["prior_variance"]),
        np.array(reference["probability"]),
    )
    result = ais.AnnealedPMC(n_particles=n_particles).run(target, seed=0)
    mean = AnnealedPosterior.of(target, result).predict(problem.test[0].float()).mean.numpy()
    tv = 0.5 * np.abs(mean - expected).sum(-1).mean()
    *_, second, first = np.sort(expected, -1).T
    agreement = (mean.argmax(-1) == expected.argmax(-1))[first - second > undecided].mean()
    log_pi = float(result.samples.weight @ result.state.points.log_density(1.0))
    return tv, agreement, log_pi - reference["mean_log_pi"], result


@pytest.mark.parametrize(
    ("name", "n_particles", "largest_tv"),
    [
        ("control", 1000, 0.012),
        ("glass", 1000, 0.012),
        pytest.param("ionosphere", 1000, 0.012, marks=pytest.mark.slow),
        pytest.param("wine", 1000, 0.012, marks=pytest.mark.slow),
        pytest.param("control", 4000, 0.008, marks=pytest.mark.slow),
        pytest.param("glass", 4000, 0.008, marks=pytest.mark.slow),
        pytest.param("ionosphere", 4000, 0.008, marks=pytest.mark.slow),
        pytest.param("wine", 4000, 0.008, marks=pytest.mark.slow),
    ],
)
def test_predictions_are_those_of_nuts(name, n_particles, largest_tv):
    # probabilities that are off by the largest allowed TV may turn a difference of twice that
    tv, agreement, log_pi_gap, result = against_nuts(name, n_particles, 2 * largest_tv)
    assert tv < largest_tv
    assert agreement > 0.98
    assert abs(log_pi_gap) < 2
    if name in EVIDENCE:
        assert abs(result.log_evidence - EVIDENCE[name]) < 1
    assert result.verdict.status == "trustworthy"

"""From draws of one posterior to another: a linear Gaussian model, whose answers are known."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from pmcnet import ais
from pmcnet.ais.agreement import IslandMoments, evidence_shift
from pmcnet.ais.verdict import continuation_verdict, max_chain_drift
from pmcnet.bnn import MLP, BayesianTarget, Gaussian, GaussianPrior
from pmcnet.errors import InputError

G, P = 8, 64
FIVE = max_chain_drift(G) * 1.5
"""Standard errors from eight islands that a mean exceeds once in 50 000."""
SIGMA, PRIOR = 0.5, 2.0
ISLANDS = ais.Islands(
    annealing=ais.AnnealedPMC(n_particles=P, n_islands=G, ess_fraction=0.5, n_moves=1),
    n_islands=G,
)


def rows(n: int, seed: int, shift: float = 0.0) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=source, dtype=torch.float64)
    y = x @ torch.tensor([1.0, -2.0, 0.5]).double() + shift
    return x, y + SIGMA * torch.randn(n, generator=source, dtype=torch.float64)


OLD, NEW = rows(30, 0), rows(20, 1, shift=0.4)
BOTH = tuple(torch.cat(each) for each in zip(OLD, NEW, strict=True))


def target(x: Tensor, y: Tensor) -> BayesianTarget:
    return BayesianTarget(MLP((3, 1)), Gaussian(SIGMA), x, y, prior=GaussianPrior(PRIOR))


def moments(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance of the coefficients, the constant last."""
    design = torch.cat([x, torch.ones(len(x), 1).double()], dim=1)
    covariance = torch.linalg.inv(design.mT @ design / SIGMA**2 + torch.eye(4) / PRIOR**2)
    return covariance @ design.mT @ y / SIGMA**2, covariance


def log_evidence(x: Tensor, y: Tensor) -> float:
    design = torch.cat([x, torch.ones(len(x), 1).double()], dim=1)
    covariance = PRIOR**2 * design @ design.mT + SIGMA**2 * torch.eye(len(x)).double()
    normal = torch.distributions.MultivariateNormal(torch.zeros(len(x)).double(), covariance)
    return float(normal.log_prob(y))


def draws() -> Tensor:
    """Of the posterior of the old rows, by island."""
    mean, covariance = moments(*OLD)
    source = torch.Generator().manual_seed(2)
    noise = torch.randn(G, P, 4, generator=source, dtype=torch.float64)
    return mean + noise @ torch.linalg.cholesky(covariance).mT


def continued() -> ais.Continuation:
    return ais.Continuation(target(*OLD), target(*NEW), draws())


@pytest.fixture(scope="module")
def found() -> ais.IslandsResult:
    return ISLANDS.run(continued(), seed=3)


def test_evidence_of_more_rows_is_that_of_the_closed_form(found):
    truth = log_evidence(*BOTH) - log_evidence(*OLD)
    assert found.log_evidence == pytest.approx(truth, abs=FIVE * found.log_evidence_error)
    assert found.log_evidence_error < 0.2


def test_mean_with_more_rows_is_that_of_the_closed_form(found):
    mean, covariance = moments(*BOTH)
    theta = found.samples.theta
    off = (theta.mean(0) - mean).abs()
    error = found.mean_error(theta)
    assert (off < FIVE * error).all()
    assert (error < 0.2 * covariance.diagonal().sqrt()).all()


def test_covariance_with_more_rows_is_that_of_the_closed_form(found):
    mean, covariance = moments(*BOTH)
    delta = found.samples.theta - mean
    square = (delta[:, :, None] * delta[:, None, :]).flatten(1)  # (n, 16)
    off = (square.mean(0) - covariance.flatten()).abs()
    assert (off < FIVE * found.mean_error(square)).all()


def test_islands_at_more_rows_are_trustworthy(found):
    assert found.verdict.status == "trustworthy", found.verdict.reason
    assert found.n_islands == G


def test_islands_of_one_posterior_agree_on_what_more_rows_mean(found):
    moments = IslandMoments.of(continued().predictions(found.samples.theta), G)
    median, upper = evidence_shift(moments, found.state.log_evidences, "values")
    assert 0 < median <= upper < 0.05
    assert continuation_verdict(found, (median, upper)) == found.verdict


def test_predictions_weighted_by_evidence_are_compared_with_equal_weights():
    mean = torch.tensor([0.0, 0.0, 2.0, 2.0]).double()[:, None, None]  # (G, S, C)
    moments = IslandMoments(mean, mean.square(), torch.full((4, 1), 3.0).double())
    even, uneven = torch.zeros(4).double(), torch.tensor([0.0, 0.0, 1.0, 1.0]).double() * 40
    assert evidence_shift(moments, even, "values") == (0.0, 0.0)
    median, _ = evidence_shift(moments, uneven, "values")  # from 1 to 2, with a variance of 1 + 3
    assert median == pytest.approx(0.5)
    median, _ = evidence_shift(moments, uneven, "probabilities")
    assert median == pytest.approx(0.5)


def test_islands_in_places_that_more_rows_favour_unequally_are_doubtful(found):
    verdict = continuation_verdict(found, (0.02, 0.2))
    assert verdict.status == "doubtful"
    assert "weighted by their evidence" in verdict.reason
    assert verdict.reason.endswith("Fit again on all rows.")
    polish = found.state.polish
    stuck = polish._replace(settling=polish.settling._replace(correlation=0.99))
    worse = replace(found, state=found.state._replace(polish=stuck))
    assert continuation_verdict(worse, (0.0, 0.0)) == worse.verdict


def test_islands_without_tuning_rounds_are_right_too():
    short = replace(ISLANDS, n_tuning=0, n_rounds=2, polish=0.1)
    found = short.run(continued(), seed=4)
    assert [info.polishing for info in found.history][-3:] == [False, True, True]
    mean, _ = moments(*BOTH)
    theta = found.samples.theta
    assert ((theta.mean(0) - mean).abs() < FIVE * found.mean_error(theta)).all()


@pytest.mark.parametrize(("name", "value"), [("n_tuning", -1), ("n_rounds", 0), ("n_rounds", 1.0)])
def test_rounds_that_cannot_be_are_refused(name, value):
    with pytest.raises(InputError, match=f"{name} must be a whole number, at least"):
        replace(ISLANDS, **{name: value})


def test_ends_are_the_posterior_so_far_and_the_likelihood_of_more_rows():
    path, theta = continued(), draws().flatten(0, 1)[:5]
    so_far, more = path.ends(theta)
    whole = target(*BOTH).value_and_score(theta)
    assert torch.allclose(so_far.value + more.value, whole.value)
    assert torch.allclose(so_far.score + more.score, whole.score)
    assert torch.allclose(path.log_prior(theta), so_far.value)
    assert torch.allclose(path.log_likelihood(theta), more.value)


def test_predictions_are_those_of_both_sets_of_rows():
    path, theta = continued(), draws().flatten(0, 1)[:5]
    whole = target(*BOTH).predictions(theta)
    assert torch.allclose(path.predictions(theta).mean, whole.mean)
    assert path.predicted_quantity == "values"


def test_islands_begin_at_their_own_draws():
    state = ISLANDS.init(continued(), seed=0)
    assert torch.equal(state.batch.points.theta, draws().flatten(0, 1))
    assert math.isinf(state.batch.least_ess)


def test_sizes_that_the_draws_do_not_have_are_refused():
    small = ais.AnnealedPMC(n_particles=P, n_islands=4)
    with pytest.raises(InputError, match=f"there are {G} islands of {P} draws"):
        small.run(continued(), seed=0)

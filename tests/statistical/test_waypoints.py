"""Annealing by way of easier posteriors ends at the same posterior and the same evidence."""

import math

import torch

from pmcnet import ais, rng
from pmcnet.ais.annealed.staged_path import stages_of
from pmcnet.ais.path import Path
from pmcnet.bnn import MLP, BayesianTarget, Gaussian, GaussianPrior, HierarchicalMLP, RowGaussian

SIGMA = 0.5


def linear(n_rows):
    """Bayesian linear regression with known noise: posterior and evidence in closed form."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(n_rows, 3, generator=source, dtype=torch.float64)
    noise = torch.randn(n_rows, generator=source, dtype=torch.float64)
    y = x @ torch.tensor([1.0, -0.5, 0.2], dtype=torch.float64) + 0.3 + SIGMA * noise
    return BayesianTarget(MLP((3, 1)), Gaussian(SIGMA), x, y, prior=GaussianPrior(1.0))


def exact(target):
    """Posterior mean and covariance, and log Z."""
    design = torch.cat([target.x, torch.ones(len(target.x), 1, dtype=torch.float64)], 1)
    precision = design.T @ design / SIGMA**2 + torch.eye(4, dtype=torch.float64)
    covariance = torch.linalg.inv(precision)
    mean = covariance @ design.T @ target.y / SIGMA**2
    n, square = len(target.y), float(target.y.square().sum()) / SIGMA**2
    log_z = 0.5 * float(mean @ precision @ mean) - 0.5 * square
    log_z -= 0.5 * float(torch.logdet(precision)) + n * math.log(SIGMA * math.sqrt(2 * math.pi))
    return mean, covariance, log_z


def test_rows_are_added_by_quarters():
    assert linear(3999).waypoints == []
    assert [len(each.x) for each in linear(20_000).waypoints] == [1250, 5000]


def test_evidence_and_moments_by_way_of_some_rows_are_exact():
    target = linear(4400)
    mean, covariance, log_z = exact(target)
    assert len(stages_of(Path.of(target))) == 2
    result = ais.Islands(n_islands=8).run(target, seed=0)
    assert abs(result.log_evidence - log_z) < 5 * result.log_evidence_error
    assert result.log_evidence_error < 0.3
    theta = result.samples.theta
    error = result.mean_error(theta)
    assert ((theta.mean(0) - mean).abs() < 5 * error).all()
    assert torch.allclose(theta.std(0), covariance.diagonal().sqrt(), rtol=0.15)


def by_row(n_rows=60):
    source = torch.Generator().manual_seed(1)
    x = torch.randn(n_rows, 1, generator=source, dtype=torch.float64)
    noise = torch.randn(n_rows, generator=source, dtype=torch.float64)
    y = (x[:, 0] + (0.2 + 0.3 * (x[:, 0] > 0)) * noise) / 1.2
    network = HierarchicalMLP((1, 3, 2), "tanh", per_output=True)
    return BayesianTarget(network, RowGaussian(), x, y)


class Direct:
    """A target without its waypoints."""

    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        if name == "waypoints":
            raise AttributeError(name)
        return getattr(self._target, name)


def test_noise_by_row_is_reached_by_way_of_one_noise_level():
    target = by_row()
    (waypoint,) = target.waypoints
    theta = target.sample_prior([rng.stream(0, 0, 0)], 5)[0]
    assert torch.allclose(
        waypoint.likelihood.deviation(waypoint.network(theta[:, :-1], target.x), theta[:, -1:]),
        theta[:, -1:].exp(),
    )
    staged = ais.Islands(n_islands=8).run(target, seed=0)
    direct = ais.Islands(n_islands=8).run(Direct(target), seed=1)
    noise = math.hypot(staged.log_evidence_error, direct.log_evidence_error)
    assert abs(staged.log_evidence - direct.log_evidence) < 5 * noise
    assert noise < 1
    means = [target.predictions(r.samples.theta).mean.mean(0)[:, 0] for r in (staged, direct)]
    spread = target.predictions(direct.samples.theta).noise.mean(0).sqrt()
    assert ((means[0] - means[1]).abs() / spread).max() < 0.15


def test_continues_to_the_bit_from_any_stage():
    sampler = ais.Islands(
        annealing=ais.AnnealedPMC(n_particles=8, n_islands=4, ess_fraction=0.5, n_moves=1),
        n_islands=4,
    )
    target, states = by_row(), []
    whole = sampler.run(target, seed=3, observers=[lambda state, info: states.append(state)])
    assert {state.batch.stage for state in states} == {0, 1}
    betas = [info.beta for info in whole.history]
    assert betas == sorted(betas)
    assert betas[-1] == 1
    for state in states[::3]:
        again = sampler.run(target, state=state)
        assert torch.equal(again.islands, whole.islands)
        assert again.log_evidence == whole.log_evidence

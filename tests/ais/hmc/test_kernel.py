"""Moves: exact invariance, energy conservation, tuning, preconditioners from other groups."""

import math

import pytest
import torch

from pmcnet import ais, rng
from pmcnet.ais import analytic
from pmcnet.ais.annealed import rejuvenation
from pmcnet.ais.hmc import adaptation
from pmcnet.ais.hmc.kernel import Kernel
from pmcnet.ais.hmc.preconditioners import grouped, n_groups
from pmcnet.ais.path import Path
from pmcnet.errors import InputError

DIM, P = 5, 4000
MEAN = torch.linspace(-1, 2, DIM, dtype=torch.float64)
ROOT = torch.tril(
    torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
) + 2 * torch.eye(DIM, dtype=torch.float64)
TRUTH = analytic.gaussian(MEAN, ROOT @ ROOT.mT)


def wide(dim, sigma=3.0):
    loc = torch.zeros(1, dim, dtype=torch.float64)
    return ais.Proposals(loc, ais.Diagonal.isotropic(sigma, loc))


@pytest.fixture
def exact():
    """Exact draws of the target, and the path to it."""
    path = Path(ais.Bridge(TRUTH.target, wide(DIM)))
    noise = rng.standard_normal(rng.streams(0, 0, 8), (P // 8, DIM), like=MEAN).flatten(0, 1)
    return path, path.start(MEAN + noise @ ROOT.mT)


def equal(n):
    return torch.full((n,), 1 / n, dtype=torch.float64)


def randomness(seed):
    sources = rng.streams(seed, 1, 8)
    noise = rng.standard_normal(sources, (P // 8, DIM), like=MEAN).flatten(0, 1)
    return noise, rng.uniform(sources, P // 8, like=MEAN).flatten()


PRECONDITIONERS = [ais.Score("dense"), ais.Score("diagonal"), ais.Spread(), ais.Geometric()]


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS, ids=repr)
@pytest.mark.parametrize("n_leapfrog", [1, 7])
def test_moves_leave_the_target_invariant(exact, preconditioner, n_leapfrog):
    path, points = exact
    step = torch.full((P, 1), 0.8, dtype=torch.float64)
    for seed in range(4):
        kernel = Kernel(path, 1.0, preconditioner(points, equal(P), 1.0))
        points = kernel.move(points, step, n_leapfrog, *randomness(seed))[0].points
    error = (TRUTH.covariance.diagonal() / P).sqrt()
    assert ((points.theta.mean(0) - MEAN).abs() < 5 * error).all()
    variance, expected = points.theta.var(0), TRUTH.covariance.diagonal()
    assert ((variance - expected).abs() < 5 * expected * math.sqrt(2 / P)).all()


def test_points_after_a_move_carry_their_own_values(exact):
    path, points = exact
    kernel = Kernel(path, 0.6, ais.Score()(points, equal(P), 0.6))
    moved = kernel.move(points, torch.full((P, 1), 0.7).double(), 3, *randomness(0))[0].points
    for mine, fresh in zip(moved, path.start(moved.theta), strict=True):
        assert torch.allclose(mine, fresh)


def test_small_steps_conserve_the_energy(exact):
    path, points = exact
    kernel = Kernel(path, 1.0, ais.Score()(points, equal(P), 1.0))
    moved, _ = kernel.move(points, torch.full((P, 1), 1e-3).double(), 5, *randomness(0))
    assert moved.acceptance.min() > 0.999


def test_divergent_moves_are_counted_and_refused(exact):
    path, points = exact
    kernel = Kernel(path, 1.0, ais.Score()(points, equal(P), 1.0))
    moved, _ = kernel.move(points, torch.full((P, 1), 50.0).double(), 20, *randomness(0))
    assert moved.divergent.all()
    assert torch.equal(moved.points.theta, points.theta)


def test_the_jump_of_a_rejected_move_counts_as_nothing(exact):
    path, points = exact
    kernel = Kernel(path, 1.0, ais.Score()(points, equal(P), 1.0))
    step = torch.full((P, 1), 50.0).double()
    _, jumps = kernel.move(points, step, 3, *randomness(0), watched=True)
    assert jumps.shape == (8, 3, path.dim)
    assert jumps.isfinite().all()
    assert (jumps[:, -1] < 1e-6).all()


def test_dense_score_recovers_a_covariance(exact):
    _, points = exact
    scale = ais.Score("dense", shrinkage=1e-3)(points, equal(P), 1.0)
    assert torch.allclose(scale.covariance[0], TRUTH.covariance, rtol=0.15, atol=0.3)


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS, ids=repr)
def test_a_group_has_no_say_in_its_own_preconditioner(exact, preconditioner):
    path, points = exact
    size = P // n_groups(P)
    theta = points.theta.clone()
    theta[:size] = TRUTH.mean + 0.5 * (theta[:size] - TRUTH.mean)
    before = preconditioner(points, equal(P), 1.0).covariance
    after = preconditioner(path.start(theta), equal(P), 1.0).covariance
    if not isinstance(preconditioner, ais.Spread | ais.Geometric):  # their centre is that of all
        assert torch.allclose(before[0], after[0], rtol=1e-12)
    assert not torch.allclose(before[1], after[1], rtol=1e-4)


def test_dense_score_exists_with_fewer_particles_than_dimensions():
    truth = analytic.gaussian(torch.zeros(60).double(), torch.eye(60).double())
    path = Path(ais.Bridge(truth.target, wide(60)))
    points = path.start(path.draw(rng.streams(0, 0, 8), 16))
    scale = ais.Score("dense")(points, equal(16), 0.5)
    assert scale.covariance.shape == (8, 60, 60)
    assert (torch.linalg.eigvalsh(scale.covariance) > 0).all()


@pytest.mark.parametrize(("n", "expected"), [(1000, 8), (500, 4), (502, 2)])
def test_groups_divide_the_population(n, expected):
    assert n_groups(n) == expected
    assert grouped(torch.zeros(n, 3)).shape == (expected, n // expected, 3)


def test_step_size_is_solved_for_the_wanted_acceptance():
    step = torch.linspace(0.2, 0.6, 500, dtype=torch.float64)
    acceptance = 2 * torch.special.ndtr(-0.5 * 7.0 * step.square())
    solved = adaptation.solve_step(acceptance, step, 0.75)
    assert 2 * float(torch.special.ndtr(torch.tensor(-0.5 * 7.0 * solved**2))) == pytest.approx(
        0.75, abs=1e-5
    )


def test_best_length_of_a_gaussian_is_two_thirds_of_a_half_turn():
    time = 0.1 * torch.arange(1, 60)
    jumps = 2 * (1 - time.cos())[:, None].double()
    assert adaptation.best_length(jumps, torch.ones(1).double()) == 23


def test_best_length_follows_the_slow_coordinates():
    time, frequency = 0.1 * torch.arange(1, 400)[:, None].double(), torch.ones(20).double()
    frequency[:2] = 0.1  # two of twenty are ten times slower
    jumps = 2 * (1 - (frequency * time).cos()) / frequency.square()
    assert adaptation.best_length(jumps, 1 / frequency.square()) > 80
    assert adaptation.best_length(jumps[:, 2:], torch.ones(18).double()) == 23


def test_best_length_ignores_coordinates_that_do_not_vary():
    time = 0.1 * torch.arange(1, 60)
    jumps = torch.stack([2 * (1 - time.cos()), torch.zeros(59)], dim=1).double()
    assert adaptation.best_length(jumps, torch.tensor([1.0, 0.0]).double()) == 23


def test_a_few_wild_starts_do_not_collapse_the_step_size():
    step = torch.full((100,), 0.4, dtype=torch.float64)
    acceptance = 2 * torch.special.ndtr(-0.5 * 7.0 * step.square())
    calm = adaptation.solve_step(acceptance, step, 0.75)
    acceptance[:10] = 0.0
    assert adaptation.solve_step(acceptance, step, 0.75) == pytest.approx(calm)
    acceptance[:50] = 0.0
    assert adaptation.solve_step(acceptance, step, 0.75) < 0.8 * calm


def test_correlation_is_one_before_and_nothing_after():
    before = torch.randn(5000, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    after = torch.randn(5000, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert rejuvenation.correlation(before, before, equal(5000)) == pytest.approx(1)
    assert abs(rejuvenation.correlation(before, after, equal(5000))) < 0.06


def test_correlation_passes_over_monitors_that_do_not_vary():
    before = torch.randn(100, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    before[:, 3] = 2.0
    assert rejuvenation.correlation(before, before, equal(100)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: ais.HMC(n_leapfrog=0), "n_leapfrog"),
        (lambda: ais.HMC(jitter=1.0), "jitter"),
        (lambda: ais.HMC(target_acceptance=1.0), "target_acceptance"),
        (lambda: ais.MALA(target_acceptance=0.0), "target_acceptance"),
        (lambda: ais.Score("sparse"), "structure"),
        (lambda: ais.Score(shrinkage=0.0), "shrinkage"),
    ],
)
def test_bad_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()

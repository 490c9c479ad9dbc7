"""Whether particles have left where annealing put them: correlations with before, and drift."""

import pytest
import torch

from pmcnet.ais.islands.settling import correlation, drift_bounds
from pmcnet.ais.islands.state import SETTLED, UNKNOWN_DRIFT, Settling


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_correlation_is_about_the_means_of_islands():
    early = noise(8, 500, 3)
    late = 0.6 * early + 0.8 * noise(8, 500, 3, seed=1)
    apart = 100 * noise(8, 1, 3, seed=2)
    assert correlation(early, late) == pytest.approx([0.6] * 3, abs=5 * 0.8 / 4000**0.5)
    assert torch.allclose(correlation(early + apart, late + apart), correlation(early, late))


def test_drift_is_the_change_between_halves_about_two_of_its_errors():
    rising = 0.1 * torch.arange(10.0, dtype=torch.float64)[:, None] + 0.2 * noise(10, 8)
    change = rising[5:].mean(0) - rising[:5].mean(0)
    size, margin = float(change.mean()) / 2, float(change.std()) / 8**0.5
    found = drift_bounds(rising, torch.tensor(2.0))
    assert found == pytest.approx((size - margin, size + margin))
    assert found == drift_bounds(-rising, torch.tensor(2.0))


def test_islands_that_differ_do_not_drift():
    noisy, one = 0.1 * noise(10, 8), torch.tensor(1.0, dtype=torch.float64)
    differing = torch.arange(8.0, dtype=torch.float64).expand(10, 8) + noisy
    assert drift_bounds(differing, one) == pytest.approx(drift_bounds(noisy, one))


def test_bounds_of_drift_hold_the_true_change():
    """Two standard errors of eight islands leave it out in 9 % of runs."""
    rising = 0.5 * (torch.arange(12) >= 6)[:, None]
    one = torch.tensor(1.0)
    found = [drift_bounds(rising + noise(12, 8, seed=seed), one) for seed in range(400)]
    assert sum(not least <= 0.5 <= most for least, most in found) <= 60  # of 34 expected


@pytest.mark.parametrize("n_rounds", [0, 1])
def test_drift_is_unknown_before_the_second_round(n_rounds):
    assert drift_bounds(noise(n_rounds, 8), torch.tensor(1.0)) == (0, UNKNOWN_DRIFT)


def test_infinite_log_likelihoods_leave_drift_unknown():
    fit = noise(10, 8)
    fit[0, 0] = -torch.inf
    assert drift_bounds(fit, torch.tensor(1.0)) == (0, UNKNOWN_DRIFT)


def test_a_constant_likelihood_does_not_drift():
    assert drift_bounds(torch.zeros(10, 8), torch.tensor(0.0)) == (0, 0)


def test_worst_keeps_the_larger_of_each():
    worst = Settling(0.1, 0.5, 0.0, 0.4).worst(Settling(0.2, 0.4, 0.3, 0.3))
    assert worst == Settling(0.2, 0.5, 0.3, 0.4)
    moved = Settling(-0.1, -0.2, 0.0, 0.1)
    assert SETTLED.worst(moved) == moved

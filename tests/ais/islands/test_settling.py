"""Whether particles have left where annealing put them: correlations with before, and drift."""

import pytest
import torch

from pmcnet.ais.islands.settling import correlation, drift
from pmcnet.ais.islands.state import SETTLED, Settling


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_correlation_is_about_the_means_of_islands():
    early = noise(8, 500, 3)
    late = 0.6 * early + 0.8 * noise(8, 500, 3, seed=1)
    apart = 100 * noise(8, 1, 3, seed=2)
    assert correlation(early, late) == pytest.approx([0.6] * 3, abs=5 * 0.8 / 4000**0.5)
    assert torch.allclose(correlation(early + apart, late + apart), correlation(early, late))


def test_drift_is_the_change_between_halves_in_standard_deviations():
    rising = 0.1 * torch.arange(10.0, dtype=torch.float64)[:, None] + 1e-3 * noise(10, 8)
    assert drift(rising, torch.tensor(2.0)) == pytest.approx(0.25, abs=1e-3)
    assert drift(-rising, torch.tensor(2.0)) == drift(rising, torch.tensor(2.0))


def test_islands_that_differ_do_not_drift():
    differing = torch.arange(8.0, dtype=torch.float64).expand(10, 8) + 0.1 * noise(10, 8)
    assert drift(differing, torch.tensor(1.0)) == 0.0


def test_stationary_rounds_rarely_drift():
    """Four standard errors of eight islands are exceeded once in 190 runs."""
    found = [drift(noise(12, 8, seed=seed), torch.tensor(1.0)) for seed in range(400)]
    assert sum(each > 0 for each in found) <= 8  # of 2.1 expected


@pytest.mark.parametrize("n_rounds", [0, 1])
def test_drift_needs_two_rounds(n_rounds):
    assert drift(noise(n_rounds, 8), torch.tensor(1.0)) == 0.0


def test_infinite_log_likelihoods_say_nothing():
    fit = noise(10, 8)
    fit[0, 0] = -torch.inf
    assert drift(fit, torch.tensor(1.0)) == 0.0


def test_worst_keeps_the_larger_of_each():
    assert Settling(0.1, 0.5, 0.0).worst(Settling(0.2, 0.4, 0.3)) == Settling(0.2, 0.5, 0.3)
    assert SETTLED.worst(Settling(-0.1, -0.2, 0.0)) == Settling(-0.1, -0.2, 0.0)

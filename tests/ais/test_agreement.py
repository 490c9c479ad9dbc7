"""How far islands agree: standard errors, their scale, and what they miss."""

import math

import pytest
import torch

from pmcnet.ais.agreement import (
    Agreement,
    IslandMoments,
    Predictions,
    drift,
    standard_error,
    student_factor,
)


def drawn(n_islands, size, n_rows=40, between=0.0, noise=0.0, seed=0, n_classes=1):
    """Standard normal predictions of islands whose means differ by `between` deviations."""
    source = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    mean = normal(n_islands, size, n_rows, n_classes)
    mean = mean + between * normal(n_islands, 1, n_rows, n_classes)
    variance = torch.full(mean.shape[:3], noise, dtype=torch.float64)
    return Predictions(mean.flatten(0, 1), variance.flatten(0, 1))


def test_moments_are_those_of_a_loop():
    found = drawn(4, 6, n_rows=3, noise=0.5)
    moments = IslandMoments.of(found, 4)
    for g in range(4):
        own = found.mean[6 * g : 6 * g + 6]
        assert torch.allclose(moments.mean[g], own.mean(0))
        assert torch.allclose(moments.square[g], own.square().mean(0))
    pooled = found.mean.var(0, unbiased=False)[..., 0] + 0.5
    assert torch.allclose(moments.variance, pooled)
    parts = [IslandMoments(*(part[:2] for part in moments))]
    parts.append(IslandMoments(*(part[2:] for part in moments)))
    for joined, whole in zip(IslandMoments.joined(parts), moments, strict=True):
        assert torch.equal(joined, whole)


@pytest.mark.parametrize("n_islands", [4, 8, 16])
def test_stated_error_is_that_of_repetitions(n_islands):
    """Root mean square of the true error over rows and repetitions beside the stated one."""
    true, stated, std_true, std_stated = [], [], [], []
    exact = math.sqrt(1 + 0.3**2 + 0.2)
    for seed in range(60):
        found = drawn(n_islands, 16, between=0.3, noise=0.2, seed=seed)
        moments = IslandMoments.of(found, n_islands)
        true.append(moments.mean.mean(0).square().mean())
        stated.append((moments.mean_error / student_factor(n_islands)).square().mean())
        std_true.append((moments.variance.sqrt() - exact).square().mean())
        std_stated.append((moments.std_error / student_factor(n_islands)).square().mean())
    ratio = (sum(stated) / sum(true)).sqrt()
    assert ratio == pytest.approx(1, abs=0.05)
    # pooled variances miss a G-th of what islands differ by, 0.5 % of the deviation at G = 4
    assert (sum(std_stated) / sum(std_true)).sqrt() == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("n", [2, 4, 8, 30])
def test_student_factor_covers_two_thirds(n):
    source = torch.Generator().manual_seed(n)
    estimates = torch.randn(n, 40_000, generator=source, dtype=torch.float64)
    covered = (estimates.mean(0).abs() < standard_error(estimates)).double().mean()
    assert float(covered) == pytest.approx(0.6827, abs=5 * math.sqrt(0.22 / 40_000))


def test_error_falls_with_the_root_of_the_number_of_islands():
    few = IslandMoments.of(drawn(8, 8, n_rows=500, between=0.5), 8)
    many = IslandMoments.of(drawn(128, 8, n_rows=500, between=0.5), 128)
    ratio = few.relative_error.median() / many.relative_error.median()
    assert float(ratio) == pytest.approx(4 * student_factor(8), rel=0.12)


def test_expected_total_variation_is_that_of_the_errors():
    source = torch.Generator().manual_seed(0)
    mean = torch.rand(64, 4000, 3, generator=source, dtype=torch.float64)
    moments = IslandMoments.of(Predictions(mean, torch.zeros(64, 4000).double()), 64)
    expected = 0.5 * (moments.mean.mean(0) - 0.5).abs().sum(-1).mean()
    assert float(moments.tv_error.mean() / expected) == pytest.approx(1, abs=0.05)


def test_nested_rhat_is_near_one_together_and_large_apart():
    together = IslandMoments.of(drawn(8, 64), 8).nested_rhat
    assert together.max() < 1.05
    apart = IslandMoments.of(drawn(8, 64, between=3.0), 8).nested_rhat
    assert apart.median() > 2


def test_islands_that_stand_still_apart_have_an_infinite_rhat():
    mean = torch.arange(4.0).double().repeat_interleave(5)[:, None, None]
    moments = IslandMoments.of(Predictions(mean, torch.zeros(20, 1).double()), 4)
    assert moments.nested_rhat == math.inf
    same = IslandMoments.of(Predictions(torch.ones_like(mean), torch.zeros(20, 1).double()), 4)
    assert same.nested_rhat == 1
    assert same.relative_error == 0


def test_one_island_knows_nothing():
    moments = IslandMoments.of(drawn(1, 64), 1)
    found = Agreement.of(moments, "values")
    assert found.median == found.upper == found.rhat == math.inf
    assert found.ess == 0


def test_coordinates_are_judged_by_the_worst():
    mean = drawn(8, 64, n_rows=30).mean
    mean[:8, 0] += 20.0
    moments = IslandMoments.of(Predictions(mean, torch.zeros(mean.shape[:2]).double()), 8)
    found = Agreement.of(moments, "coordinates")
    assert found.upper == float(moments.relative_error.max())
    assert Agreement.of(moments, "values").upper < found.upper


def test_effective_draws_are_those_of_independent_ones():
    found = Agreement.of(IslandMoments.of(drawn(16, 50, n_rows=400), 16), "values")
    assert found.ess == pytest.approx(800, rel=0.2)


def test_drift_counts_significant_shifts_alone():
    source = torch.Generator().manual_seed(3)
    early, late = torch.randn(2, 8, 50, 1, generator=source, dtype=torch.float64)
    spread = torch.full((50,), 2.0).double()
    assert drift(early, late, spread, 5.4) == 0
    late[:, 7] += 20.0
    assert drift(early, late, spread, 5.4) == pytest.approx(10, rel=0.2)

"""The predictions of competitors against known answers."""

import numpy as np
import pytest
from scipy import stats

from pmcnet.competitors.gaussians import Gaussians, Units
from pmcnet.competitors.quantile_grid import QuantileGrid
from pmcnet.competitors.validation_rows import ValidationRows, n_kept


def test_one_gaussian_has_exact_density_and_quantiles():
    mean, deviation = np.array([0.0, 3.0]), np.array([1.0, 0.5])
    found = Gaussians(mean[None], deviation[None])
    y = np.array([0.5, 2.0])
    np.testing.assert_allclose(found.log_density(y), stats.norm(mean, deviation).logpdf(y))
    levels = np.array([0.05, 0.5, 0.95])
    expected = stats.norm(mean, deviation).ppf(levels[:, None])
    np.testing.assert_allclose(found.quantiles(levels), expected)


def test_mixture_has_the_density_and_the_quantiles_of_its_components():
    means, deviations = np.array([[-2.0], [2.0]]), np.array([[1.0], [0.5]])
    found = Gaussians(means, deviations)
    parts = stats.norm(means[:, 0], deviations[:, 0])
    assert found.log_density(np.array([0.3]))[0] == pytest.approx(np.log(parts.pdf(0.3).mean()))
    assert found.mean[0] == 0
    levels = np.array([0.05, 0.25, 0.75, 0.95])
    reached = [parts.cdf(q).mean() for q in found.quantiles(levels)[:, 0]]
    np.testing.assert_allclose(reached, levels, atol=0.005)


def test_units_are_undone():
    y = np.array([10.0, 30.0, 20.0])
    units = Units.of(y)
    scaled = units.scaled(y)
    assert (scaled.mean(), scaled.std()) == pytest.approx((0, 1))
    found = Gaussians.in_units(scaled[None], np.ones((1, 3)), units)
    np.testing.assert_allclose(found.mean, y)
    assert Units.of(np.array([4.0, 4.0])).spread == 1


def test_quantiles_that_cross_are_sorted_and_interpolated():
    levels = np.array([0.1, 0.5, 0.9])
    found = QuantileGrid.sorted(np.zeros(1), levels, np.array([[2.0], [1.0], [5.0]]))
    asked = np.array([0.05, 0.1, 0.3, 0.9, 0.99])
    assert found.quantiles(asked)[:, 0].tolist() == [1.0, 1.0, 1.5, 5.0, 5.0]


def test_validation_rows_leave_a_row_of_each_class_to_the_fit():
    y = np.array([0.0] * 30 + [1.0] * 2 + [2.0])
    for n in (0, 3, 30, 33):
        split = ValidationRows.of_classes(y, n)
        assert set(y[split.fitted]) == {0, 1, 2}
        assert sorted([*split.fitted, *split.kept]) == list(range(33))
    assert len(split.kept) == 30


def test_a_tenth_is_kept_where_it_is_asked_for():
    assert (n_kept(57, True), n_kept(57, False), n_kept(9, True)) == (5, 0, 0)
    split = ValidationRows.of_numbers(57, 5)
    assert (len(split.fitted), len(split.kept)) == (52, 5)
    assert not set(split.fitted) & set(split.kept)

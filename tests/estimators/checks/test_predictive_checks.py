"""Replicates, and the ranks of what was observed: uniform only where the model is right."""

import numpy as np
import pytest
from scipy import stats

from estimators.checks.tables import QUICK, rows
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.bnn.likelihoods.support import Support
from pmcnet.estimators.checks.densities import densities
from pmcnet.estimators.checks.predictive_checks import Uniformity, transform

NEW = rows(600, seed=9)


def test_ranks_of_new_rows_are_uniform_where_the_noise_is_right(right):
    found = right.predictive_check(*NEW)
    assert found.uniformity.p_value > 0.01
    assert stats.kstest(found.pit[:80], "uniform").pvalue > 0.01  # as many as it has learned from


def test_ranks_are_not_uniform_where_the_noise_is_too_small(wrong):
    found = wrong.predictive_check(*NEW)
    assert found.uniformity.p_value < 0.01
    assert stats.kstest(found.pit[:80], "uniform").pvalue < 1e-3
    counts = found.uniformity.counts
    assert counts[0] + counts[-1] > 4 * counts[1:-1].mean()


def test_share_of_replicates_as_uneven_is_a_p_value():
    """Also where all rows share the error of one network, of which chi-square knows nothing."""
    source = np.random.default_rng(8)
    shares = []
    for _ in range(100):
        y, *drawn = source.normal(size=(101, 200)) + 0.5 * source.normal(size=(101, 1))
        pit = transform(y, np.ones(200, dtype=bool), np.stack(drawn))
        shares.append(Uniformity.of(pit, np.stack(drawn)).p_value)
    assert stats.kstest(shares, "uniform").pvalue > 0.01


def test_ranks_among_draws_of_the_same_distribution_are_uniform():
    source = np.random.default_rng(0)
    counts = source.poisson(2.0, (51, 4000)).astype(float)  # with many ties
    pit = transform(counts[0], np.ones(4000, dtype=bool), counts[1:])
    assert stats.kstest(pit, "uniform").pvalue > 0.01


def test_ranks_of_censored_rows_are_uniform():
    source = np.random.default_rng(1)
    times = source.exponential(1.0, (101, 4000))
    end = source.exponential(1.0, 4000)
    known = times[0] < end
    pit = transform(np.minimum(times[0], end), known, times[1:])
    assert 0.3 < known.mean() < 0.7
    assert stats.kstest(pit, "uniform").pvalue > 0.01


@pytest.mark.parametrize(("n", "n_bins"), [(5, 2), (45, 4), (5000, 10)])
def test_uniformity_has_enough_rows_in_each_bin(n, n_bins):
    drawn = np.random.default_rng(0).normal(size=(20, n))
    assert Uniformity.of(np.linspace(0, 1, n), drawn).counts.sum() == n
    assert len(Uniformity.of(np.linspace(0, 1, n), drawn).low) == n_bins


def test_replicates_have_the_spread_of_the_data(right):
    line = right.predictive_check(*NEW).statistics.set_index("statistic").loc["standard deviation"]
    assert line.low < line.observed < line.high
    assert 0 < line.share_above < 1


def test_rows_keep_their_places_when_some_are_drawn(right):
    found = right.predictive_check(*NEW, n_rows=50)
    assert found.n_rows == 600
    assert found.frame["y"].tolist() == NEW[1][found.row].tolist()


def test_numbers_of_rows_of_each_class_are_replicated():
    x, y = rows(150)
    labels = np.where(y > 0.5, "a", "b")
    found = PMCNetClassifier(**QUICK).fit(x, labels).predictive_check(x, labels)
    lines = found.class_counts(2)
    assert lines["observed"].tolist() == [(labels == "a").sum(), (labels == "b").sum()]
    assert (lines["low"] < lines["observed"]).all()
    assert (lines["observed"] < lines["high"]).all()
    assert lines["mean"].sum() == pytest.approx(150)


def test_known_noise_of_each_row_is_that_of_its_replicates():
    x, y = rows(60)
    noise = np.where(np.arange(60) < 30, 0.1, 3.0)
    model = PMCNetRegressor(likelihood="gaussian", noise=noise, **QUICK).fit(x, y)
    drawn = model.predictive_check(x, np.column_stack([y, noise]), n_draws=400).replicated
    spread = drawn.std(0)
    assert spread[:30].max() < 1.5 < 2.5 < spread[30:].min()


@pytest.mark.parametrize(
    "support", [Support(), Support(least=0), Support(least=0, whole=True)], ids=str
)
def test_densities_are_those_of_distributions(support):
    source = np.random.default_rng(2)
    y = source.poisson(4.0, 300) if support.whole else source.exponential(1.0, 300)
    drawn = np.stack([source.permutation(y) for _ in range(30)]).astype(float)
    found = densities(y.astype(float), drawn, support)
    step = found.grid[1] - found.grid[0]
    assert found.replicates.shape == (20, len(found.grid))
    assert 0.9 < found.observed.sum() * step < 1.1
    assert found.observed == pytest.approx(found.replicates[0])

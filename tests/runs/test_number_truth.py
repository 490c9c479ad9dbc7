"""Scores of any method's predictions against formulas."""

import numpy as np
import pytest
import torch
from scipy import stats

from pmcnet.competitors import LEVELS, RowPredictions
from pmcnet.runs.class_truth import ClassTruth
from pmcnet.runs.number_truth import NumberTruth

N = 4000
Y = np.random.default_rng(0).normal(size=N)
SURE = np.ones(N, dtype=bool)


def gaussian(spread=1.0):
    each = stats.norm(0, spread)
    quantiles = np.repeat(each.ppf(LEVELS)[:, None], N, axis=1)
    return RowPredictions(np.zeros(N), each.logpdf(Y), quantiles)


def test_metrics_of_a_gaussian_are_those_of_theory():
    found = NumberTruth(Y, SURE).metrics(gaussian())
    error = 5 / np.sqrt(N)
    assert found["nll"] == pytest.approx(0.5 * np.log(2 * np.pi * np.e), abs=error)
    assert found["rmse"] == pytest.approx(1, abs=error)
    assert found["mae"] == pytest.approx(np.sqrt(2 / np.pi), abs=error)
    assert found["r2"] == pytest.approx(0, abs=0.01)
    # ten levels overstate the score of a Gaussian, 1 / sqrt(pi), by .7 %
    assert found["crps"] == pytest.approx(1.007 / np.sqrt(np.pi), abs=error)
    assert found["coverage90"] == pytest.approx(0.9, abs=5 * np.sqrt(0.09 / N))
    assert found["width90"] == pytest.approx(2 * stats.norm.ppf(0.95))


@pytest.mark.parametrize("name", ["nll", "crps", "pinball"])
def test_scores_are_proper(name):
    truth = NumberTruth(Y, SURE)
    best = truth.metrics(gaussian())[name]
    assert all(best < truth.metrics(gaussian(spread))[name] for spread in (0.6, 1.6))


def test_what_a_method_does_not_have_is_left_out():
    truth = NumberTruth(Y, SURE)
    whole = gaussian()
    assert "nll" not in truth.metrics(whole._replace(log_density=None))
    without = truth.metrics(whole._replace(quantiles=None))
    assert not {"crps", "pinball", "coverage90", "width90"} & set(without)
    measured = truth.measure([whole, whole._replace(log_density=None)])(np.arange(N))
    assert np.isnan(measured["nll"]).tolist() == [False, True]


def test_rows_that_are_bounds_count_in_the_likelihood_alone():
    observed = np.arange(N) % 2 == 0
    truth = NumberTruth(Y, observed)
    found = truth.metrics(gaussian())
    assert set(found) == {"mse_observed", "rmse_observed", "mae_observed", "nll"}
    assert found["mse_observed"] == pytest.approx(np.square(Y[observed]).mean())
    assert truth.figures(gaussian())["squared_errors"][1] == Y[2] ** 2


def test_infinite_likelihood_is_null():
    found = gaussian()._replace(log_density=np.full(N, -np.inf))
    assert NumberTruth(Y, SURE).metrics(found)["nll"] is None


def test_classes_have_their_metrics_and_losses():
    probability = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3], [1.0, 0.0]])
    truth = ClassTruth(torch.tensor([0, 1, 1, 1]))
    found, losses = RowPredictions(probability=probability), None
    losses = truth.losses(found)
    np.testing.assert_allclose(losses["nll"], [-np.log(0.8), -np.log(0.6), -np.log(0.3), np.inf])
    assert losses["error"].tolist() == [0, 0, 1, 1]
    metrics = truth.metrics(found)
    assert metrics["accuracy"] == 0.5
    assert metrics["nll"] is None
    assert {"brier", "ece", "auc"} <= set(metrics)
    figures = truth.figures(found)
    assert figures["confusion"] == [[1, 0], [2, 1]]
    assert figures["roc"]["grid"][-1] == 1
    assert figures["roc"]["auc"] == metrics["auc"]

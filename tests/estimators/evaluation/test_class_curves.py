"""Curves of class probabilities: those of scikit-learn, and what is counted by hand."""

import numpy as np
import pytest
import sklearn.metrics as sk
import torch
from sklearn.calibration import calibration_curve

from pmcnet import metrics
from pmcnet.estimators.evaluation import class_curves
from pmcnet.estimators.evaluation.class_predictions import all_metrics

N_ROWS, N_DRAWS = 80, 6


def case(n_classes=2, n_rows=N_ROWS, seed=0):
    """The averaged prediction, draws around it, and labels."""
    generator = torch.Generator().manual_seed(seed)
    label = torch.randint(n_classes, (n_rows,), generator=generator)
    label[:n_classes] = torch.arange(n_classes)
    logits = torch.randn(N_DRAWS, n_rows, n_classes, generator=generator, dtype=torch.float64)
    draws = (1.5 * logits + torch.nn.functional.one_hot(label, n_classes)).softmax(-1)
    return draws.mean(0), draws, label


def test_roc_is_that_of_the_averaged_prediction():
    average, draws, label = case()
    (curve,) = class_curves.roc_curves(average, draws, label)
    fpr, tpr, _ = sk.roc_curve(label, average[:, 1], drop_intermediate=False)
    assert curve["class"] == 1
    np.testing.assert_allclose(curve["averaged"]["x"], fpr)
    np.testing.assert_allclose(curve["averaged"]["y"], tpr)


def test_area_of_the_roc_curve_is_that_of_the_metrics():
    average, draws, label = case()
    (curve,) = class_curves.roc_curves(average, draws, label)
    assert curve["averaged"]["area"] == float(all_metrics(average, label)["auc"])
    each = metrics.summarise(all_metrics(draws, label)["auc"])
    assert curve["averaged"]["area_draws"] == list(each.interval95)
    assert each.interval95[1] < curve["averaged"]["area"]  # what a mean of curves would hide


def test_areas_of_classes_average_to_that_of_the_metrics():
    average, draws, label = case(4)
    curves = class_curves.roc_curves(average, draws, label)
    shares = label.bincount().double() / len(label)
    mean = sum(shares[curve["class"]] * curve["averaged"]["area"] for curve in curves)
    assert float(mean) == pytest.approx(float(all_metrics(average, label)["auc"]))


def test_curve_of_many_rows_keeps_its_shape():
    average, draws, label = case(n_rows=3000)
    (curve,) = class_curves.roc_curves(average, draws, label)
    x, y = (curve["averaged"][key] for key in "xy")
    assert len(x) <= class_curves.MOST_CORNERS
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert np.trapezoid(y, x) == pytest.approx(curve["averaged"]["area"], abs=1e-3)
    (curve,) = class_curves.precision_recall_curves(average, draws, label)
    assert len(curve["averaged"]["x"]) == class_curves.MOST_CORNERS
    assert np.mean(curve["averaged"]["y"]) == pytest.approx(curve["averaged"]["area"], abs=1e-3)


def test_precision_and_recall_equal_sklearn():
    average, draws, label = case()
    (curve,) = class_curves.precision_recall_curves(average, draws, label)
    found = curve["averaged"]
    precision, recall, _ = sk.precision_recall_curve(label, average[:, 1])
    best = [precision[recall == each].max() for each in found["x"]]
    np.testing.assert_allclose(found["y"], best)
    assert found["area"] == pytest.approx(sk.average_precision_score(label, average[:, 1]))
    assert curve["share"] == float(label.double().mean())


def test_bands_of_draws_hold_their_share():
    average, draws, label = case()
    (curve,) = class_curves.precision_recall_curves(average, draws, label)
    grid = torch.linspace(0, 1, 101, dtype=torch.float64)
    each = metrics.precision_recall(draws, label, grid, positive=1).numpy()
    low, high = curve["bands"]["80"]
    np.testing.assert_allclose(low, np.quantile(each, 0.1, axis=0))
    np.testing.assert_allclose(high, np.quantile(each, 0.9, axis=0))


def test_decision_curve_counts_rows_beyond_thresholds():
    average, draws, label = case()
    found = class_curves.decision_curve(average, draws, label)
    score, truth = average[:, 1].numpy(), label.numpy()
    assert (found["n"], found["n_positive"]) == (N_ROWS, truth.sum())
    for i in (0, 29, 98):
        acted = score >= found["threshold"][i]
        assert found["true_positive"][i] == (acted & (truth == 1)).sum()
        assert found["false_positive"][i] == (acted & (truth == 0)).sum()


def test_decision_curve_is_of_two_classes_that_both_occur():
    assert class_curves.decision_curve(*case(3)) is None
    average, draws, label = case()
    assert class_curves.decision_curve(average, draws, torch.zeros_like(label)) is None


def test_class_reliability_equals_sklearn():
    average, _, label = case(3)
    for curve in class_curves.class_reliability(average, label):
        score, truth = average[:, curve["class"]].numpy(), label.numpy() == curve["class"]
        share, confidence = calibration_curve(truth, score, n_bins=10)
        np.testing.assert_allclose([each["accuracy"] for each in curve["bins"]], share)
        np.testing.assert_allclose([each["confidence"] for each in curve["bins"]], confidence)
        assert sum(each["n"] for each in curve["bins"]) == N_ROWS
        for each in curve["bins"]:
            assert each["low"] - 1e-12 <= each["accuracy"] <= each["high"] + 1e-12


def test_six_classes_with_the_most_rows_are_drawn():
    label = torch.arange(9).repeat_interleave(torch.tensor([1, 9, 2, 8, 3, 7, 4, 6, 5]))
    assert class_curves.drawn_classes(label, 10) == [1, 3, 5, 6, 7, 8]
    assert class_curves.drawn_classes(torch.tensor([0, 1, 1]), 2) == [1]
    assert class_curves.drawn_classes(torch.tensor([0, 0]), 2) == []


def test_class_that_all_rows_have_has_no_curves():
    average, draws, label = case()
    known = average, draws, torch.ones_like(label)
    assert class_curves.roc_curves(*known) == []
    assert class_curves.precision_recall_curves(*known) == []
    assert class_curves.method_roc(average, known[2]) is None

import numpy as np
import pytest
import sklearn.metrics as sk
import torch

from pmcnet import metrics
from pmcnet.errors import InputError

N_ROWS, POSITIVE = 60, 1


def random_case(lead=(), ties=False, seed=0):
    """Probabilities of three classes with some skill, which coincide for many rows with ties."""
    generator = torch.Generator().manual_seed(seed)
    label = torch.randint(3, (N_ROWS,), generator=generator)
    logits = torch.randn(*lead, N_ROWS, 3, generator=generator, dtype=torch.float64)
    probability = (logits + torch.nn.functional.one_hot(label, 3)).softmax(-1)
    if ties:
        probability = (probability * 4).round() / 4 + 0.05
    return probability, label


def score_and_truth(probability, label):
    return probability[..., POSITIVE].numpy(), label.numpy() == POSITIVE


@pytest.mark.parametrize("ties", [False, True])
def test_roc_corners_equal_sklearn(ties):
    probability, label = random_case(ties=ties)
    score, truth = score_and_truth(probability, label)
    fpr, tpr, _ = sk.roc_curve(truth, score, drop_intermediate=False)
    found = metrics.roc_corners(probability, label, positive=POSITIVE)
    np.testing.assert_allclose(found.false_positive, fpr)
    np.testing.assert_allclose(found.true_positive, tpr)


@pytest.mark.parametrize("ties", [False, True])
def test_area_below_roc_corners_is_auc(ties):
    probability, label = random_case(ties=ties)
    corners = metrics.roc_corners(probability, label, positive=POSITIVE)
    area = torch.trapezoid(corners.true_positive, corners.false_positive)
    assert float(area) == pytest.approx(float(metrics.auc(probability, label, positive=POSITIVE)))


@pytest.mark.parametrize("lead", [(), (4,), (2, 3)])
@pytest.mark.parametrize("ties", [False, True])
def test_precision_recall_equals_sklearn(ties, lead):
    probability, label = random_case(lead, ties=ties)
    grid = torch.linspace(0, 1, 41)
    found = metrics.precision_recall(probability, label, grid, positive=POSITIVE)
    assert found.shape == (*lead, 41)
    scores, truth = score_and_truth(probability.reshape(-1, N_ROWS, 3), label)
    for score, ours in zip(scores, found.reshape(-1, 41), strict=True):
        precision, recall, _ = sk.precision_recall_curve(truth, score)
        precision, recall = precision[:-1][::-1], recall[:-1][::-1]  # ascending, without (0, 1)
        wanted = np.maximum(grid.numpy(), recall[recall > 0].min())
        expected = precision[np.searchsorted(recall, wanted - 1e-6)]
        np.testing.assert_allclose(ours, expected)


@pytest.mark.parametrize("lead", [(), (2, 3)])
@pytest.mark.parametrize("ties", [False, True])
def test_average_precision_equals_sklearn(ties, lead):
    probability, label = random_case(lead, ties=ties)
    found = metrics.average_precision(probability, label, positive=POSITIVE)
    scores, truth = score_and_truth(probability.reshape(-1, N_ROWS, 3), label)
    expected = [sk.average_precision_score(truth, score) for score in scores]
    np.testing.assert_allclose(found.flatten(), expected)


def test_area_below_precision_recall_is_average_precision():
    probability, label = random_case()
    n = int((label == POSITIVE).sum())
    grid = torch.arange(1, n + 1, dtype=torch.float64) / n
    steps = metrics.precision_recall(probability, label, grid, positive=POSITIVE)
    expected = metrics.average_precision(probability, label, positive=POSITIVE)
    assert float(steps.mean()) == pytest.approx(float(expected))


def test_net_benefit_is_that_by_hand():
    score = torch.tensor([0.9, 0.6, 0.5, 0.2, 0.1], dtype=torch.float64)
    label = torch.tensor([1, 0, 1, 1, 0])
    thresholds = torch.tensor([0.05, 0.5, 0.55, 0.95], dtype=torch.float64)
    found = metrics.net_benefit(torch.stack([1 - score, score], -1), label, thresholds, positive=1)
    by_hand = [(3 - 2 * 0.05 / 0.95) / 5, (2 - 1) / 5, (1 - 0.55 / 0.45) / 5, 0.0]
    np.testing.assert_allclose(found, by_hand)


def test_net_benefit_of_each_draw_is_its_own():
    probability, label = random_case((4,))
    thresholds = torch.arange(1, 100) / 100
    together = metrics.net_benefit(probability, label, thresholds, positive=POSITIVE)
    for own, found in zip(probability, together, strict=True):
        alone = metrics.net_benefit(own, label, thresholds, positive=POSITIVE)
        assert torch.equal(alone, found)


def test_rows_at_the_threshold_are_positive():
    probability = torch.tensor([[0.7, 0.3], [0.7, 0.3], [0.9, 0.1]])
    found = metrics.positives_at(
        probability, torch.tensor([1, 0, 0]), torch.tensor([0.3, 0.31]), positive=1
    )
    assert [each.tolist() for each in found] == [[1, 0], [1, 0]]


@pytest.mark.parametrize("thresholds", [[0.0, 0.5], [1.0], [[0.5]], [float("nan")]])
def test_thresholds_that_are_no_probabilities_are_refused(thresholds):
    with pytest.raises(InputError, match="both excluded"):
        metrics.positives_at(*random_case(), torch.tensor(thresholds))


def test_recalls_beyond_one_are_refused():
    with pytest.raises(InputError, match="recalls from 0 to 1"):
        metrics.precision_recall(*random_case(), torch.tensor([0.5, 1.2]))

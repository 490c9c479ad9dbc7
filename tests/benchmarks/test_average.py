"""The averaged prediction of many networks, added up draw by draw."""

import pytest
import torch
from average import Average, scores_line


def test_average_is_that_of_all_networks():
    draws = torch.rand(6, 20, 3, generator=torch.Generator().manual_seed(0)).softmax(-1)
    label = torch.arange(20) % 3
    added = Average.empty(20, 3, draws.device).plus(draws[:2], label).plus(draws[2:], label)
    mean = draws.double().mean(0)
    assert torch.allclose(added.mean, mean)
    scores = added.scores(label)
    assert scores["n_networks"] == 6
    assert scores["accuracy"] == pytest.approx(float((mean.argmax(-1) == label).double().mean()))
    right = float((draws.argmax(-1) == label).double().mean())
    assert scores["single_accuracy"] == pytest.approx(right)
    assert scores["nll"] == pytest.approx(float(-mean.gather(1, label[:, None]).log().mean()))
    total, shared = added.uncertainty
    assert (shared >= -1e-12).all()
    assert torch.allclose(total - shared, -(draws * draws.log()).sum(-1).double().mean(0))


def test_certainty_about_something_false_is_plain_data():
    label = torch.tensor([0, 1])
    sure = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    scores = Average.empty(2, 2, label.device).plus(sure, label).scores(label)
    assert scores["nll"] is None
    assert "NLL infinite" in scores_line(scores)


def test_outliers_are_recognised_by_what_networks_are_unsure_of_and_disagree_about():
    """Ten rows of classes that all networks are sure of, then five on which they disagree."""
    sure = torch.eye(3).double()[torch.arange(10) % 3].expand(4, 10, 3) * 0.9 + 0.1 / 3
    apart = torch.eye(3).double()[torch.arange(4) % 3][:, None].expand(4, 5, 3) * 0.9 + 0.1 / 3
    label, draws = torch.arange(10) % 3, torch.cat([sure, apart], 1)
    scores = Average.empty(15, 3, label.device).plus(draws, label).scores(label)
    assert (scores["accuracy"], scores["single_accuracy"]) == (1.0, 1.0)
    assert (scores["auroc_entropy"], scores["auroc_information"]) == (1.0, 1.0)

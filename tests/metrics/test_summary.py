import math

import numpy as np
import pytest
import torch

from pmcnet import metrics
from pmcnet.errors import InputError

LEADS = [(), (4,), (2, 3)]


def random_case(lead, n_classes):
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(40) % n_classes
    return torch.randn(*lead, 40, n_classes, generator=generator).softmax(-1), label


def test_summary_equals_numpy():
    values = torch.randn(100, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mean, std, interval95 = metrics.summarise(values)
    assert mean == pytest.approx(values.numpy().mean())
    assert std == pytest.approx(values.numpy().std(ddof=1))
    assert interval95 == pytest.approx(tuple(np.quantile(values.numpy(), [0.025, 0.975])))
    assert all(isinstance(x, float) for x in (mean, std, *interval95))


def test_summary_of_one_value_has_no_spread():
    assert metrics.summarise(torch.tensor([0.5])) == metrics.Summary(0.5, 0.0, (0.5, 0.5))
    assert metrics.summarise(torch.tensor(0.5)) == metrics.Summary(0.5, 0.0, (0.5, 0.5))


def test_summary_does_not_depend_on_the_shape():
    values = torch.rand(12, generator=torch.Generator().manual_seed(0))
    assert metrics.summarise(values.reshape(3, 4)) == metrics.summarise(values)


def test_summary_shows_an_infinite_value():
    assert metrics.summarise(torch.tensor([1.0, math.inf, 2.0])).mean == math.inf


def test_summary_of_nothing_is_refused():
    with pytest.raises(InputError, match="at least one"):
        metrics.summarise(torch.empty(0))


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("positive", [0, 1])
def test_binary_metrics_are_the_single_functions(lead, positive):
    probability, label = random_case(lead, 2)
    values = metrics.binary_metrics(probability, label, positive)
    assert list(values) == [
        "auc",
        "precision",
        "recall",
        "specificity",
        "accuracy",
        "f1",
        "nll",
        "brier",
        "ece",
    ]
    for name, value in values.items():
        by_class = name in ("auc", "precision", "recall", "specificity", "f1")
        options = {"positive": positive} if by_class else {}
        assert value.shape == lead
        assert torch.equal(value, getattr(metrics, name)(probability, label, **options))


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_multiclass_metrics_are_the_single_functions(lead, n_classes):
    probability, label = random_case(lead, n_classes)
    values = metrics.multiclass_metrics(probability, label)
    assert list(values) == ["auc", "f1", "accuracy", "nll", "brier", "ece"]
    names = {"auc": "auc_weighted", "f1": "macro_f1"}
    for name, value in values.items():
        assert value.shape == lead
        assert torch.equal(value, getattr(metrics, names.get(name, name))(probability, label))


@pytest.mark.parametrize("lead", LEADS)
def test_regression_metrics_are_the_single_functions(lead):
    mean, y = torch.randn(*lead, 9, generator=torch.Generator().manual_seed(0)), torch.zeros(9)
    values = metrics.regression_metrics(mean, y)
    assert list(values) == ["mse", "rmse"]
    for name, value in values.items():
        assert torch.equal(value, getattr(metrics, name)(mean, y))


def test_summarise_all_summarises_each():
    values = metrics.binary_metrics(*random_case((10,), 2))
    table = metrics.summarise_all(values)
    assert table == {name: metrics.summarise(value) for name, value in values.items()}


def test_binary_metrics_refuse_more_classes():
    with pytest.raises(InputError, match="multiclass_metrics"):
        metrics.binary_metrics(*random_case((), 3))


def test_every_export_exists():
    assert metrics.__all__ == sorted(metrics.__all__)
    assert all(hasattr(metrics, name) for name in metrics.__all__)

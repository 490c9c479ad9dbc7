import math
import warnings

import numpy as np
import pytest
import sklearn.metrics as sk
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchmetrics.functional.classification import multiclass_calibration_error

from pmcnet import metrics
from pmcnet.errors import InputError

LEADS = [(), (4,), (2, 3)]
DTYPES = [torch.float32, torch.float64]
BY_CLASS = [metrics.precision, metrics.recall, metrics.specificity, metrics.f1]
PLAIN = [metrics.accuracy, metrics.macro_f1, metrics.nll, metrics.brier, metrics.ece]


def random_case(lead=(), n_rows=60, n_classes=3, seed=0, dtype=torch.float64, ties=False):
    """Probabilities with some skill; with ties they are small fractions, which coincide."""
    generator = torch.Generator().manual_seed(seed)
    label = torch.randint(n_classes, (n_rows,), generator=generator)
    logits = torch.randn(*lead, n_rows, n_classes, generator=generator, dtype=torch.float64)
    logits = logits + torch.nn.functional.one_hot(label, n_classes)
    probability = logits.softmax(-1)
    if ties:
        counts = (probability * 4).round() + 1
        probability = counts / counts.sum(-1, keepdim=True)
    return probability.to(dtype), label


def draws(probability):
    return [p.numpy() for p in probability.reshape(-1, *probability.shape[-2:])]


def check_per_draw(value, probability, reference):
    """Each draw's value equals the reference on that draw alone."""
    assert value.shape == probability.shape[:-2]
    expected = torch.as_tensor(np.array([reference(p) for p in draws(probability)])).reshape(
        value.shape
    )
    torch.testing.assert_close(value, expected.to(value.dtype))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_counted_metrics_equal_sklearn(lead, dtype, n_classes, ties):
    probability, label = random_case(lead, n_classes=n_classes, dtype=dtype, ties=ties)
    y = label.numpy()
    classes = range(n_classes)
    check_per_draw(
        metrics.accuracy(probability, label),
        probability,
        lambda p: sk.accuracy_score(y, p.argmax(-1)),
    )
    check_per_draw(
        metrics.macro_f1(probability, label),
        probability,
        lambda p: sk.f1_score(y, p.argmax(-1), average="macro", zero_division=0),
    )
    counts = metrics.confusion_matrix(probability, label)
    assert counts.shape == (*lead, n_classes, n_classes)
    assert counts.dtype == torch.int64
    expected = np.stack(
        [sk.confusion_matrix(y, p.argmax(-1), labels=classes) for p in draws(probability)]
    )
    assert (counts.reshape(expected.shape).numpy() == expected).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize(("n_classes", "positive"), [(2, 0), (2, 1), (4, 0), (4, 2)])
def test_metrics_of_a_class_equal_sklearn_one_versus_rest(lead, dtype, n_classes, positive):
    probability, label = random_case(lead, n_classes=n_classes, dtype=dtype, ties=True)
    y = label.numpy() == positive

    def check(metric, score, **options):
        value = metric(probability, label, positive=positive)
        check_per_draw(
            value,
            probability,
            lambda p: score(y, p.argmax(-1) == positive, zero_division=0, **options),
        )

    check(metrics.precision, sk.precision_score)
    check(metrics.recall, sk.recall_score)
    check(metrics.specificity, sk.recall_score, pos_label=False)
    check(metrics.f1, sk.f1_score)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_proper_scores_equal_sklearn(lead, dtype, n_classes):
    probability, label = random_case(lead, n_classes=n_classes, dtype=dtype)
    y, classes = label.numpy(), list(range(n_classes))

    def log_loss(p):
        with warnings.catch_warnings():  # float32 rows do not sum to 1 to the last digit
            warnings.simplefilter("ignore")
            return sk.log_loss(y, p, labels=classes)

    check_per_draw(metrics.nll(probability, label), probability, log_loss)
    truth = np.eye(n_classes)[y]
    check_per_draw(
        metrics.brier(probability, label), probability, lambda p: ((p - truth) ** 2).sum(1).mean()
    )


def test_brier_of_two_classes_is_twice_that_of_one_column():
    probability, label = random_case(n_classes=2)
    one_column = sk.brier_score_loss(label.numpy(), probability[:, 1].numpy(), pos_label=1)
    assert float(metrics.brier(probability, label)) == pytest.approx(2 * one_column)


@pytest.mark.parametrize("n_bins", [1, 7, 15])
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_ece_equals_torchmetrics(lead, n_classes, n_bins):
    probability, label = random_case(lead, n_rows=200, n_classes=n_classes)

    def reference(p):
        p = torch.as_tensor(p)
        return float(
            multiclass_calibration_error(p, label, num_classes=n_classes, n_bins=n_bins, norm="l1")
        )

    value = metrics.ece(probability, label, n_bins=n_bins)
    expected = torch.tensor(
        [reference(p) for p in draws(probability)], dtype=torch.float64
    ).reshape(value.shape)
    torch.testing.assert_close(value, expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ece_equals_a_loop_over_bins_closed_above(dtype):
    confidence = torch.tensor([0.5, 0.5, 0.55, 0.75, 0.75, 0.8, 1.0, 1.0], dtype=dtype)
    probability = torch.stack([confidence, 1 - confidence], -1)
    label = torch.tensor([0, 1, 0, 0, 1, 0, 0, 1])
    correct = (label == 0).to(dtype)
    expected = 0.0
    for low in (0.0, 0.25, 0.5, 0.75):
        inside = (confidence > low) & (confidence <= low + 0.25)
        if inside.any():
            expected += float(
                inside.sum() / 8 * (confidence[inside].mean() - correct[inside].mean()).abs()
            )
    assert float(metrics.ece(probability, label, n_bins=4)) == pytest.approx(expected)


def test_ece_of_certainty_is_the_error_rate():
    label = torch.tensor([0, 1, 1, 0, 1])
    certain = torch.tensor([[1.0, 0.0]]).expand(5, 2)
    assert float(metrics.ece(certain, label)) == pytest.approx(0.6)


def test_tied_probabilities_predict_the_lowest_index():
    label = torch.arange(4)
    counts = metrics.confusion_matrix(torch.full((4, 4), 0.25), label)
    assert counts[:, 0].tolist() == [1, 1, 1, 1]
    assert counts[:, 1:].sum() == 0


@pytest.mark.parametrize("metric", [metrics.precision, metrics.recall, metrics.f1])
def test_ratio_over_no_rows_is_zero(metric):
    never = torch.tensor([[0.9, 0.1], [0.8, 0.2]])
    assert float(metric(never, torch.tensor([0, 0]), positive=1)) == 0.0


def test_specificity_without_negatives_is_zero():
    assert float(metrics.specificity(torch.tensor([[0.9, 0.1]]), torch.tensor([0]))) == 0.0


def test_macro_f1_counts_only_classes_that_occur():
    probability, label = random_case((3,), n_classes=3)
    padded = torch.cat([probability, torch.zeros_like(probability[..., :2])], -1)
    torch.testing.assert_close(
        metrics.macro_f1(padded, label), metrics.macro_f1(probability, label)
    )


def test_nll_of_an_impossible_truth_is_infinite():
    probability = torch.tensor([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])
    value = metrics.nll(probability, torch.tensor([1, 0]))
    assert value.tolist() == [math.inf, pytest.approx(math.log(2))]


@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 5),
    n_rows=st.integers(1, 30),
    ties=st.booleans(),
)
def test_order_of_rows_changes_nothing(seed, n_classes, n_rows, ties):
    probability, label = random_case((2,), n_rows, n_classes, seed, ties=ties)
    order = torch.randperm(n_rows, generator=torch.Generator().manual_seed(seed))
    for metric in [*PLAIN, *BY_CLASS]:
        torch.testing.assert_close(
            metric(probability[:, order], label[order]), metric(probability, label)
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("metric", [*PLAIN, *BY_CLASS, metrics.auc, metrics.auc_weighted])
def test_dtype_is_that_of_the_probabilities(metric, dtype):
    assert metric(*random_case((2,), dtype=dtype)).dtype == dtype


@pytest.mark.parametrize(
    "metric", [*PLAIN, *BY_CLASS, metrics.confusion_matrix, metrics.auc, metrics.auc_weighted]
)
def test_no_draws_give_no_values(metric):
    probability, label = random_case((2,))
    assert metric(probability[:0], label).shape[0] == 0


def test_device_does_not_matter(device):
    probability, label = random_case((3,), dtype=torch.float32)
    for metric in [*PLAIN, *BY_CLASS, metrics.auc, metrics.auc_weighted]:
        there = metric(probability.to(device), label.to(device))
        torch.testing.assert_close(there.cpu(), metric(probability, label))


@pytest.mark.parametrize(
    ("probability", "label", "message"),
    [
        (torch.full((5,), 0.5), torch.zeros(5, dtype=torch.int64), r"stack\(\[p, 1 - p\]"),
        (torch.ones(5, 1), torch.zeros(5, dtype=torch.int64), "C >= 2"),
        (torch.ones(0, 2), torch.zeros(0, dtype=torch.int64), "N >= 1"),
        (torch.full((5, 2), 0.5), torch.zeros(4, dtype=torch.int64), r"label must be \(5,\)"),
        (torch.full((5, 2), 0.5), torch.zeros(5), r"label.long\(\)"),
        (torch.full((5, 2), 0.5), torch.full((5,), 2), "0 to 1; got 2 to 2"),
        (torch.full((5, 2), -0.5), torch.zeros(5, dtype=torch.int64), "softmax"),
        (torch.full((5, 2), math.nan), torch.zeros(5, dtype=torch.int64), "not-a-number"),
    ],
)
def test_wrong_input_says_what_to_do(probability, label, message):
    with pytest.raises(InputError, match=message):
        metrics.accuracy(probability, label)


def test_unknown_class_or_bins_are_refused():
    probability, label = random_case()
    with pytest.raises(InputError, match="positive must be a class from 0 to 2"):
        metrics.recall(probability, label, positive=3)
    with pytest.raises(InputError, match="n_bins must be at least 1"):
        metrics.ece(probability, label, n_bins=0)

import time

import numpy as np
import pytest
import sklearn.metrics as sk
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchmetrics.functional.classification import binary_auroc

from pmcnet import metrics
from pmcnet.errors import InputError

LEADS = [(), (4,), (2, 3)]
DTYPES = [torch.float32, torch.float64]


def random_case(lead=(), n_rows=60, n_classes=2, seed=0, dtype=torch.float64, ties=False):
    """Probabilities with some skill; with ties scores coincide within and across the classes."""
    generator = torch.Generator().manual_seed(seed)
    label = torch.randint(n_classes, (n_rows,), generator=generator)
    label[:n_classes] = torch.arange(n_classes)
    logits = torch.randn(*lead, n_rows, n_classes, generator=generator, dtype=torch.float64)
    probability = (logits + torch.nn.functional.one_hot(label, n_classes)).softmax(-1)
    if ties:
        counts = (probability * 4).round() + 1
        probability = counts / counts.sum(-1, keepdim=True)
    return probability.to(dtype), label


def per_draw(probability, reference):
    """The reference on one draw after the other, in the shape of the leading dimensions."""
    values = np.array(
        [reference(p.numpy()) for p in probability.reshape(-1, *probability.shape[-2:])]
    )
    lead = probability.shape[:-2]
    return torch.as_tensor(values, dtype=probability.dtype).reshape((*lead, *values.shape[1:]))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize(("n_classes", "positive"), [(2, 0), (2, 1), (4, 2)])
def test_auc_equals_sklearn(lead, dtype, ties, n_classes, positive):
    probability, label = random_case(lead, n_classes=n_classes, dtype=dtype, ties=ties)
    truth = label.numpy() == positive
    value = metrics.auc(probability, label, positive=positive)
    torch.testing.assert_close(
        value, per_draw(probability, lambda p: sk.roc_auc_score(truth, p[:, positive]))
    )


@pytest.mark.parametrize("ties", [False, True])
def test_auc_equals_torchmetrics(ties):
    probability, label = random_case((3,), ties=ties, dtype=torch.float32)
    for p, value in zip(probability, metrics.auc(probability, label, positive=1), strict=True):
        assert float(value) == pytest.approx(float(binary_auroc(p[:, 1], label)), abs=1e-6)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", LEADS)
def test_auc_weighted_equals_sklearn(lead, dtype, ties):
    probability, label = random_case(lead, n_classes=4, ties=ties)
    value = metrics.auc_weighted(probability.to(dtype), label)

    def reference(p):
        return sk.roc_auc_score(label.numpy(), p, multi_class="ovr", average="weighted")

    torch.testing.assert_close(value, per_draw(probability, reference).to(dtype))


def test_auc_weighted_skips_absent_classes():
    probability, label = random_case((2,), n_classes=3)
    empty = torch.full_like(probability[..., :1], 0.3)
    wider = torch.cat([probability[..., :1], empty, probability[..., 1:], empty], -1)
    shifted = torch.where(label == 0, 0, label + 1)
    torch.testing.assert_close(
        metrics.auc_weighted(wider, shifted), metrics.auc_weighted(probability, label)
    )


def test_auc_of_equal_scores_is_one_half():
    assert float(metrics.auc(torch.full((9, 2), 0.5), torch.tensor([0, 1, 1] * 3))) == 0.5


@given(seed=st.integers(0, 10_000), n_rows=st.integers(2, 40))
def test_auc_of_the_other_class_is_the_same(seed, n_rows):
    probability, label = random_case((2,), n_rows, seed=seed, ties=True)
    torch.testing.assert_close(
        metrics.auc(probability, label, positive=0), metrics.auc(probability, label, positive=1)
    )


@given(seed=st.integers(0, 10_000), n_rows=st.integers(2, 40))
def test_auc_equals_the_count_over_all_pairs(seed, n_rows):
    probability, label = random_case(n_rows=n_rows, seed=seed, ties=True)
    score = probability[:, 0]
    difference = score[label == 0][:, None] - score[label != 0]
    assert float(metrics.auc(probability, label)) == pytest.approx(
        float((difference.sign() + 1).mean() / 2)
    )


@pytest.fixture
def one_thread():
    """Threads that wait for a busy core would time the machine and not the function."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.mark.usefixtures("one_thread")
def test_auc_of_a_hundred_draws_takes_milliseconds():
    probability, label = random_case((100,), 71)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        metrics.auc(probability, label)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.01


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize(("n_classes", "positive"), [(2, 0), (4, 2)])
def test_roc_equals_the_steps_of_sklearn(lead, dtype, ties, n_classes, positive):
    probability, label = random_case(lead, n_classes=n_classes, dtype=dtype, ties=ties)
    truth = label.numpy() == positive
    n_negative = int((~truth).sum())
    grid = torch.cat([torch.linspace(0, 1, 33), torch.arange(n_negative + 1) / n_negative]).to(
        dtype
    )

    def steps(p):
        false, true, _ = sk.roc_curve(truth, p[:, positive], drop_intermediate=False)
        return [true[false <= g + 1e-6].max() for g in grid.tolist()]

    value = metrics.roc(probability, label, grid, positive=positive)
    assert value.shape == (*lead, len(grid))
    torch.testing.assert_close(value, per_draw(probability, steps))


def test_roc_reaches_a_rate_that_was_rounded_down():
    probability, label = random_case((5,), 150)
    n_negative = int((label != 0).sum())
    exact = torch.arange(n_negative + 1, dtype=torch.float64) / n_negative
    below = torch.nextafter(exact, torch.zeros(()).double())
    assert torch.equal(
        metrics.roc(probability, label, below), metrics.roc(probability, label, exact)
    )


@given(seed=st.integers(0, 10_000), n_rows=st.integers(2, 40))
def test_area_under_the_steps_is_the_auc_without_ties(seed, n_rows):
    probability, label = random_case((2,), n_rows, seed=seed)
    n_negative = int((label != 0).sum())
    centres = (torch.arange(n_negative, dtype=torch.float64) + 0.5) / n_negative
    torch.testing.assert_close(
        metrics.roc(probability, label, centres).mean(-1), metrics.auc(probability, label)
    )


def test_roc_ends_at_one():
    probability, label = random_case((5,), ties=True)
    assert metrics.roc(probability, label, torch.ones(1)).tolist() == [[1.0]] * 5


@pytest.mark.parametrize("value", [0, 1])
def test_one_class_only_is_refused(value):
    probability, _ = random_case()
    label = torch.full((60,), value)
    for call in (
        lambda: metrics.auc(probability, label),
        lambda: metrics.auc_weighted(probability, label),
        lambda: metrics.roc(probability, label, torch.linspace(0, 1, 5)),
    ):
        with pytest.raises(InputError, match="stratified split"):
            call()


@pytest.mark.parametrize("grid", [torch.tensor(0.5), torch.tensor([-0.1]), torch.tensor([1.1])])
def test_wrong_grid_is_refused(grid):
    with pytest.raises(InputError, match="linspace"):
        metrics.roc(*random_case(), grid)


def test_unknown_class_is_refused():
    with pytest.raises(InputError, match="positive must be a class"):
        metrics.auc(*random_case(), positive=2)

import numpy as np
import pytest
import torch
from torch import nn

from pmcnet import data, rng
from pmcnet.data.datasets.control import probability
from pmcnet.errors import InputError

RULES = ["threshold", "drawn"]


def torch_probability(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    nn.utils.vector_to_parameters(torch.as_tensor(theta), net.parameters())
    with torch.no_grad():
        return net(torch.as_tensor(x)).sigmoid()[:, 0].numpy()


def assert_same(a: data.ControlData, b: data.ControlData) -> None:
    for left, right in zip([*a.split, *a[1:]], [*b.split, *b[1:]], strict=True):
        assert np.array_equal(left, right)


@pytest.mark.parametrize("rule", RULES)
def test_control_repeats_with_its_seed(rule):
    assert_same(data.control(50, seed=3, labels=rule), data.control(50, seed=3, labels=rule))


def test_control_seed_changes_everything():
    a, b = data.control(50, seed=3), data.control(50, seed=4)
    assert not np.isin(a.theta, b.theta).any()
    assert not np.isin(a.split.x_train, b.split.x_train).any()
    assert not np.isin(a.split.x_test, b.split.x_test).any()


def test_control_shapes_and_types():
    split, theta, probability_test = data.control(50, 30, seed=0)
    assert split.x_train.shape == (50, 3)
    assert split.x_val.shape == (0, 3)
    assert split.x_test.shape == (30, 3)
    assert (split.y_train.shape, split.y_val.shape, split.y_test.shape) == ((50,), (0,), (30,))
    assert {y.dtype for y in split[1::2]} == {np.dtype(np.int64)}
    assert {x.dtype for x in split[::2]} == {np.dtype(np.float64)}
    assert theta.shape == (16,)
    assert probability_test.shape == (30,)


@pytest.mark.parametrize("rule", RULES)
def test_control_small_training_set_begins_a_larger_one(rule):
    small, large = (data.control(n, seed=3, labels=rule).split for n in (50, 1600))
    assert np.array_equal(small.x_train, large.x_train[:50])
    assert np.array_equal(small.y_train, large.y_train[:50])


@pytest.mark.parametrize("rule", RULES)
def test_control_truth_and_test_rows_ignore_the_training_size(rule):
    small, large = (data.control(n, seed=3, labels=rule) for n in (50, 1600))
    assert np.array_equal(small.theta, large.theta)
    assert np.array_equal(small.split.x_test, large.split.x_test)
    assert np.array_equal(small.split.y_test, large.split.y_test)
    assert np.array_equal(small.probability_test, large.probability_test)


def test_control_inputs_do_not_depend_on_the_rule():
    threshold, drawn = (data.control(50, seed=3, labels=rule) for rule in RULES)
    assert np.array_equal(threshold.theta, drawn.theta)
    assert np.array_equal(threshold.split.x_train, drawn.split.x_train)
    assert np.array_equal(threshold.split.x_test, drawn.split.x_test)


def test_control_training_and_test_rows_differ():
    split = data.control(400, 400, seed=3).split
    assert not np.isin(split.x_train, split.x_test).any()


@pytest.mark.parametrize("seed", range(5))
def test_control_probability_is_that_of_the_torch_network(seed):
    _, theta, probability_test = truth = data.control(50, seed=seed)
    np.testing.assert_allclose(
        probability_test, torch_probability(theta, truth.split.x_test), rtol=1e-10, atol=1e-15
    )


@pytest.mark.parametrize("seed", range(5))
def test_control_threshold_labels_are_those_of_the_torch_network(seed):
    split, theta, _ = data.control(400, seed=seed, labels="threshold")
    assert np.array_equal(split.y_train, torch_probability(theta, split.x_train) > 0.5)
    assert np.array_equal(split.y_test, torch_probability(theta, split.x_test) > 0.5)


def test_control_drawn_labels_have_the_networks_frequency():
    split, theta, _ = data.control(20_000, seed=4, labels="drawn")
    p = torch_probability(theta, split.x_train)
    # five standard errors of the residual, and of its product with the probability
    residual, spread = split.y_train - p, p * (1 - p)
    assert abs(residual.sum()) <= 5 * np.sqrt(spread.sum())
    assert abs((residual * p).sum()) <= 5 * np.sqrt((spread * p**2).sum())


def test_control_parameters_have_standard_deviation_two():
    theta = np.concatenate([data.control(1, 1, seed=seed).theta for seed in range(500)])
    n = len(theta)
    assert abs(theta.mean()) <= 5 * 2 / np.sqrt(n)
    assert abs((theta**2).mean() - 4) <= 5 * 4 * np.sqrt(2 / n)


def test_control_theta_is_not_a_samplers_first_noise():
    """A fit with the data's own seed must not start at a multiple of the truth."""
    first = rng.stream(3, 0, 0).host.standard_normal(16)
    assert not np.allclose(data.control(1, seed=3).theta, 2 * first)


def test_probability_saturates_without_warning():
    theta = np.zeros(16)
    theta[-1] = 2000.0
    assert probability(theta, np.zeros((1, 3))).tolist() == [1.0]
    assert probability(-theta, np.zeros((1, 3))).tolist() == [0.0]


@pytest.mark.parametrize("n", [0, -5, 1.5, True])
def test_control_size_must_be_a_count(n):
    with pytest.raises(InputError, match="n_train must be a whole number"):
        data.control(n, seed=0)
    with pytest.raises(InputError, match="n_test must be a whole number"):
        data.control(1, n, seed=0)


def test_control_unknown_rule_is_refused():
    with pytest.raises(InputError, match="'threshold' or 'drawn'; got 'soft'"):
        data.control(50, seed=0, labels="soft")


def test_control_seed_is_checked():
    with pytest.raises(InputError, match="seed"):
        data.control(50, seed=-1)

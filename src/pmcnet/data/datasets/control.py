"""The paper's control data: labels from a 3-3-1 tanh network whose 16 parameters are known.

theta_i ~ N(0, 2^2), x ~ N(0, I_3), probability(x) = sigmoid(w2 . tanh(W1 x + b1) + b2). The class
is 1 where the probability exceeds 1/2 ("threshold", so a network of this shape separates them) or
with that probability ("drawn"). The paper's theta and class balance are not known. Here both follow
from the seed, and many seeds are lopsided: one class may hold most rows, or under "threshold" all
of them.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.table import Features, Split
from pmcnet.errors import InputError

Rule = Literal["threshold", "drawn"]

N_INPUTS = 3
N_HIDDEN = 3
N_PARAMETERS = N_HIDDEN * N_INPUTS + N_HIDDEN + N_HIDDEN + 1  # 16
SIGMA = 2.0

# Samplers count their steps from 0; a far step keeps a fit with the data's own seed from reusing
# the numbers of theta.
_STEP = 1 << 62
_THETA, _TRAIN_INPUTS, _TRAIN_LABELS, _TEST_INPUTS, _TEST_LABELS = range(5)


class ControlData(NamedTuple):
    """Rows drawn from a known network, and that network."""

    split: Split  # no validation rows: x_val is (0, 3)
    theta: NDArray[np.float64]  # (16,): weight1 (3, 3) by rows, bias1 (3,), weight2 (3,), bias2
    probability_test: NDArray[np.float64]  # (n_test,): of class 1, by the true network


def control(
    n_train: int, n_test: int = 400, *, seed: int, labels: Rule = "threshold"
) -> ControlData:
    """The control data of one seed.

    Network and test rows do not depend on n_train, and the rows of a small training set begin those
    of a larger one, so sizes can be compared on one problem. The inputs are the same under both
    rules of labelling.

    Args:
        n_train: Training rows; the paper has 50, 400 and 1600.
        n_test: Test rows.
        seed: Of the network and the rows.
        labels: "threshold" for 1 where the probability exceeds 1/2, "drawn" for 1 with that
            probability.
    """
    from pmcnet.rng import check_seed  # imports torch, which takes seconds

    _check_request(n_train, n_test, labels)
    seed = check_seed(seed)
    theta = SIGMA * _source(seed, _THETA).standard_normal(N_PARAMETERS)  # (16,)
    x_train = _source(seed, _TRAIN_INPUTS).standard_normal((n_train, N_INPUTS))
    x_test = _source(seed, _TEST_INPUTS).standard_normal((n_test, N_INPUTS))
    probability_test = probability(theta, x_test)  # (n_test,)
    probability_train = probability(theta, x_train)  # (n_train,)
    y_train = _label(probability_train, _source(seed, _TRAIN_LABELS), labels)  # (n_train,)
    y_test = _label(probability_test, _source(seed, _TEST_LABELS), labels)  # (n_test,)
    split = Split(x_train, y_train, x_train[:0], y_train[:0], x_test, y_test)
    return ControlData(split, theta, probability_test)


def probability(theta: NDArray[np.float64], x: Features) -> NDArray[np.float64]:
    """Probability of class 1 by the network with parameters theta (16,); inputs (N, 3) -> (N,)."""
    weight1, bias1, weight2, bias2 = np.split(
        theta, np.cumsum([N_HIDDEN * N_INPUTS, N_HIDDEN, N_HIDDEN])
    )
    hidden = np.tanh(x @ weight1.reshape(N_HIDDEN, N_INPUTS).T + bias1)  # (N, 3)
    logit = hidden @ weight2 + bias2  # (N,)
    return 0.5 + 0.5 * np.tanh(0.5 * logit)  # the sigmoid, without overflow


def _source(seed: int, block: int) -> np.random.Generator:
    from pmcnet.rng import stream

    return stream(seed, _STEP, block).host


def _label(
    probabilities: NDArray[np.float64], source: np.random.Generator, rule: Rule
) -> NDArray[np.int64]:
    bar = 0.5 if rule == "threshold" else source.random(len(probabilities))
    return (probabilities > bar).astype(np.int64)


def _check_request(n_train: int, n_test: int, labels: str) -> None:
    for name, n in (("n_train", n_train), ("n_test", n_test)):
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"{name} must be a whole number of rows, at least 1; got {n!r}.")
    if labels not in get_args(Rule):
        raise InputError(f"labels must be 'threshold' or 'drawn'; got {labels!r}.")

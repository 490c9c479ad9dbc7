"""Heavy tails by their logarithm: where, from which rows, and where not."""

import numpy as np
import pandas as pd
import pytest

from pmcnet.estimators.columns import ColumnsAsked
from pmcnet.estimators.columns.log_number import LogNumberColumn
from pmcnet.estimators.training_rows import encoded_training

RNG = np.random.default_rng(0)
N = 400
TAIL = RNG.lognormal(2, 1.5, N)
NOISE = 0.1 * RNG.normal(size=N)


def learned(x, y, weight=None, n_classes=None, scaling="columns", **asked):
    """The first column after it has learned, and its inputs of the merged training rows."""
    weight = np.ones(len(y)) if weight is None else weight
    frame = pd.DataFrame({"a": x})
    y = np.asarray(y, dtype=float)
    found = encoded_training(frame, y, weight, 0, scaling, ColumnsAsked(**asked), n_classes)
    return found.encoder.columns.columns[0], found.inputs[:, 0]


def test_tail_is_drawn_in_where_its_logarithm_goes_with_the_target():
    column, inputs = learned(TAIL, np.log(TAIL) + NOISE)
    assert column.kind == "log-number"
    assert "the logarithm is closer to the target" in column.why
    farthest = np.abs((TAIL - TAIL.mean()) / TAIL.std()).max()
    assert np.abs(inputs).max() < 0.5 * farthest
    assert inputs.mean() == pytest.approx(0, abs=1e-12)
    assert inputs.std() == pytest.approx(1)


def test_tail_of_which_classes_depend_on_the_logarithm_is_drawn_in():
    y = np.digitize(TAIL, [4.0, 9.0, 20.0])
    assert learned(TAIL, y, n_classes=4)[0].kind == "log-number"


@pytest.mark.parametrize(
    ("x", "y", "asked"),
    [
        (TAIL, TAIL + NOISE, {}),
        (RNG.normal(size=N), TAIL, {}),
        (np.r_[np.zeros(N - 1), 1.0], TAIL, {}),
        (TAIL, np.log(TAIL) + NOISE, {"types": {"a": "number"}}),
        (TAIL, np.log(TAIL) + NOISE, {"scaling": "common"}),
        (TAIL, np.log(TAIL) + NOISE, {"scaling": "none"}),
    ],
    ids=["a line", "no tail", "two values", "as asked", "common", "none"],
)
def test_other_numbers_stay_as_they_are(x, y, asked):
    assert learned(x, y, **asked)[0].kind == "number"


def test_logarithm_may_be_asked_for():
    column, _ = learned(TAIL, TAIL, types={"a": "log-number"})
    assert (column.kind, column.why) == ("log-number", "as asked")
    assert column.log_unit == pytest.approx(np.log(TAIL).mean())


def test_logarithm_keeps_order_sign_zero_and_gaps():
    x = np.array([-1e300, -5.0, -1e-300, 0.0, 1e-300, 5.0, 1e300, np.nan])
    column = LogNumberColumn(name="a", log_unit=np.log(5.0))
    shaped = column.shaped(x[:, None])[:, 0]
    assert np.isfinite(shaped[:-1]).all()
    assert (np.diff(shaped[:-1]) >= 0).all()
    assert np.array_equal(shaped[:-1], -shaped[:-1][::-1])
    assert shaped[5] == pytest.approx(np.log(2))
    assert shaped[3] == 0
    assert np.isnan(shaped[-1])


def test_rows_count_by_their_weight():
    weight = RNG.integers(1, 4, N)
    y = np.log(TAIL) + NOISE
    by_weight, inputs = learned(TAIL, y, weight.astype(float))
    repeated, again = learned(np.repeat(TAIL, weight), np.repeat(y, weight))
    assert by_weight == repeated
    assert np.array_equal(inputs, again)


def test_price_keeps_its_notation_by_its_logarithm():
    cells = [f"€ {value:,.2f}" for value in TAIL]
    column, _ = learned(cells, np.log(TAIL) + NOISE)
    assert column.kind == "log-number"
    assert column.why.startswith("numbers like '€ ")
    assert column.read_as == "text"

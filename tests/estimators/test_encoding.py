"""Tables as the network's inputs."""

import numpy as np
import pandas as pd
import pytest

from pmcnet.errors import InputError
from pmcnet.estimators.columns import MAX_COLUMNS, Columns
from pmcnet.estimators.encoding import ImageEncoder, TableEncoder, encoder_from
from pmcnet.estimators.rows import merged


def fitted(frame, scaling="columns", weight=None):
    columns = Columns.of(frame)
    rows = columns.matrix(frame)
    encoder = TableEncoder.fit(columns, rows, np.ones(len(rows)) if weight is None else weight, scaling)
    return encoder, encoder.encode(rows)


def test_numbers_are_standardised():
    x = np.random.default_rng(0).normal(5, 3, (50, 2))
    _, inputs = fitted(x)
    assert np.allclose(inputs.mean(0), 0)
    assert np.allclose(inputs.std(0), 1)


def test_weights_count_in_the_scale():
    x = np.array([[1.0], [2.0], [7.0]])
    weighted, _ = fitted(x, weight=np.array([2.0, 0.0, 1.0]))
    repeated, _ = fitted(np.array([[1.0], [1.0], [7.0]]))
    assert weighted.mean == pytest.approx(repeated.mean)
    assert weighted.std == pytest.approx(repeated.std)


def test_constant_column_becomes_zero():
    _, inputs = fitted(np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]]))
    assert (inputs[:, 0] == 0).all()


def test_common_scale_keeps_proportions():
    x = np.array([[0.0, 10.0], [2.0, 30.0]])
    _, inputs = fitted(x, "common")
    assert np.diff(inputs[:, 1]) == pytest.approx(10 * np.diff(inputs[:, 0]))
    assert fitted(x, "none")[1].tolist() == x.tolist()


def test_texts_become_one_column_per_level_and_gaps_the_average():
    frame = pd.DataFrame({"c": ["x", "y", "x", None]})
    _, inputs = fitted(frame)
    assert inputs.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [2 / 3, 1 / 3, 1]]


def test_missing_number_is_average_with_a_flag():
    _, inputs = fitted(np.array([[1.0], [3.0], [np.nan]]))
    assert inputs.tolist() == [[-1, 0], [1, 0], [0, 1]]


def test_gap_that_training_had_not_is_the_average():
    encoder, _ = fitted(np.array([[1.0], [3.0]]))
    assert encoder.encode(np.array([[np.nan]])).tolist() == [[0]]


def test_state_round_trip():
    frame = pd.DataFrame({"c": ["x", "y", None], "n": [1.0, np.nan, 3.0], "b": [True, False, True]})
    encoder, inputs = fitted(frame)
    again = encoder_from(encoder.state())
    assert (again.encode(again.rows(frame)) == inputs).all()
    images = np.random.default_rng(0).normal(2, 3, (9, 2, 4, 4))
    scaled = ImageEncoder.fit(images, np.ones(9), "columns")
    assert np.allclose(scaled.encode(images).mean((0, 2, 3)), 0)
    assert (encoder_from(scaled.state()).encode(images) == scaled.encode(images)).all()


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"a": [1.0, np.inf]}), "infinity"),
        (pd.DataFrame({"a": [np.nan, np.nan], "b": [1, 2]}), "no values at all"),
        (pd.DataFrame({"a": ["1", "2", "3", "four"]}), "holds numbers but also texts such as 'four'"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}), "holds dates"),
        (pd.DataFrame({"a": [f"id{i}" for i in range(300)]}), "300 different texts"),
        (pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]), "must differ"),
        (np.ones((2, MAX_COLUMNS + 1)), "at most 5000 columns"),
    ],
)
def test_tables_that_cannot_be_encoded_are_refused(frame, words):
    with pytest.raises(InputError, match=words):
        fitted(frame)


def test_text_where_numbers_were_is_refused_with_its_row():
    columns = Columns.of(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(InputError, match="row 2 has 'many'"):
        columns.matrix(pd.DataFrame({"a": ["3", "many"]}))
    assert columns.matrix(pd.DataFrame({"a": ["3", None]}))[0, 0] == 3


def test_level_that_looks_like_a_number_is_found_again():
    frame = pd.DataFrame({"grade": ["1", "b", "c"]})
    columns = Columns.of(frame)
    assert columns.matrix(pd.DataFrame({"grade": [1, 1]})).tolist() == [[0], [0]]


def test_equal_rows_are_merged_in_an_order_of_the_seed():
    x = np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan], [3.0, 1.0]])
    y = np.array([0.0, 1.0, 0.0, 1.0])
    rows = merged(x, y, np.array([1.0, 1.0, 2.0, 0.0]), seed=0)
    assert sorted(rows.weight.tolist()) == [1, 3]
    backwards = merged(x[::-1], y[::-1], np.array([0.0, 2.0, 1.0, 1.0]), seed=0)
    assert np.array_equal(rows.x, backwards.x, equal_nan=True)
    assert (rows.weight == backwards.weight).all()

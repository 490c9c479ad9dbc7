"""Tables as the network's inputs."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from pmcnet.errors import InputError
from pmcnet.estimators.columns import MAX_COLUMNS, Columns, ColumnsAsked
from pmcnet.estimators.encoding import ImageEncoder, TableEncoder, encoder_from
from pmcnet.estimators.training_rows import merged


def fitted(frame, scaling="columns", weight=None):
    columns = Columns.of(frame)
    rows = columns.matrix(frame)
    weight = np.ones(len(rows)) if weight is None else weight
    encoder = TableEncoder.fit(columns, rows, weight, np.zeros((len(rows), 1)), scaling)
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
    one, other = weighted.columns.columns[0], repeated.columns.columns[0]
    assert (one.mean, one.std) == pytest.approx((other.mean, other.std))


def test_constant_column_that_is_kept_becomes_zero():
    x = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]])
    columns = Columns.of(x, ColumnsAsked(keep=("column 0",)))
    rows = columns.matrix(x)
    encoder = TableEncoder.fit(columns, rows, np.ones(3), np.zeros((3, 1)), "columns")
    assert (encoder.encode(rows)[:, 0] == 0).all()


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
        (pd.DataFrame({"a": [np.nan, np.nan]}), "no column is left .*'a': it has no values"),
        (pd.DataFrame({"a": [1j, 2j]}), "complex numbers"),
        (pd.DataFrame({"a": [f"id{i}" for i in range(300)]}), "'a': it is an identifier"),
        (pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]), "must differ"),
        (np.ones((2, MAX_COLUMNS + 1)), "at most 5000 columns"),
    ],
)
def test_tables_that_cannot_be_encoded_are_refused(frame, words):
    with pytest.raises(InputError, match=words):
        fitted(frame)


def test_strings_where_numbers_were_are_read_or_found():
    columns = Columns.of(pd.DataFrame({"a": [1.0, 2.0]}))
    rows = columns.matrix(pd.DataFrame({"a": ["3", None, "many"]}))
    assert rows[0, 0] == 3
    assert np.isnan(rows[1, 0])
    assert columns.unseen(rows)["a"].tolist() == [2]


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


@pytest.mark.parametrize(
    "values", [[3, 1, 2], ["3", "1", "2"], ["2020-01-01", "2020-01-02", "2020-01-03"]]
)
def test_what_is_declared_a_category_is_one(values):
    frame = pd.DataFrame({"c": pd.Categorical(values)})
    columns = Columns.of(frame)
    assert columns.columns[0].kind == "category"
    assert columns.columns[0].levels == tuple(sorted(map(str, values)))
    strings = pd.DataFrame({"c": list(map(str, values))})
    assert (columns.matrix(frame) == columns.matrix(strings)).all()


def test_decimals_are_numbers():
    frame = pd.DataFrame({"price": [Decimal("1.50"), None, Decimal("2.25")]})
    columns = Columns.of(frame)
    assert columns.columns[0].kind == "number"
    assert np.array_equal(columns.matrix(frame)[:, 0], [1.5, np.nan, 2.25], equal_nan=True)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_columns_of_any_unit_are_standardised(unit):
    values = np.array([[1.0], [2.0], [4.0]])
    _, inputs = fitted(values * unit)
    np.testing.assert_allclose(inputs, fitted(values)[1], rtol=1e-12)


def test_value_too_large_for_the_network_is_refused():
    encoder, _ = fitted(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(InputError, match=r"'a' has 1e\+300 in row 2, .* too large for the network"):
        encoder.encode(np.array([[1.0], [1e300]]))
    images = np.random.default_rng(0).normal(2, 3, (9, 2, 4, 4))
    with pytest.raises(InputError, match="within"):
        ImageEncoder.fit(images, np.ones(9), "columns").encode(1e30 * images)


def test_table_without_columns_is_refused():
    with pytest.raises(InputError, match="0 feature"):
        Columns.of(pd.DataFrame(index=[0, 1]))


def test_table_with_another_number_of_columns_is_refused():
    columns = Columns.of(np.eye(2))
    with pytest.raises(InputError, match="must have the 2 columns of training; got 3"):
        columns.matrix(np.ones((2, 3)))


def test_number_beyond_double_precision_is_refused_by_its_column():
    frame = pd.DataFrame({"wide": [1, 10**400]}, dtype=object)
    with pytest.raises(
        InputError, match=r"column 'wide' holds a number too large for double precision. Scale it"
    ):
        Columns.of(frame)


def test_cell_that_is_no_scalar_is_refused_by_its_column():
    with pytest.raises(
        TypeError, match="column 'a': argument must be a string or a number, not list"
    ):
        Columns.of(pd.DataFrame({"a": [[1], [2]]}, dtype=object))


def test_texts_that_are_all_missing_are_gaps():
    columns = Columns.of(pd.DataFrame({"a": ["x", "y", None]}))
    assert np.isnan(columns.matrix(pd.DataFrame({"a": [None, None]}, dtype=object))).all()


IMAGES = np.random.default_rng(0).normal(2.0, 3.0, (6, 2, 4, 4))


@pytest.mark.parametrize(("scaling", "n_channels"), [("columns", 2), ("common", 1), ("none", 2)])
def test_images_are_scaled_by_channel_together_or_not_at_all(scaling, n_channels):
    encoder = ImageEncoder.fit(IMAGES, np.ones(6), scaling)
    assert len(encoder.mean) == n_channels
    inputs = encoder.encode(encoder.rows(IMAGES))
    if scaling == "none":
        assert np.array_equal(inputs, IMAGES)
    else:
        axes = (0, 2, 3) if scaling == "columns" else None
        assert np.allclose(inputs.mean(axes), 0)
        assert np.allclose(inputs.std(axes), 1)
    again = encoder_from(encoder.state())
    assert np.array_equal(again.encode(IMAGES), inputs)


def test_images_that_cannot_be_encoded_are_refused():
    damaged = IMAGES.copy()
    damaged[1, 0, 0, 0] = np.nan
    with pytest.raises(InputError, match="images must be finite"):
        ImageEncoder.fit(damaged, np.ones(6), "columns")
    encoder = ImageEncoder.fit(IMAGES, np.ones(6), "columns")
    with pytest.raises(
        InputError, match=r"must have shape \(2, 4, 4\) as in training; got \(2, 4, 3\)"
    ):
        encoder.rows(IMAGES[..., :3])
    for far in (damaged, 1e300 * IMAGES):
        with pytest.raises(InputError, match="images must be finite, and after scaling within"):
            encoder.encode(far)


def state(**changes):
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0], "city": ["a", "b", "b"]})
    return fitted(frame)[0].state() | changes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "spell"}, "no encoder is called 'spell'; there are table, images"),
        ({"flagged": [False]}, "columns do not belong together"),
        ({"names": ["n", "town"]}, "columns do not belong together"),
    ],
)
def test_state_whose_parts_do_not_fit_is_refused(changes, words):
    with pytest.raises(InputError, match=words):
        encoder_from(state(**changes))
    assert np.isfinite(encoder_from(state()).encode(np.array([[1.0, 0.0]]))).all()

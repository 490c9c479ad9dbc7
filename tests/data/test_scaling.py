import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from pmcnet import data
from pmcnet.errors import InputError

PAPER = ["glass", "ionosphere", "wine"]  # those that come with the package


def small_split(n_val: int = 4) -> data.Split:
    source = np.random.default_rng(0)
    x = source.normal(3.0, 5.0, (30, 2))
    y = np.arange(30)
    return data.Split(x[:20], y[:20], x[20 : 20 + n_val], y[20 : 20 + n_val], x[24:], y[24:])


@pytest.mark.parametrize("name", PAPER)
def test_standardise_equals_scikit_learn(name):
    raw = data.paper_split(name)
    scaled = data.standardise(raw)
    reference = StandardScaler().fit(raw.x_train)
    for part in ("x_train", "x_val", "x_test"):
        expected = reference.transform(getattr(raw, part))
        np.testing.assert_allclose(getattr(scaled, part), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PAPER)
def test_standardise_each_equals_scikit_learn_on_each_part(name):
    raw = data.paper_split(name)
    scaled = data.standardise_each(raw)
    for part in ("x_train", "x_val", "x_test"):
        expected = StandardScaler().fit_transform(getattr(raw, part))
        np.testing.assert_allclose(getattr(scaled, part), expected, rtol=1e-9, atol=1e-9)


def test_standardise_uses_training_rows_only():
    raw = small_split()
    moved = raw._replace(x_val=raw.x_val + 100, x_test=raw.x_test * 7)
    before, after = data.standardise(raw), data.standardise(moved)
    assert np.array_equal(before.x_train, after.x_train)
    np.testing.assert_allclose(
        after.x_val - before.x_val, np.broadcast_to(100 / raw.x_train.std(0), (4, 2))
    )


def test_standardise_training_rows_have_unit_scale():
    scaled = data.standardise(small_split())
    np.testing.assert_allclose(scaled.x_train.mean(0), 0, atol=1e-14)
    np.testing.assert_allclose(scaled.x_train.std(0), 1)


def test_standardise_leaves_labels_and_input_alone():
    raw = small_split()
    before = raw.x_train.copy()
    scaled = data.standardise(raw)
    assert scaled.y_train is raw.y_train
    assert scaled.y_test is raw.y_test
    assert np.array_equal(raw.x_train, before)


@pytest.mark.parametrize("scale", [data.standardise, data.standardise_each])
def test_standardise_constant_column_maps_to_zero(scale):
    raw = small_split()
    for x in (raw.x_train, raw.x_val, raw.x_test):
        x[:, 1] = 0.1  # a value whose mean over 20 rows is not itself
    scaled = scale(raw)
    for x in (scaled.x_train, scaled.x_val, scaled.x_test):
        assert (x[:, 1] == 0).all()


def test_standardise_column_constant_in_training_only_is_shifted():
    raw = small_split()
    raw.x_train[:, 1] = 2.0
    raw.x_test[:, 1] = 2.5
    assert (data.standardise(raw).x_test[:, 1] == 0.5).all()


@pytest.mark.parametrize("scale", [data.standardise, data.standardise_each])
def test_standardise_empty_validation_stays_empty(scale):
    assert scale(small_split(n_val=0)).x_val.shape == (0, 2)


def test_scaler_inverse_undoes_transform():
    raw = small_split()
    scaler = data.Scaler.fit(raw.x_train)
    np.testing.assert_allclose(scaler.inverse(scaler.transform(raw.x_test)), raw.x_test)


def test_scaler_takes_a_response():
    y = data.load("diabetes").y
    z = data.Scaler.fit(y).transform(y)
    assert z.shape == y.shape
    np.testing.assert_allclose([z.mean(), z.std()], [0, 1], atol=1e-12)


def test_scaler_spread_that_underflows_is_not_divided_by():
    x = np.array([[0.0], [1e-200]])
    assert data.Scaler.fit(x).std.tolist() == [1.0]


def test_scaler_without_rows_is_refused():
    with pytest.raises(InputError, match=r"at least one row; got shape \(0, 2\)"):
        data.Scaler.fit(np.empty((0, 2)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scaler_missing_value_is_refused(value):
    x = small_split().x_train
    x[3, 1] = value
    with pytest.raises(InputError, match="column 1 holds values that are not finite"):
        data.Scaler.fit(x)

import numpy as np
import pytest

from pmcnet import data
from pmcnet.errors import InputError

SHAPES = {
    "ionosphere": (351, 33),
    "glass": (214, 9),
    "wine": (178, 13),
    "breast_cancer": (569, 30),
    "digits": (1797, 64),
    "diabetes": (442, 10),
}
CLASSIFIED = sorted(set(SHAPES) - {"diabetes"})
OF_THE_FOLDER = ("protein", "naval")


def test_names_are_those_with_a_known_shape():
    assert data.names() == (*SHAPES, *OF_THE_FOLDER)


@pytest.mark.parametrize("name", SHAPES)
def test_load_shapes_are_consistent(name):
    table = data.load(name)
    assert table.name == name
    assert table.x.shape == SHAPES[name]
    assert table.y.shape == SHAPES[name][:1]
    assert len(table.features) == len(set(table.features)) == SHAPES[name][1]


@pytest.mark.parametrize("name", SHAPES)
def test_load_values_are_finite_float64(name):
    table = data.load(name)
    assert table.x.dtype == np.float64
    assert np.isfinite(table.x).all()
    assert np.isfinite(table.y).all()


@pytest.mark.parametrize("name", CLASSIFIED)
def test_load_labels_index_the_classes(name):
    table = data.load(name)
    assert table.task == "classification"
    assert table.y.dtype == np.int64
    assert np.unique(table.y).tolist() == list(range(len(table.classes)))


def test_diabetes_is_a_regression_on_raw_inputs():
    table = data.load("diabetes")
    assert (table.task, table.classes, table.y.dtype) == ("regression", (), np.float64)
    assert table.x[:, table.features.index("age")].max() > 70


@pytest.mark.parametrize("name", SHAPES)
def test_load_source_names_its_authors(name):
    source = data.load(name).source
    assert source.endswith(".")
    assert "(19" in source or "(20" in source


@pytest.mark.parametrize("name", SHAPES)
def test_load_gives_arrays_of_its_own(name):
    first = data.load(name)
    first.x[:] = 0
    first.y[:] = 0
    again = data.load(name)
    assert again.x.any()
    assert again.y.any()


def test_ionosphere_is_mostly_good():
    table = data.load("ionosphere")
    assert table.classes == ("bad", "good")
    assert np.bincount(table.y).tolist() == [126, 225]
    assert (table.features[:2], table.features[-1]) == (("v1", "v3"), "v34")


def test_ionosphere_has_no_constant_column():
    assert (np.ptp(data.load("ionosphere").x, axis=0) > 0).all()


def test_glass_counts_are_those_of_uci():
    table = data.load("glass")
    assert np.bincount(table.y).tolist() == [70, 76, 17, 13, 9, 29]
    assert table.classes[3] == "containers"
    assert (np.diff(table.y) >= 0).all()  # UCI lists the rows by type


def test_glass_first_row_is_that_of_uci():
    assert data.load("glass").x[0].tolist() == [1.52101, 13.64, 4.49, 1.1, 71.78, 0.06, 8.75, 0, 0]


def test_load_unknown_name_lists_the_known_ones():
    with pytest.raises(
        InputError, match=r"'iris'.*ionosphere, glass, wine, breast_cancer, digits, diabetes"
    ):
        data.load("iris")

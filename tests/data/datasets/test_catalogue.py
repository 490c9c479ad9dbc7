import json

import numpy as np
import pytest
from sklearn import datasets

from cli.commands import done
from pmcnet import data
from pmcnet.data.datasets import catalogue
from pmcnet.data.datasets.data_folder import Form
from pmcnet.data.datasets.table_set import TableRows, TableSet
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


def test_catalogue_counts_are_those_of_the_tables():
    assert [entry["name"] for entry in data.catalogue()] == [*data.names(), *data.image_names()]
    glass = next(entry for entry in data.catalogue() if entry["name"] == "glass")
    assert (glass["rows"], glass["columns"], glass["classes"], glass["task"]) == (
        214,
        9,
        6,
        "classification",
    )
    assert glass["at_hand"] is True
    assert "German (1987)" in glass["source"]


def test_catalogue_regression_has_no_classes():
    assert (
        next(entry["classes"] for entry in data.catalogue() if entry["task"] == "regression") == 0
    )


@pytest.mark.parametrize("name", SHAPES)
def test_catalogue_says_what_load_gives(name):
    entry = next(entry for entry in data.catalogue() if entry["name"] == name)
    table = data.load(name)
    assert (entry["rows"], *entry["shape"]) == table.x.shape
    assert (entry["task"], entry["classes"]) == (table.task, len(table.classes))
    assert (entry["source"], entry["at_hand"]) == (table.source, True)


@pytest.mark.parametrize("name", ["wine", "breast_cancer", "digits"])
def test_classes_are_those_of_scikit_learn(name):
    names = getattr(datasets, f"load_{name}")().target_names
    assert data.load(name).classes == tuple(map(str, names))


def read_toy(paths, verify):
    return TableRows(("a", "b"), np.arange(6).reshape(3, 2), np.array([0, 1, 0]))


def test_dataset_is_known_everywhere_by_one_line_of_the_catalogue(monkeypatch):
    toy = TableSet(
        name="toy",
        n_rows=3,
        shape=(2,),
        classes=("no", "yes"),
        source="Nobody (2000), Toy.",
        forms=(Form((), read_toy),),
    )
    monkeypatch.setattr(catalogue, "TABLES", (*catalogue.TABLES, toy))
    assert data.names()[-1] == "toy"
    assert data.load("toy").x.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert data.read_frame("toy")["target"].tolist() == ["no", "yes", "no"]
    assert [len(chunk) for chunk in data.frame_chunks("toy", 2)] == [2, 1]
    listed = json.loads(done("datasets", "--json").stdout)
    assert [entry["rows"] for entry in listed if entry["name"] == "toy"] == [3]
    with pytest.raises(InputError, match=r"naval, toy"):
        data.load("iris")

import numpy as np
import pytest

from pmcnet import data
from pmcnet.errors import InputError

# the paper's: rows of each class in training, validation and test
COUNTS = {
    "ionosphere": ([81, 129], [23, 47], [22, 49]),
    "wine": ([31, 44, 31], [14, 13, 9], [14, 14, 8]),
    "glass": ([45, 42, 11, 8, 7, 15], [12, 14, 4, 4, 1, 8], [13, 20, 2, 1, 1, 6]),
}
# what stands for class 0 in the published arrays
FIRST_LABEL = {"ionosphere": 0, "wine": 1, "glass": 1}


def numbered(n_rows: int) -> data.Table:
    """Row i holds i, so that a split shows which rows it took."""
    row = np.arange(n_rows, dtype=np.float64)
    return data.Table("numbered", row[:, None], row, "regression", (), ("row",), "Made up.")


def test_paper_splits_cover_the_counted_datasets():
    assert set(data.PAPER_SPLITS) == {*COUNTS, "protein", "naval"}


@pytest.mark.parametrize(("name", "n_rows"), [("protein", 45730), ("naval", 11934)])
def test_paper_splits_of_large_tables_are_of_the_default_sizes(name, n_rows):
    settings = data.PAPER_SPLITS[name]
    assert (settings.n_val, settings.n_test) == data.default_sizes(n_rows)[1:]


@pytest.mark.parametrize("name", COUNTS)
def test_paper_split_class_counts_are_the_papers(name):
    split = data.paper_split(name)
    counts = tuple(np.bincount(y).tolist() for y in (split.y_train, split.y_val, split.y_test))
    assert counts == COUNTS[name]


@pytest.mark.parametrize("part", ["train", "val", "test"])
@pytest.mark.parametrize("name", COUNTS)
def test_paper_split_rows_are_the_published_ones(name, part, published):
    rows = published(name)
    split = data.paper_split(name)._asdict()
    x, y = rows[f"x_{part}"], rows[f"y_{part}"]
    assert np.array_equal(split[f"x_{part}"].astype(x.dtype), x)
    assert np.array_equal(split[f"y_{part}"] + FIRST_LABEL[name], y)


def test_paper_splits_cannot_be_changed():
    with pytest.raises(TypeError):
        data.PAPER_SPLITS["glass"] = data.PAPER_SPLITS["wine"]
    with pytest.raises(AttributeError):
        data.PAPER_SPLITS["glass"].seed = 0


def test_paper_split_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match=r"'digits'.*ionosphere, glass, wine"):
        data.paper_split("digits")


def test_split_takes_the_permutation_in_order():
    order = np.random.RandomState(5).permutation(20)
    split = data.split(numbered(20), seed=5, n_val=3, n_test=4)
    assert split.y_val.tolist() == order[:3].tolist()
    assert split.y_test.tolist() == order[3:7].tolist()
    assert split.y_train.tolist() == order[7:].tolist()


def test_split_keeps_x_beside_its_y():
    split = data.split(numbered(20), seed=5, n_val=3, n_test=4)
    for x, y in (
        (split.x_train, split.y_train),
        (split.x_val, split.y_val),
        (split.x_test, split.y_test),
    ):
        assert np.array_equal(x[:, 0], y)


def test_split_by_default_uses_every_row_once():
    split = data.split(numbered(31), seed=0)
    rows = np.concatenate([split.y_train, split.y_val, split.y_test])
    assert sorted(rows) == list(range(31))


@pytest.mark.parametrize(
    ("n_rows", "sizes"),
    [
        (351, (210, 70, 71)),
        (178, (106, 36, 36)),
        (214, (128, 43, 43)),
        (45730, (27438, 9146, 9146)),
        (11934, (7160, 2387, 2387)),
    ],
)
def test_default_sizes_are_the_papers(n_rows, sizes):
    assert data.default_sizes(n_rows) == sizes


def test_split_seed_changes_the_rows():
    table = numbered(50)
    assert data.split(table, seed=0).y_test.tolist() == data.split(table, seed=0).y_test.tolist()
    assert data.split(table, seed=0).y_test.tolist() != data.split(table, seed=1).y_test.tolist()


def test_split_parts_may_be_empty():
    split = data.split(numbered(5), seed=0, n_val=0, n_test=0)
    assert split.x_train.shape == (5, 1)
    assert split.x_val.shape == split.x_test.shape == (0, 1)


@pytest.mark.parametrize(("n_val", "n_test"), [(3, 2), (5, 0), (0, 6)])
def test_split_without_training_rows_is_refused(n_val, n_test):
    with pytest.raises(InputError, match=r"5 rows.*leave none for training.*at most 4"):
        data.split(numbered(5), seed=0, n_val=n_val, n_test=n_test)


@pytest.mark.parametrize("n", [-1, 0.2, True])
def test_split_size_must_be_a_count(n):
    with pytest.raises(InputError, match="n_val must be a whole number"):
        data.split(numbered(5), seed=0, n_val=n, n_test=1)


def test_split_of_no_rows_is_refused():
    with pytest.raises(InputError, match="0 rows"):
        data.split(numbered(0), seed=0)


@pytest.mark.parametrize("seed", [-1, 1 << 32, 0.5])
def test_split_seed_out_of_range_is_refused(seed):
    with pytest.raises(InputError, match="seed"):
        data.split(numbered(5), seed=seed)


def test_split_needs_one_label_per_row():
    with pytest.raises(InputError, match="5 rows in x and 4 in y"):
        data.split(numbered(5)._replace(y=np.zeros(4)), seed=0)

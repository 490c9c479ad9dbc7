"""From a table to rows for training and testing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pmcnet.errors import InputError
from pmcnet.estimators.columns import Columns
from pmcnet.runs.config import RunSettings
from pmcnet.runs.prepare import prepare


@pytest.fixture
def table(tmp_path):
    def write(frame: pd.DataFrame) -> RunSettings:
        frame.to_csv(tmp_path / "rows.csv", index=False)
        return RunSettings(data=str(tmp_path / "rows.csv"), target="y")

    return write


def rows(n: int = 40) -> pd.DataFrame:
    draw = np.random.default_rng(2)
    return pd.DataFrame({"x": draw.normal(size=n), "y": draw.choice(["a", "b"], n)})


def test_built_in_dataset_knows_its_target():
    prepared = prepare(RunSettings(data="wine"))
    assert (prepared.settings.target, prepared.task) == ("target", "classification")
    assert prepared.settings.data == "wine"


def test_rows_are_split_without_loss(table):
    frame = rows()
    prepared = prepare(table(frame))
    assert len(prepared.y_test) == 8
    assert (frame["y"].to_numpy()[prepared.test_rows] == prepared.y_test).all()
    together = pd.concat([prepared.x_train, prepared.x_test])["x"]
    np.testing.assert_allclose(np.sort(together), np.sort(frame["x"]))


def test_classes_are_split_in_proportion(table):
    frame = rows(50).assign(y=["a"] * 40 + ["b"] * 10)
    prepared = prepare(table(frame))
    assert (prepared.y_test == "b").sum() == 2


def test_seed_decides_the_split(table):
    settings = table(rows())
    first, again, other = (prepare(replace(settings, seed=seed)).test_rows for seed in (0, 0, 1))
    assert (first == again).all()
    assert set(first) != set(other)


@pytest.mark.parametrize("seed", range(5))
def test_class_of_one_row_is_trained_on(table, seed):
    frame = rows()
    frame.loc[9, "y"] = "c"
    prepared = prepare(replace(table(frame), seed=seed, test_share=0.5))
    assert 9 not in prepared.test_rows
    assert len(prepared.y_train) + len(prepared.y_test) == 40


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 20, "classification"),
        ([True, False] * 20, "classification"),
        ([0, 1, 2, 3] * 10, "classification"),
        ([1.0, 2.0] * 20, "classification"),
        ([1.5, 2.0] * 20, "regression"),
        (list(range(40)), "regression"),
    ],
)
def test_task_follows_from_the_target(table, y, task):
    assert prepare(table(rows().assign(y=y))).task == task


def test_classes_guessed_from_numbers_are_remarked(table):
    prepared = prepare(table(rows().assign(y=[0, 1] * 20)))
    assert prepared.remarks == (
        "classification: 2 different whole numbers were taken for classes; --task regression "
        "changes that.",
    )
    assert prepare(replace(prepared.settings, task="regression")).task == "regression"


@pytest.mark.parametrize("value", [1e300, -1e6])
def test_a_number_beside_which_all_others_look_alike_is_remarked(table, value):
    frame = rows().assign(rare=[1.0] + [0.0] * 39, large=np.arange(40) * 1e12)
    settings = replace(table(frame), task="classification")
    assert prepare(settings).remarks == ()
    frame.loc[7, "x"] = value
    (remark,) = prepare(replace(table(frame), task="classification")).remarks
    assert (
        f"column 'x' has {value:g} in row 8, beside which its other values hardly differ" in remark
    )


def test_dropped_columns_are_gone(table):
    prepared = prepare(replace(table(rows().assign(id=range(40))), drop=("id",)))
    assert list(prepared.x_train.columns) == ["x"]


def test_words_with_dashes_are_no_dates(table):
    assert (
        prepare(table(rows().assign(y=["2024-may-x", "2024-june-x"] * 20))).task == "classification"
    )


def test_row_of_a_bad_cell_is_that_of_the_table(table):
    frame = rows()
    frame.loc[36, "x"] = np.inf
    with pytest.raises(InputError, match="row 37"):
        prepare(table(frame))


def test_identifiers_and_constants_are_left_out_and_said(table):
    frame = rows().assign(customer_id=range(40), still=1, hash=[f"{i:x}f" for i in range(40)])
    (_, remark) = prepare(table(frame)).remarks
    assert remark == (
        "columns left out: 'customer_id', it is an identifier: its cells name the rows; 'still', "
        "it is constant; 'hash', it is an identifier: its cells name the rows. --keep NAME keeps "
        "one."
    )
    kept = prepare(replace(table(frame), keep=("customer_id", "still", "hash")))
    assert len(kept.remarks) == 1


def test_table_without_a_column_that_varies_is_refused(table):
    with pytest.raises(InputError, match="no column is left to predict from"):
        prepare(table(rows().assign(x=1)))


def test_rows_without_a_target_are_kept_apart(table):
    frame = rows()
    frame.loc[[3, 5, 8], "y"] = None
    prepared = prepare(table(frame))
    assert prepared.missing_rows.tolist() == [3, 5, 8]
    assert np.allclose(prepared.x_missing["x"], frame["x"].iloc[[3, 5, 8]])
    assert not {3, 5, 8} & set(prepared.test_rows)
    assert len(prepared.y_train) + len(prepared.y_test) == 37
    assert (frame["y"].to_numpy()[prepared.test_rows] == prepared.y_test).all()
    assert "the target is missing in 3 of 40 rows" in " ".join(prepared.remarks)


def test_target_that_is_missing_everywhere_is_refused(table):
    with pytest.raises(InputError, match="'y' is missing in every row"):
        prepare(table(rows().assign(y=None)))


def test_class_of_one_row_is_said_and_may_be_left_out(table):
    frame = rows()
    frame.loc[9, "y"] = "c"
    assert "class 'c' has one row" in " ".join(prepare(table(frame)).remarks)
    prepared = prepare(replace(table(frame), min_class_rows=2))
    assert set(prepared.y_train) | set(prepared.y_test) == {"a", "b"}
    assert "1 rows of 1 classes with fewer than 2 rows are left out: 'c'" in " ".join(
        prepared.remarks
    )


def test_uneven_classes_are_said_with_the_base_rate(table):
    frame = rows(100).assign(y=["a"] * 95 + ["b"] * 5)
    remark = " ".join(prepare(table(frame)).remarks)
    assert "'b' is 5.0% of the rows, and always saying 'a' is right in 95.0%" in remark


def test_asked_kind_of_a_column_that_is_not_there_is_refused(table):
    with pytest.raises(InputError, match="there is no column 'z'"):
        prepare(replace(table(rows()), column_types={"z": "number"}))


@pytest.mark.parametrize(
    ("cells", "numbers", "words"),
    [
        ([f"€ {i}.500" for i in range(1, 13)] * 5, [1500, 2500], "numbers like '€ 12.500'"),
        ([f"{i}.5 %" for i in range(9)] * 5, [0.5, 1.5], "numbers like '8.5 %'"),
        (
            ["-", *(f" {i}.25" for i in range(9))] * 5,
            [0.25, 1.25],
            "with 5 cells ('-') that are none",
        ),
    ],
)
def test_target_of_written_numbers_is_a_regression(table, cells, numbers, words):
    settings = replace(table(rows(len(cells)).assign(y=cells)), test_share=0.0)
    prepared = prepare(settings)
    assert prepared.task == "regression"
    assert np.unique(prepared.y_train)[:2].tolist() == numbers
    assert words in prepared.remarks[0]
    assert len(prepared.missing_rows) == cells.count("-")


def test_target_with_a_word_among_numbers_is_refused_with_its_row(table):
    cells = [*map(str, range(39)), "much"]
    with pytest.raises(InputError, match="1 cells that are none, first 'much' in row 40"):
        prepare(table(rows().assign(y=cells)))


def test_classes_lose_the_blanks_around_them(table):
    prepared = prepare(table(rows().assign(y=["yes", " yes", "no ", "no"] * 10)))
    assert set(prepared.y_train) == {"yes", "no"}


def test_target_of_many_small_classes_is_refused(table):
    with pytest.raises(InputError, match="has 30 classes in 40 rows, so there is nothing to"):
        prepare(table(rows().assign(y=[f"c{i % 30}" for i in range(40)])))


def test_word_that_only_held_out_rows_have_does_not_end_the_run(table):
    settings = table(rows().assign(z=[str(i) for i in range(40)]))
    test = prepare(settings).test_rows
    cells = [str(i) for i in range(40)]
    cells[test[0]] = "not measured"
    prepared = prepare(table(rows().assign(z=cells)))
    columns = Columns.of(prepared.x_train)
    assert [column.kind for column in columns.columns] == ["number", "number"]
    assert columns.unseen(columns.matrix(prepared.x_test))["z"].tolist() == [0]


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y", "%d %b %Y"])
def test_target_of_dates_is_refused_however_they_are_written(table, written):
    days = pd.date_range("2020-01-01", periods=40).strftime(written)
    with pytest.raises(InputError, match="'y' holds dates"):
        prepare(table(rows().assign(y=days)))

"""Tables and settings that cannot be fitted: one sentence, exit code 2, and nothing is written."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from cli.commands import TINY, classes, done, files, invoke, numbers, refused, written
from pmcnet.runs import fit as run_fit
from pmcnet.runs import outcome as run_outcome


@pytest.fixture
def fit(tmp_path):
    """Fit a file of this content, which must be refused and leave the folder as it was."""

    def run(
        content: str | bytes | pd.DataFrame,
        *arguments: object,
        says: tuple[str, ...],
        name="rows.csv",
    ) -> str:
        path = tmp_path / name
        if isinstance(content, pd.DataFrame):
            content = content.to_csv(index=False)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        options = arguments if "--target" in arguments else ("--target", "y", *arguments)
        line = refused("fit", path, *TINY, "--out", tmp_path / "new" / "run", *options, says=says)
        assert files(tmp_path) == {name}
        return line

    return run


def test_missing_file_is_refused(tmp_path):
    refused(
        "fit",
        tmp_path / "no.csv",
        "--target",
        "y",
        "--out",
        tmp_path / "run",
        says=("no file", "Check the path"),
    )
    assert files(tmp_path) == set()


def test_no_data_at_all_is_refused():
    refused("fit", "--target", "y", says=("data must be the path", "none was given"))


def test_empty_file_is_refused(fit):
    fit("", says=("is empty (0 bytes)",))


def test_header_without_rows_is_refused(fit):
    fit("x,y\n", says=("no rows", "Add at least one"))


def test_unknown_target_lists_the_columns(fit):
    fit(
        classes(),
        "--target",
        "price",
        says=("no column 'price'", "x, z, city, y", "--target COLUMN"),
    )


def test_file_without_a_target_asks_for_one(tmp_path, tables):
    refused(
        "fit",
        tables / "classes.csv",
        "--out",
        tmp_path / "run",
        says=("no target column was named", "--target"),
    )


def test_target_of_one_class_is_refused(fit):
    fit(classes().assign(y="yes"), says=("one class only, 'yes'", "at least two"))


def test_target_that_does_not_vary_is_refused(fit):
    fit(numbers().assign(y=1.5), says=("1.5 in every row",))


def test_target_with_a_class_for_each_row_is_refused(fit):
    names = [f"customer {i}" for i in range(30)]
    fit(numbers().assign(y=names), says=("has 30 classes in 30 rows", "several rows of each"))


def test_features_that_are_all_constant_are_refused(fit):
    fit(
        classes().assign(x=1, z=2, city="Oslo"),
        says=("no column is left to predict from", "that vary"),
    )


@pytest.mark.usefixtures("no_page")
def test_one_constant_column_is_left_out_and_said(tmp_path):
    path = written(classes().assign(**{"unit [C]": "C"}), tmp_path / "rows.csv")
    result = done("fit", path, "--target", "y", *TINY, "--out", tmp_path / "run")
    assert "columns left out: 'unit [C]', it is constant. --keep NAME" in result.stderr


@pytest.mark.usefixtures("no_page")
def test_column_without_values_is_left_out_and_said(tmp_path):
    path = written(classes().assign(z=np.nan), tmp_path / "rows.csv")
    result = done("fit", path, "--target", "y", *TINY, "--out", tmp_path / "run")
    assert "columns left out: 'z', it has no values." in result.stderr


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--column", "x"), "--column must be NAME=KIND"),
        (("--column", "x=colour"), "a column is one of number"),
        (("--column", "no=number"), "there is no column 'no'"),
        (("--keep", "no"), "there is no column 'no'"),
        (("--min-class-rows", "0"), "min_class_rows must be at least 1"),
        (("--min-class-rows", "29"), "no class has 29 rows"),
    ],
)
def test_what_cannot_be_asked_of_columns_is_refused(fit, option, says):
    frame = classes()
    frame.loc[0, "y"] = "rare"
    fit(frame, *option, says=(says,))


@pytest.mark.parametrize("word", ["inf", "-inf"])
def test_infinite_feature_is_refused_with_its_row(fit, word):
    frame = classes()
    frame.loc[28, "x"] = float(word)
    fit(frame, says=("column 'x' has an infinity", "row 29"))


@pytest.mark.parametrize("task", ["auto", "regression", "classification"])
def test_infinite_target_is_refused_with_its_row(fit, task):
    frame = numbers()
    frame.loc[7, "y"] = np.inf
    fit(frame, "--task", task, says=("the target 'y' has an infinity in row 8",))


def test_target_without_values_is_refused(fit):
    fit(classes().assign(y=None), says=("'y' is missing in every row",))


def test_target_of_dates_is_refused(fit):
    days = pd.date_range("2024-05-01", periods=30)
    fit(numbers().assign(y=days), says=("holds dates", "days since the first"))
    days_of_a_week = [day.strftime("%Y-%m-%d") for day in days[:5]] * 6
    fit(numbers().assign(y=days_of_a_week), says=("holds dates",))


def test_target_of_dates_in_parquet_is_refused(fit):
    file = io.BytesIO()
    numbers().assign(y=pd.date_range("2024-05-01", periods=30)).to_parquet(file, index=False)
    fit(file.getvalue(), name="rows.parquet", says=("holds dates",))


def test_repeated_column_name_is_refused(fit):
    fit("x,x,y\n1,2,a\n2,3,b\n3,4,a\n", says=("column name 'x' more than once", "Rename"))


def test_wrong_delimiter_is_recognised(fit):
    says = ("'x;z;y' where ',' separates fields", "look separated by semicolons")
    fit("x;z;y\n1;2;a\n2;3;b\n", "--delimiter", ",", says=says)


def test_bytes_that_are_not_utf8_are_refused(fit):
    fit("x,y\n1,é\n2,b\n".encode("latin-1"), says=("UTF-8",))


def test_damaged_gzip_is_refused(fit):
    content = gzip.compress(classes().to_csv(index=False).encode())
    fit(content[:-20], name="rows.csv.gz", says=("rows.csv.gz",))


def test_ten_thousand_columns_are_refused(fit):
    header = ",".join([*(f"x{i}" for i in range(10_000)), "y"])
    rows = [",".join([*(str((i * j) % 7) for i in range(10_000)), "ab"[j % 2]]) for j in range(10)]
    fit("\n".join([header, *rows]), says=("at most 5000 columns; this one has 10000", "Select"))


def test_one_row_is_refused(fit):
    fit("x,z,y\n1,2,a\n", says=("has 1 row;", "at least 2", "Give more rows"))


def test_test_rows_that_leave_none_for_training_are_refused(fit):
    fit(
        classes().head(4),
        "--test-share",
        0.9,
        says=("has 4 rows, of which test_share=0.9 keeps 4",),
    )


def test_feature_called_like_a_prediction_is_refused(fit):
    fit(numbers().rename(columns={"z": "std"}), says=("column 'std'", "--drop std"))


def test_text_target_cannot_be_a_regression(fit):
    fit(classes(), "--task", "regression", says=("holds strings such as", "classification"))


def test_measured_numbers_cannot_be_classes(fit):
    fit(numbers(), "--task", "classification", says=("which are no classes", "--task regression"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--method", "magic"), ("method must be one of auto, annealed", "'magic'")),
        (
            ("--prior-std", "-1"),
            ("prior_std must be auto, hierarchical, evidence", "or a positive number", "-1"),
        ),
        (("--prior-std", "0"), ("positive number", "got 0")),
        (("--prior-std", "nan"), ("positive number", "got nan")),
        (("--prior-std", "wide"), ("positive number", "got wide")),
        (
            ("--prior-std", "evidence", "--method", "covfree"),
            ("evidence needs the annealed method", "covfree"),
        ),
        (("--hidden", "a,b"), ("--hidden must be whole numbers like 16 or 50,50", "'a,b'")),
        (("--hidden", "0"), ("hidden must be positive whole numbers", "got 0")),
        (("--hidden", "5,-3"), ("hidden must be positive whole numbers", "got 5,-3")),
        (("--budget", "soon"), ("budget must be positive seconds or a string like", "'soon'")),
        (("--budget", "-5"), ("budget must be positive", "-5")),
        (("--budget", "inf"), ("budget must be positive", "inf")),
        (("--device", "abacus"), ("device 'abacus' cannot be used here", "cpu")),
        (("--task", "clustering"), ("'clustering'", "'regression'", "pmcnet fit --help")),
        (("--activation", "sine"), ("'sine'", "'tanh'")),
        (("--prior", "cauchy"), ("'cauchy'", "'gaussian'")),
        (("--scaling", "robust"), ("'robust'", "'columns'")),
        (
            ("--noise", "-1", "--task", "regression"),
            ("noise must be auto, learn, by-row or a positive number", "-1"),
        ),
        (("--drop", "q"), ("not in", "q", "--drop")),
        (("--drop", "x,z,city"), ("no column besides the target 'y'",)),
        (("--test-share", "1"), ("test_share must lie in [0, 1)", "got 1")),
        (("--test-share", "nan"), ("test_share must lie in [0, 1)",)),
        (("--test-share", "half"), ("'half' is not a valid float",)),
        (("--passes", "0"), ("n_passes must be at least 1",)),
        (("--seed", "-1"), ("seed must be a whole number from 0", "got -1")),
        (("--seed", "x"), ("'x' is not a valid integer",)),
        (("--wings",), ("No such option", "--wings")),
    ],
)
def test_setting_that_cannot_be_is_refused(fit, options, says):
    fit(classes(), *options, says=says)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("n_particles", "must be NAME=VALUE"),
        ("n_particles=7", "even whole number, at least 4; got 7"),
        ("n_particles=abc", "n_particles must be a whole number; got 'abc'"),
        ("n_particles=inf", "n_particles must be a whole number; got inf"),
        ("n_particles=24.5", "n_particles must be a whole number; got 24.5"),
        ("ess_fraction=high", "ess_fraction must be a number; got 'high'"),
        ("ess_fraction=7", "ess_fraction"),
        ("wings=2", "annealed has no setting wings; it has n_islands"),
    ],
)
def test_option_of_annealed_that_cannot_be_is_refused(fit, option, says):
    fit(classes(), "--option", option, says=(says,))


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("n_steps=0", "n_steps must be at least 1; got 0"),
        ("n_proposals=-2", "n_proposals must be at least 1; got -2"),
        ("n_draws=0", "n_draws must be at least 1; got 0"),
        ("sigma=-1", "sigma must be positive; got -1"),
        ("learning_rate=0", "learning_rate must be positive"),
        ("start=hot", "start must be one of restarts, jitter; got 'hot'"),
        ("keep=some", "keep must be one of last, all, mixture; got 'some'"),
    ],
)
def test_option_of_pmcnet_that_cannot_be_is_refused(tmp_path, tables, option, says):
    arguments = (
        "fit",
        tables / "classes.csv",
        "--target",
        "y",
        "--method",
        "pmcnet",
        "--option",
        option,
    )
    refused(*arguments, "--out", tmp_path / "run", says=(says,))
    assert files(tmp_path) == set()


@pytest.mark.parametrize(
    "arguments", [("fly",), ("--wings",), ("predict",), ("compare", "wine", "--methods", ",")]
)
def test_command_line_that_cannot_be_is_one_line(arguments):
    refused(*arguments)


@pytest.mark.parametrize(
    "options", [("--hidden", "0"), ("--device", "abacus"), ("--methods", "annealed,magic")]
)
def test_comparison_that_cannot_be_leaves_nothing(tmp_path, tables, options):
    refused("compare", tables / "classes.csv", "--target", "y", *options, "--out", tmp_path / "out")
    assert files(tmp_path) == set()


def test_debug_shows_the_traceback_before_the_sentence(tmp_path):
    result = invoke("--debug", "fit", tmp_path / "no.csv", "--target", "y")
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert result.stderr.splitlines()[-1].startswith("Error: there is no file")


@pytest.mark.parametrize(("room", "when"), [(run_fit, "unfitted"), (run_outcome, "predictions_of")])
def test_failure_inside_is_a_sentence_and_exit_code_1(tmp_path, tables, monkeypatch, room, when):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(room, when, fail)
    result = invoke(
        "fit", tables / "classes.csv", "--target", "y", *TINY, "--out", tmp_path / "run"
    )
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert last == (
        "Error: a failure inside pmcnet (ZeroDivisionError: by zero). Run it again with pmcnet "
        "--debug to see where."
    )
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("CUDA out of memory."), RuntimeError("can't allocate memory")],
)
def test_too_little_memory_is_said(tables, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(run_fit, "prepare", fail)
    result = invoke("fit", tables / "classes.csv", "--target", "y", *TINY)
    assert result.exit_code == 1
    assert "not enough memory" in result.stderr

"""Several methods on the page: the table, the curves, the confusions and the errors."""

import re

import numpy as np
import pytest

from pmcnet.errors import InputError
from pmcnet.reports.comparison import comparison
from pmcnet.reports.figures.roc_methods import style_of
from pmcnet.reports.figures.violins import common_axis
from pmcnet.reports.html import milliseconds
from reports import records

KINDS = {
    "binary": records.binary_compared,
    "multiclass": records.multiclass_compared,
    "regression": records.regression_compared,
}
NEW = (
    "per_draw",
    "best",
    "milliseconds_per_row",
    "roc",
    "confusion",
    "squared_errors",
    "chosen",
    "trials",
)
MARKED = (
    "marked: the best, or not significantly worse on these rows "
    "(95 % interval of the difference over resampled test rows)"
)


def shown(record, **change):
    """The section, each entry changed."""
    entries = [entry | change for entry in record["comparison"]]
    return comparison(record | {"comparison": entries}).body


def rows_of(body):
    table = re.search(r"<tbody>(.*?)</tbody>", body, re.DOTALL)[1]
    return re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)


def test_comparison_shows_what_single_draws_reach():
    rows = rows_of(shown(records.binary_compared()))
    assert "<small>0.931 (0.012)</small>" in rows[0]
    assert "<small>" not in rows[3]


def test_comparison_marks_what_is_best_or_tied_by_a_sign():
    body = shown(records.binary_compared())
    assert [row.count("★") for row in rows_of(body)] == [2, 1, 0, 0]
    assert [row.count("<strong>") for row in rows_of(body)] == [2, 1, 0, 0]
    assert MARKED in body


def test_comparison_without_ties_keeps_the_best_of_each_column_in_bold():
    body = shown(records.binary_compared(), best=None)
    assert "<strong>0.950</strong>" in rows_of(body)[0]
    assert "★" not in body
    assert MARKED not in body
    assert "Bold: the best of its column" in body


def test_comparison_has_a_time_per_row_only_where_measured():
    record = records.binary_compared()
    assert ">0.42 ms<" in shown(record)
    assert "time per row" not in shown(record, milliseconds_per_row=None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0 ms"),
        (0.0042, "4.2 µs"),
        (0.42, "0.42 ms"),
        (37.2, "37 ms"),
        (4200, "4.2 s"),
    ],
)
def test_milliseconds_are_readable(value, text):
    assert milliseconds(value) == text


def test_comparison_draws_all_curves_in_one_figure():
    body = shown(records.binary_compared())
    assert body.count("<svg") == 1
    assert len(re.findall(r">[\w -]+, AUC 0\.\d{3}<", body)) == 4
    assert (
        len(re.findall(r'aria-label="ROC curves [^"]*annealed 0\.\d{3}[^"]*adam 0\.\d{3}', body))
        == 1
    )


def test_comparison_takes_the_area_under_the_curve_where_none_is_given():
    record = records.binary_compared()
    entry = record["comparison"][0] | {"roc": {"grid": [0, 0.5, 1], "mean": [0, 1, 1], "auc": None}}
    assert "annealed, AUC 0.750" in comparison(record | {"comparison": [entry]}).body


def test_comparison_tells_the_settings_and_how_they_were_chosen():
    record = records.binary_compared()
    chosen = [
        {
            "chosen": {"prior_std": 2.0},
            "chosen_by": "evidence",
            "trials": [{}] * 3,
            "tuning_seconds": 4.25,
        },
        {
            "chosen": {"early_stopping": False, "rate": 0.01},
            "trials": [{}] * 6,
            "tuning_seconds": None,
        },
        {"chosen": {"prior_std": 1.0}, "chosen_by": None, "trials": [], "tuning_seconds": 0.0},
        {"chosen": {}},
    ]
    entries = [entry | more for entry, more in zip(record["comparison"], chosen, strict=True)]
    body = comparison(record | {"comparison": entries}).body
    told = body.split("Chosen settings</h4>")[1].split("</tbody>")[0]
    cells = [
        re.sub(r"<[^>]+>", "|", row) for row in re.findall(r"<tr>(.*?)</tr>", told, re.DOTALL)[1:]
    ]
    assert "|prior_std 2||evidence||3||4.2 s|" in cells[0]
    assert "|early_stopping no, rate 0.01||validation||6||-|" in cells[1]
    assert "|prior_std 1||as given||-||-|" in cells[2]
    assert len(cells) == 3
    assert "Test rows were not used" in body


def test_curves_of_nine_methods_look_different():
    assert len({style_of(i) for i in range(9)}) == 9


def test_comparison_names_long_classes_once():
    body = shown(records.multiclass_compared())
    assert body.count("<caption>") == 4
    assert len(re.findall(r">\s*versicolor<|</strong> versicolor<", body)) == 1


def test_comparison_of_short_classes_names_them_in_the_tables():
    body = shown(records.binary_compared())
    assert body.count('scope="row" title="good">good</th>') == 4
    assert "Classes by number" not in body


def test_comparison_folds_large_matrices_after_the_second():
    body = shown(records.multiclass_compared([f"class {i}" for i in range(9)]))
    before, folded = body.split("<details>")
    assert (before.count("<caption>"), folded.count("<caption>")) == (2, 2)
    assert "The other 2 methods" in folded
    assert "<details>" not in shown(records.multiclass_compared([f"class {i}" for i in range(8)]))


def test_comparison_tells_medians_and_errors_of_zero():
    record = records.regression_compared()
    body = shown(record)
    median = np.median(record["comparison"][0]["squared_errors"])
    assert "Squared errors of 102 test rows" in body
    assert f"medians: annealed {median:.3f}" in body
    assert "(1 of them zero) and drawn at the left end" in body
    assert body.count("<svg") == 4


@pytest.mark.parametrize(
    "errors",
    [
        [0.0],
        [0.0] * 9,
        [2.0],
        [2.0] * 9,
        [0.0, 1e-300, 1e300],
        [3.0, 4.0],
        [1e-320, 5.0],
        [1.0] * 8 + [9.0],
    ],
)
def test_comparison_draws_errors_of_any_size(errors):
    body = shown(records.regression_compared(), squared_errors=errors)
    assert body.count("<svg") == 4
    assert "nan" not in body


def test_errors_far_below_every_median_do_not_stretch_the_axis():
    axis = common_axis([np.asarray([1e-30, 1.0, 1.0, 10.0]), np.asarray([0.0, 100.0])])
    assert (axis.low, axis.high) == pytest.approx((-4, 2))


def test_many_errors_make_no_larger_page():
    many = (np.random.default_rng(0).normal(size=20_000) ** 2).tolist()
    assert len(shown(records.regression_compared(), squared_errors=many)) < 60_000


@pytest.mark.parametrize("kind", KINDS)
def test_comparison_takes_none_for_every_new_part(kind):
    body = shown(KINDS[kind](), **dict.fromkeys(NEW))
    assert "<svg" not in body
    assert "<h4" not in body
    assert "None" not in body


@pytest.mark.parametrize("kind", KINDS)
def test_comparison_takes_every_new_part_alone_and_of_one_method(kind):
    record = KINDS[kind]()
    for key in NEW:
        entries = [entry | dict.fromkeys(set(NEW) - {key}) for entry in record["comparison"]]
        entries[1:] = [entry | {key: None} for entry in entries[1:]]
        assert comparison(record | {"comparison": entries}).body


def test_comparison_takes_methods_of_one_name():
    body = shown(records.regression_compared(), method="annealed")
    assert body.count("<svg") == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"best": "accuracy"}, "best of annealed must be a list"),
        ({"roc": {"mean": [0, 1]}}, "roc of annealed must have the key 'grid'"),
        ({"roc": {"grid": [0, 1], "mean": [0, 1, 1]}}, "one value per grid point"),
        ({"confusion": [[1, 2, 3], [1, 2, 3]]}, "matrix of annealed must be"),
        ({"squared_errors": [1.0, -1.0]}, "squared_errors of annealed must be at least 0"),
        ({"squared_errors": [1.0, None]}, "squared_errors of annealed must be finite"),
        ({"squared_errors": []}, "non-empty"),
        ({"chosen": "all"}, "chosen must hold settings by name"),
    ],
)
def test_comparison_refuses_bad_parts(change, words):
    with pytest.raises(InputError, match=words):
        shown(records.binary_compared(), **change)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["<script>alert('x')</script> $x_1$", "日本語", "x" * 300, "\ud800", ""]
)
def test_comparison_takes_any_name(kind, name):
    record = KINDS[kind]()
    record |= {"classes": [name] * len(record["classes"])} if record["classes"] else {}
    body = shown(record, method=name)
    assert "<script" not in body


def beside_libraries():
    """A comparison with another library, and one that failed."""
    record = records.regression_compared()
    other = {
        "method": "linear",
        "library": "scikit-learn 1.9",
        "metrics": {"rmse": 2.5, "pinball": 0.2},
        "best": ["rmse"],
        "seconds": 0.02,
        "peak_mib": 1234.5,
    }
    failed = {"method": "bde", "library": None, "metrics": {}, "failed": "ValueError: <b>no</b>"}
    return record | {
        "comparison": [*record["comparison"], other, failed],
        "recommendation": "Use linear: it is fine.",
    }


def test_comparison_with_libraries_shows_versions_memory_and_advice():
    record = beside_libraries()
    body = comparison(record).body
    assert body.index("Use linear: it is fine.") < body.index("<table")
    row = next(row for row in rows_of(body) if "linear" in row)
    assert "scikit-learn 1.9" in row
    assert "1,234 MiB" in row
    assert "★" in row
    assert "Models of other libraries had the same rows" in body
    assert "pinball that at the ends" in body
    assert ">-<" in rows_of(body)[0].rsplit("<td", 1)[1]


def test_comparison_lists_what_failed_below_the_table():
    body = comparison(beside_libraries()).body
    assert not any("bde" in row for row in rows_of(body))
    assert "<li>bde: ValueError: &lt;b&gt;no&lt;/b&gt;</li>" in body


def test_comparison_without_libraries_has_no_words_about_them():
    body = shown(records.regression_compared())
    for words in ("peak memory", "other libraries", "Not compared", "pinball"):
        assert words not in body

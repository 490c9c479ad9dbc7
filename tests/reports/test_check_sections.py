"""The sections of checks say what is seen, and refuse what is no record of them."""

import re

import pytest

from pmcnet.errors import InputError
from pmcnet.reports.page import render
from reports import check_records, records

NUMBERS, CLASSES = check_records.of_numbers(), check_records.of_classes(["bad", "good"])


def section(key, task="regression", **change):
    data = (NUMBERS if task == "regression" else CLASSES)[key]
    page = render(records.bare(task) | {key: data | change})
    return re.search(rf'<section id="{key}">.*?</section>', page, re.DOTALL)[0]


def test_even_ranks_say_nothing_against_the_model():
    words = section("posterior_predictive")
    assert "0 of 5 bars are outside" in words
    assert "Nothing speaks against the model." in words


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([30, 5, 4, 6, 29], "The ends are high: predictions are too sure"),
        ([2, 15, 25, 14, 3], "The middle is high: intervals are wider"),
        ([3, 5, 10, 20, 30], "leans to one side: predictions are too low"),
        ([30, 20, 10, 5, 3], "leans to one side: predictions are too high"),
    ],
)
def test_uneven_ranks_are_put_into_words(counts, words):
    pit = NUMBERS["posterior_predictive"]["pit"] | {"counts": counts, "p_value": 0.005}
    assert words in section("posterior_predictive", pit=pit)


def test_statistics_outside_the_replicates_are_named():
    assert "the largest of what was observed is outside" in section("posterior_predictive")
    assert "are all within" in section(
        "posterior_predictive", statistics=[check_records.statistic("mean", 0)]
    )


def test_rows_that_the_fit_has_seen_are_called_so():
    assert "training rows, which the fit has seen" in section("posterior_predictive", seen=True)
    assert "of 5,000, drawn at random" in section("posterior_predictive", n_given=5000)


def test_censored_rows_have_no_densities():
    words = section("posterior_predictive", densities=None, statistics=None, n_censored=22)
    assert "22 rows are censored" in words
    assert words.count("<svg") == 1


def test_classes_outside_their_range_are_named():
    assert "1 of 2 classes miss: bad." in section("posterior_predictive", "binary")
    assert "every class is inside" in section("prior_predictive", "binary")


def test_clear_trends_of_residuals_are_named():
    words = section("residuals")
    assert "Residuals follow rooms: the model misses something there." in words
    assert "Of 13 features the 3 with the clearest trends are drawn." in words
    assert "river (1 no, 2 yes)" in words
    assert "&lt;b&gt;age&lt;/b&gt;" in words
    first, *others = NUMBERS["residuals"]["trends"]
    uneven = section("residuals", trends=[first | {"p_spread": 1e-4}, *others])
    assert "Their size follows rooms: the noise differs from row to row" in uneven
    quiet = [line | {"clear": False} for line in NUMBERS["residuals"]["trends"]]
    assert "follow neither the prediction nor a feature" in section("residuals", trends=quiet)


def test_influential_rows_are_counted():
    assert "Here 1 row is beyond it. Look at it" in section("loo")
    assert "Here it does." in section("loo", khat=[0.1, 0.2], n_rows=2, influential=[])
    many = section("loo", khat=[0.9] * 50 + [0.1] * 50)
    assert "50 rows are beyond it: too many for the sum above to be trusted" in many


def test_refused_leave_one_out_says_why():
    words = section("loo", refused="the rows are none of the fit.")
    assert "Not done: the rows are none of the fit." in words
    assert "<svg" not in words


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(0.2, "That is narrow"), (2.0, "times as wide as the data"), (50.0, "That is wide")],
)
def test_prior_is_compared_with_the_data(ratio, words):
    assert words in section("prior_predictive", ratio=ratio)


@pytest.mark.parametrize(
    ("key", "change", "words"),
    [
        ("posterior_predictive", {"pit": {"counts": [1, 2]}}, "key 'low'"),
        (
            "posterior_predictive",
            {"pit": {"counts": [1, 2], "low": [0], "high": [3, 3]}},
            "one low and high per count",
        ),
        (
            "posterior_predictive",
            {"densities": {"grid": [0, 1], "observed": [1], "replicates": [[1, 1]]}},
            "one density per point of the grid",
        ),
        ("residuals", {"residual": [1.0]}, "residual must be 60 numbers"),
        ("residuals", {"prediction": []}, "non-empty flat list"),
        ("loo", {"khat": [None]}, "finite"),
        ("prior_predictive", {"interval": "x"}, "must be numbers"),
    ],
)
def test_what_is_no_record_of_checks_is_refused(key, change, words):
    with pytest.raises(InputError, match=words):
        section(key, **change)


def test_figures_of_checks_are_small():
    page = sum(len(section(key)) for key in NUMBERS)
    assert page < 250_000

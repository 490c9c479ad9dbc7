"""Rows explained in the page: bars on one scale, words of novelty, the nearest rows."""

import re

import pytest

from pmcnet.errors import InputError
from pmcnet.reports.page import render
from pmcnet.reports.row_explanations import explained
from reports import records


def page_of(*rows, task="regression"):
    return render(records.bare(task) | {"explained": list(rows)})


def test_bars_reach_from_zero_to_the_contribution_within_the_lane():
    row = records.explained_number(4)
    body = explained(records.bare("regression") | {"explained": [row]}).body
    amounts = re.findall(r'style="left:([\d.]+)%;width:([\d.]+)%" class="amount"', body)
    between = re.findall(r'style="left:([\d.]+)%;width:([\d.]+)%" class="between"', body)
    (zero,) = {float(place) for place in re.findall(r'style="left:([\d.]+)%" class="zero"', body)}
    lines = row["contributions"]
    assert len(amounts) == len(between) == len(lines)
    low = min(0, *(line["low95"] for line in lines))
    width = max(line["high95"] for line in lines) - low
    for line, (left, length), (start, _) in zip(lines, amounts, between, strict=True):
        ends = float(left), float(left) + float(length)
        side = ends if line["mean"] > 0 else ends[::-1]
        assert side[0] == pytest.approx(zero, abs=0.11)
        assert side[1] == pytest.approx(100 * (line["mean"] - low) / width, abs=0.11)
        assert float(start) == pytest.approx(100 * (line["low95"] - low) / width, abs=0.06)


def test_contributions_stand_between_the_average_and_the_row():
    page = page_of(records.explained_number(4))
    order = ["average of training rows", "a long name of a column", "this row"]
    places = [page.index(f">{words}<") for words in order]
    assert places == sorted(places)
    assert ">12.25<" in page


def test_novel_row_is_said_to_be_unlike_and_never_beyond_all():
    page = page_of(records.explained_number(4, novel=True))
    assert "Novelty more than 99.9 %, unlike the training rows" in page
    assert "Novelty 41 %, like the training rows" in page_of(records.explained_number(4))


def test_rows_after_the_first_are_folded():
    page = page_of(*(records.explained_number(row) for row in (3, 5, 7)))
    assert "<h4>Row 3: " in page
    assert page.count("<summary>Row ") == 2


def test_nearest_rows_without_values_say_their_update():
    page = page_of(records.explained_class(4, ["a", "b"]), task="binary")
    assert ">2 of update 1<" in page
    assert ">5<" in page


@pytest.mark.parametrize("missing", ["novelty", "nearest", "contributions"])
def test_row_is_shown_without_what_is_not_known(missing):
    row = records.explained_number(4) | {missing: None}
    assert "Row 4: 12.25 (95 %: 9.100 to 15.20), truth 13.50" in page_of(row)


def test_contributions_that_are_no_numbers_are_refused():
    row = records.explained_number(4)
    row["contributions"][0]["mean"] = "much"
    with pytest.raises(InputError, match="explained of this record cannot be read"):
        page_of(row)

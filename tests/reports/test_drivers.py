"""The sections that say what drives predictions."""

import re

import pytest

from pmcnet.errors import InputError
from pmcnet.reports import page
from reports import records

KEYS = ("importance", "effects", "interaction")


def rendered(task, **changed):
    names = {"classes": ["low", "mid", "high"]} if task == "multiclass" else {}
    return page.render(records.bare() | names | {"task": task} | records.drivers(task) | changed)


def section(html, key):
    return re.search(rf'<section id="{key}">.*?</section>', html, re.DOTALL)[0]


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_page_has_its_sections_in_order(task):
    found = re.findall(r'<section id="(\w+)"', rendered(task))
    assert tuple(key for key in found if key in KEYS) == KEYS


def test_page_without_their_data_has_none_of_them():
    assert not set(KEYS) & set(re.findall(r'<section id="(\w+)"', page.render(records.bare())))


def test_every_drawing_says_what_it_shows():
    html = rendered("regression")
    words = re.findall(r'<svg[^>]*aria-label="([^"]*)"', section(html, "effects"))
    assert len(words) == 3
    assert words[1].startswith("town: average prediction from ")
    assert "at 20" in words[2]  # the day of a date
    assert "Most is lost without size: 1.300 nats per row" in section(html, "importance")


def test_columns_that_are_not_drawn_are_named():
    assert "a column of a very long name" in section(rendered("regression"), "effects")


def test_classes_have_a_line_each_in_the_legend():
    part = section(rendered("multiclass"), "effects")
    legend = re.search(r'<ul class="legend">.*?</ul>', part)[0]
    assert [name in legend for name in ("low", "mid", "high")] == [True] * 3
    assert "dashed line" not in part  # there is no accumulated effect of classes


def test_shapley_and_relevance_stand_in_the_table():
    part = section(rendered("regression"), "importance")
    assert "Shapley size" in part
    assert "relevance" in part
    assert "1 more column is worth less" in part


def test_drawings_are_small():
    html = rendered("regression")
    assert sum(len(section(html, key)) for key in KEYS) < 60_000


def test_bands_of_another_length_are_refused():
    broken = records.drivers()["effects"]
    broken["columns"][0]["outputs"][0]["partial"]["low95"] = [0.0]
    with pytest.raises(InputError):
        rendered("regression", effects=broken)

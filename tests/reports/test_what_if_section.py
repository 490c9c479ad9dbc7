"""The section without a browser: what it says, and that names stay names."""

import json
import re
from importlib.resources import files

import pytest

from pmcnet.errors import InputError
from pmcnet.reports.page import render
from pmcnet.reports.scripts import script
from reports import records


def test_section_says_why_it_is_left_out_and_has_no_script():
    page = render(records.bare() | {"what_if": {"left_out": "This part is left out: <why>."}})
    assert "This part is left out: &lt;why&gt;." in page
    assert "<script" not in page


def test_section_says_what_it_needs_where_scripts_are_off():
    page = render(records.what_if())
    assert re.search(r"<noscript><p>[^<]*JavaScript[^<]*</p></noscript>", page)
    assert re.search(r'<div id="what_if_page" class="ask" hidden="hidden">', page)


def test_section_says_how_many_networks_and_how_far_they_are_from_all():
    page = render(records.what_if())
    assert "The average of 40 networks drawn from the 2,000 of the posterior" in page
    assert "differs by at most 0.120 from the average of all" in page
    assert "Counts are those of exposure 1." in page


@pytest.mark.parametrize("name", ["</script>", "<!--<script>", "a & b", "\u2028", "\ud800", "日本"])
def test_embedded_json_holds_any_name_and_no_markup(name):
    block = script("what_if", {name: [name]}).partition("</script>")[0]
    text = block.partition(">")[2]
    assert json.loads(text) == {name: [name]}
    assert text.isascii()
    assert "<" not in text


def test_script_has_nothing_that_runs_strings_or_asks_for_anything():
    text = files("pmcnet.reports").joinpath("files", "what_if.js").read_text(encoding="utf-8")
    words = ("eval(", "innerHTML", "Function(", "fetch(", "XMLHttp", "import(", "document.write")
    assert not [word for word in words if word in text]
    assert "</script" not in text
    assert "<!--" not in text


def test_section_of_a_record_without_networks_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="what_if of this record cannot be read"):
        render(records.bare() | {"what_if": {"columns": []}})

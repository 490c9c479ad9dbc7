import io

import pytest
from rich.console import Console

from pmcnet.errors import InputError
from pmcnet.reports import published_tables

AUC = {"mean": 0.9231, "std": 0.0283, "spread": 0.0041, "paper": [0.9112, 0.0305]}
ACCURACY = {"mean": 0.8765, "std": 0.0123, "spread": 0.0077, "paper": [0.8650, 0.0214]}
BARE = {"mean": 0.7001, "std": None, "spread": None, "paper": None}
TABLE = {
    "title": "Ionosphere",
    "columns": ["auc", "accuracy"],
    "rows": [
        {"label": "PMCnet", "cells": {"auc": AUC, "accuracy": ACCURACY}, "note": "10 seeds"},
        {"label": "Adam", "cells": {"auc": BARE, "accuracy": None}, "note": ""},
    ],
    "caption": "1000 draws.",
}


def terminal(table):
    console = Console(file=io.StringIO(), width=200)
    console.print(published_tables.rich_table(table))
    return console.file.getvalue()


WAYS = {"plain": published_tables.plain, "markdown": published_tables.markdown, "rich": terminal}


def with_cell(**change):
    return TABLE | {"rows": [{"label": "x", "cells": {"auc": AUC | change}}]}


@pytest.mark.parametrize("way", WAYS)
def test_table_shows_everything_asked_for(way):
    text = WAYS[way](TABLE)
    for words in [
        "Ionosphere",
        "mean (std over draws) ± spread over seeds",
        "PMCnet",
        "0.9231 (0.0283) ± 0.0041",
        "paper 0.9112 (0.0305)",
        "0.8765 (0.0123) ± 0.0077",
        "paper 0.8650 (0.0214)",
        "10 seeds",
        "1000 draws.",
    ]:
        assert words in text, words


@pytest.mark.parametrize("way", WAYS)
def test_table_shows_none_as_a_dash(way):
    text = WAYS[way](TABLE)
    assert "0.7001 (-) ± -" in text
    assert "paper -" in text
    assert "None" not in text


def test_markdown_has_a_column_per_metric_and_label_and_note():
    lines = [line for line in published_tables.markdown(TABLE).splitlines() if line.startswith("|")]
    assert len(lines) == 4
    assert {line.count("|") for line in lines} == {5}
    assert lines[-1].split("|")[3].strip() == "-"


def test_markdown_without_notes_has_no_note_column():
    lines = [
        line for line in published_tables.markdown(with_cell()).splitlines() if line.startswith("|")
    ]
    assert {line.count("|") for line in lines} == {4}


def test_markdown_escapes_bars():
    table = TABLE | {"rows": [{"label": "a|b", "cells": {}}]}
    assert "a\\|b" in published_tables.markdown(table)


def test_plain_columns_line_up():
    lines = published_tables.plain(TABLE).splitlines()
    header = next(line for line in lines if "accuracy" in line)
    ours = next(line for line in lines if line.startswith("PMCnet"))
    paper = lines[lines.index(ours) + 1]
    assert header.index("accuracy") == ours.index("0.8765") == paper.index("paper 0.8650")


def test_rich_table_does_not_read_markup():
    assert "[red]x" in terminal(TABLE | {"rows": [{"label": "[red]x", "cells": {}}]})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0.0000"),
        (0.5, "0.5000"),
        (-12.34567, "-12.3457"),
        (1234.56, "1234.6"),
        (1.2e-6, "1.2e-06"),
        (1.6158e-4, "1.6e-04"),
        (-9.4e-4, "-9.4e-04"),
        (0.001, "0.0010"),
        (1.6533e-3, "0.0017"),
    ],
)
def test_number_is_short_at_every_size(value, text):
    assert published_tables.number(value) == text


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (0.9336, 0.0009, "0.9336 (0.0009)"),
        (0.9999, 2e-5, "0.9999 (2.0e-05)"),
        (0.9914, 0.0, "0.9914 (0.0000)"),
        (9.9032e-6, 2.8271e-6, "9.9e-06 (2.8e-06)"),
        (2.5171e-5, 0.0, "2.5e-05 (0.0000)"),
        (1.6158e-4, 3e-4, "1.6e-04 (3.0e-04)"),
        (5.5056e-3, 0.0242, "0.0055 (0.0242)"),
    ],
)
def test_spread_has_the_decimals_of_its_mean(mean, std, text):
    shown = published_tables.plain(with_cell(mean=mean, std=std, spread=std, paper=[mean, std]))
    assert shown.count(text) == 2  # ours and the paper's


@pytest.mark.parametrize("way", WAYS)
def test_table_refuses_nan(way):
    with pytest.raises(InputError, match="must not be NaN"):
        WAYS[way](with_cell(mean=float("nan")))


@pytest.mark.parametrize("way", WAYS)
def test_table_without_rows_is_a_header(way):
    assert "accuracy" in WAYS[way](TABLE | {"rows": []})


def test_table_refuses_missing_keys_and_unknown_cells():
    with pytest.raises(InputError, match="key 'columns'"):
        published_tables.plain({"title": "t", "rows": []})
    with pytest.raises(InputError, match="no column"):
        published_tables.plain(TABLE | {"columns": ["auc"]})


def test_table_leaves_out_an_absent_caption():
    assert published_tables.plain(TABLE | {"caption": None}).rstrip().endswith("---")


@pytest.mark.parametrize("way", WAYS)
def test_cells_with_nothing_but_a_mean_show_that_alone(way):
    rows = [{"label": "chains", "cells": {"nll": {"mean": 0.0351}}, "note": ""}]
    shown = WAYS[way]({"title": "t", "columns": ["nll"], "rows": rows})
    assert "0.0351" in shown
    for absent in ("paper", "±", "(", "spread"):
        assert absent not in shown

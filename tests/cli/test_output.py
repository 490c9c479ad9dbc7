"""What commands print."""

import pytest

from pmcnet.cli.output import number, print_metrics, print_table

ROWS = [["[red]nll[/red]", "0.1"], ["accuracy", "0.98"]]


def test_table_on_a_terminal_is_drawn_and_its_texts_are_no_markup(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    print_table(["metric", "value"], ROWS, "3 test rows")
    told = capsys.readouterr().out
    assert "3 test rows" in told
    assert "\N{BOX DRAWINGS LIGHT VERTICAL}" in told
    assert "[red]nll[/red]" in told


def test_table_elsewhere_is_text_in_columns(monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    print_table(["metric", "value"], ROWS, "3 test rows")
    assert capsys.readouterr().out.splitlines() == [
        "3 test rows",
        "metric          value",
        "[red]nll[/red]  0.1",
        "accuracy        0.98",
    ]


def test_metrics_without_test_rows_say_so(capsys):
    print_metrics({"bma": {}, "per_draw": {}, "n_test": 0})
    assert capsys.readouterr().out == "no rows were kept for testing.\n"


def test_metric_that_single_draws_do_not_have_is_a_dash(capsys):
    print_metrics({"bma": {"crps": 0.25, "nll": None}, "per_draw": {}, "n_test": 4})
    *_, crps, nll = capsys.readouterr().out.splitlines()
    assert crps.split() == ["crps", "0.25", "-", "-"]
    assert nll.split() == ["nll", "-", "-", "-"]


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.123456, "0.1235"), (1e-9, "1e-09"), (12345.6, "1.235e+04")]
)
def test_numbers_have_four_digits(value, text):
    assert number(value) == text

"""What commands print: verdicts and tables for people, JSON for machines."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

_COLOURS = {"trustworthy": "green", "doubtful": "yellow", "degenerate": "red"}


def print_json(record: Any) -> None:
    """JSON on standard output."""
    click.echo(json.dumps(record, indent=1, allow_nan=False))


def print_verdict(diagnostics: Mapping[str, Any]) -> None:
    """The verdict with its reason."""
    status = diagnostics["verdict"]
    click.echo(
        f"verdict: {click.style(status, fg=_COLOURS.get(status), bold=True)}: "
        f"{diagnostics['reason']}"
    )


def print_advice(steps: Sequence[str]) -> None:
    """What to do, the first step first."""
    for step in steps:
        click.echo(f"- {step}")


def print_metrics(metrics: Mapping[str, Any]) -> None:
    """Metrics of the averaged prediction beside those of single draws."""
    if not metrics["bma"]:
        click.echo("no rows were kept for testing.")
        return
    rows = []
    for name, value in metrics["bma"].items():
        draw = metrics["per_draw"].get(name)
        interval = (
            f"{number(draw['interval95'][0])} to {number(draw['interval95'][1])}" if draw else "-"
        )
        rows.append([name, number(value), number(draw["mean"]) if draw else "-", interval])
    print_table(
        ["metric", "averaged prediction", "one draw", "95 % of draws"],
        rows,
        f"{metrics['n_test']} test rows",
    )
    if base := metrics.get("base_rate"):
        name, share = base["class"], base["accuracy"]
        click.echo(f"always saying {name!r} would be right in {share:.1%} of these rows.")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> None:
    """A table: drawn on a terminal, fixed-width text elsewhere."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if console.is_terminal:
        table = Table(title=title, title_justify="left")
        for i, name in enumerate(header):
            table.add_column(name, justify="left" if i == 0 else "right")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        console.print(table)
        return
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    click.echo(title)
    for row in [header, *rows]:
        click.echo(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def number(value: float | None) -> str:
    """Four significant digits, "-" where there is no number."""
    return "-" if value is None else f"{value:.4g}"

"""`pmcnet explain RUN DATA --row 17`: why a row is predicted so, and whether to trust that."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pmcnet.cli.read_options import opened, reading_options


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--row", type=int, multiple=True, help="A row of DATA, from 1; repeatable.")
@click.option("--rows", default="", help="Several of them, e.g. 3,17,20-25.")
@click.option(
    "--passes",
    "n_networks",
    type=click.IntRange(min=2),
    default=100,
    show_default=True,
    help="Networks behind contributions and their intervals.",
)
@click.option("--device", default="auto", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Write JSON there instead of printing."
)
@reading_options
def explain(
    run: Path,
    data: str,
    row: tuple[int, ...],
    rows: str,
    n_networks: int,
    device: str,
    as_json: bool,
    out: Path | None,
    **reading: Any,
) -> None:
    """Explain rows of DATA by the model of RUN.

    For each row: the prediction with its interval; what each column contributes to it (Shapley
    values, with the interval of 95 % of the networks); how unlike the training rows it is; and the
    training rows that are nearest.
    """
    from pmcnet.cli.output import print_json
    from pmcnet.cli.run_model import load_model
    from pmcnet.runs.explain import explain_run, write_explained

    wanted = [*row, *_row_numbers(rows)]
    model, table = load_model(run, device), opened(data, reading)
    found = explain_run(model, run, table, wanted, n_networks=n_networks)
    if out is not None:
        write_explained(found, out)
        click.echo(f"explained {len(found['rows'])} rows: {out}", err=True)
        return
    if as_json:
        print_json(found)
        return
    for remark in found["remarks"]:
        click.echo(remark, err=True)
    for record in found["rows"]:
        _print_row(record, found)


def _row_numbers(text: str) -> list[int]:
    """The rows of "3,17,20-25"."""
    from pmcnet.errors import InputError
    from pmcnet.runs.explain import MOST_ROWS

    found: list[int] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = part.partition("-")
        ends = [first, last] if dash else [first, first]
        if not all(end.isascii() and end.strip().isdecimal() and len(end) < 16 for end in ends):
            raise InputError(f"--rows must be row numbers like 3,17,20-25; got {part!r:.60}.")
        low, high = map(int, ends)
        if low > high:
            raise InputError(f"--rows has {part!r:.60}, whose ends are in the wrong order.")
        found += range(low, min(high, low + MOST_ROWS) + 1)
    return found


def _print_row(record: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """One row as a person reads it."""
    name = f"row {record['row']} of {found['data']}"
    click.echo(click.style(name, bold=True))
    click.echo(_prediction(record, found))
    if record["novelty"] is not None:
        click.echo(_novelty(record["novelty"]))
    _print_distribution(record)
    _print_contributions(record)
    _print_nearest(record)
    click.echo("")


def _prediction(record: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """The prediction, and the truth where the table has it."""
    from pmcnet.cli.output import number

    target = found["target"] or "prediction"
    if "interval" in record:
        low, high = map(number, record["interval"])
        words = f"{number(record['prediction'])}, and between {low} and {high} with probability "
        words += f"{100 * record['coverage']:g} %"
    else:
        best = max(record["classes"], key=lambda one: one["probability"])
        words = f"{record['prediction']} with probability {number(best['probability'])}"
    truth = "" if record.get("truth") is None else f"; the table has {_cell(record['truth'])}"
    return f"{target}: {words}{truth}"


def _novelty(found: Mapping[str, Any]) -> str:
    """How unlike the training rows a row is, in a sentence."""
    sign = click.style("unlike the training rows", fg="yellow", bold=True)
    verdict = sign if found["is_novel"] else "like the training rows"
    return (
        f"novelty: {_share(found['percentile'])}, {verdict}; farther from the training data than "
        f"{_share(found['farther_than'])} of the training rows, and networks disagree more than on "
        f"{_share(found['less_known_than'])} of them"
    )


def _share(value: float) -> str:
    """A share that is never rounded to all."""
    return "more than 99.9 %" if value > 0.999 else f"{100 * value:.1f} %"


def _print_distribution(record: Mapping[str, Any]) -> None:
    """Quantiles of a number, or probabilities of classes with their intervals."""
    from pmcnet.cli.output import number, print_table

    if "quantiles" in record:
        header = [f"{100 * one['level']:g} %" for one in record["quantiles"]]
        values = [number(one["value"]) for one in record["quantiles"]]
        print_table(header, [values], "predictive distribution")
        return
    rows = [[one["class"], number(one["probability"]), _interval(one)] for one in record["classes"]]
    print_table(["class", "probability", "95 % of networks"], rows, "predictive distribution")


def _print_contributions(record: Mapping[str, Any]) -> None:
    """What each column adds, from the average to the prediction."""
    from pmcnet.cli.output import number, print_table

    if "contributions" not in record:
        return
    rows = [["average of training rows", "", number(record["base"]), ""]]
    rows += [
        [
            str(one["column"]),
            _cell(one["value"]) if "value" in one else "",
            f"{one['mean']:+.4g}",
            _interval(one),
        ]
        for one in record["contributions"]
    ]
    rows.append(["this row", "", number(record["explained"]), ""])
    of = f"probability of {record['of']}" if record["of"] else "prediction"
    title = f"contributions to the {of}, by {record['n_networks']} networks"
    print_table(["column", "value", "contribution", "95 % of networks"], rows, title)
    if not record["exact"]:
        error = max(one.get("error", 0.0) for one in record["contributions"])
        click.echo(f"(sampled: Monte Carlo error at most {number(error)})")


def _print_nearest(record: Mapping[str, Any]) -> None:
    """The nearest training rows, with their cells where they are known."""
    from pmcnet.cli.output import number, print_table

    if not record["nearest"]:
        return
    names = list(record["nearest"][0].get("values", {}))[:6]
    header = ["row", "distance", *(["target", *names] if names else [])]
    rows = [
        [
            str(one["row"]) + (f" of update {one['update']}" if one.get("update") else ""),
            number(one["distance"]),
            *([_cell(one["target"])] if names else []),
            *(_cell(one["values"][name]) for name in names),
        ]
        for one in record["nearest"]
    ]
    print_table(header, rows, "nearest training rows, in standardised inputs")


def _interval(found: Mapping[str, Any]) -> str:
    from pmcnet.cli.output import number

    return f"{number(found['low95'])} to {number(found['high95'])}"


def _cell(value: Any) -> str:
    """A cell of a table, cut where it is long."""
    if value is None:
        return "-"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 30 else f"{text[:29]}…"

"""`pmcnet datasets`: tables and images that are known by name."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pmcnet.data import Entry


@click.command()
@click.option(
    "--fetch",
    "fetched",
    metavar="NAME",
    help="Fetch the official files of NAME into the data folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def datasets(fetched: str | None, as_json: bool) -> None:
    """Names, sizes, where each comes from, and whether it is at hand.

    Tables come with the package or lie in the data folder, images lie there always: $PMCNET_DATA,
    else ~/.cache/pmcnet.
    """
    from pmcnet import data
    from pmcnet.cli.output import print_json, print_table

    if fetched is not None:
        for path in data.fetch(fetched, say=_say):
            click.echo(path)
        return
    found = data.catalogue()
    if as_json:
        print_json(found)
        return
    rows = [
        [
            entry["name"],
            _size(entry),
            f"{entry['classes']} classes" if entry["classes"] else entry["task"],
            "yes" if entry["at_hand"] else "no",
            entry["source"],
        ]
        for entry in found
    ]
    print_table(
        ["name", "size", "task", "at hand", "source"],
        rows,
        "datasets: pmcnet fit NAME takes tables",
    )


def _size(entry: "Entry") -> str:
    each = " x ".join(map(str, entry["shape"]))
    if entry["kind"] == "table":
        return f"{entry['rows']} x {each}"
    return f"{entry['rows'] - entry['test_rows']} + {entry['test_rows']} x {each}"


def _say(line: str) -> None:
    click.echo(line, err=True)

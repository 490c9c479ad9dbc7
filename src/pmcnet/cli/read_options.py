"""The options that say how a table is read, for every command that reads one."""

from dataclasses import fields
from typing import Any

import click


def reading_options(command: Any) -> Any:
    """The fields of `ReadOptions`."""
    options = [
        click.option(
            "--delimiter", help="Between the fields of text: , ; | tab or another. Default: found."
        ),
        click.option(
            "--decimal",
            help="The mark before the decimals of numbers in text, . or a comma. Default: found.",
        ),
        click.option(
            "--encoding",
            help="Of text, e.g. latin-1. Default: UTF-8, or UTF-16 with a byte order mark.",
        ),
        click.option("--sheet", help="Of a workbook, by name or number. Default: the first."),
        click.option("--sql", help="A SELECT statement, where DATA is the URL of a database."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def opened(data: str, given: dict[str, Any]) -> Any:
    """The table of a command; its reading options are taken out of those given."""
    from pmcnet.data import ReadOptions, open_table

    asked = {item.name: given.pop(item.name) or "" for item in fields(ReadOptions)}
    return open_table(data, ReadOptions(**asked))

"""`pmcnet compare DATA`: several methods on the same rows."""

from pathlib import Path
from typing import Any

import click

from pmcnet.cli.fit import model_options

TITLE = (
    "averaged predictions on the same test rows (one draw: mean, std); "
    "* the best, or not significantly worse"
)


@click.command()
@click.argument("data")
@click.option(
    "--methods",
    default="annealed,pmcnet,pmcnet-light",
    show_default=True,
    help="Names with commas, or all.",
)
@click.option(
    "--tune",
    type=click.Choice(["validation", "none"]),
    default="validation",
    show_default=True,
    help="Baselines are fitted with the best of six choices of settings on a fifth of the "
    "training rows, or with their defaults.",
)
@model_options
@click.option(
    "--out", type=click.Path(path_type=Path), help="The folder to make. Default: runs/NAME-compare."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(
    data: str, methods: str, tune: Any, out: Path | None, as_json: bool, **given: Any
) -> None:
    """Fit several methods to the same training rows of DATA and score them on the same test rows.

    The methods are those of fit, and laplace and nuts where their libraries are installed.
    """
    from pmcnet.cli.fit import plain_settings, run_name
    from pmcnet.reports.progress import FitProgress
    from pmcnet.runs.compare import compare_runs, method_names
    from pmcnet.runs.config import RunSettings
    from pmcnet.runs.folder import RunFolder

    names = method_names(methods)
    settings = RunSettings.of(plain_settings(given | {"data": data}))
    where = out or RunFolder.free(Path("runs"), f"{run_name(data)}-compare")
    with FitProgress() as shown:
        compared = compare_runs(settings, names, where, shown=shown, tune=tune)
    show_comparison(compared, as_json)


def show_comparison(compared: Any, as_json: bool) -> None:
    """One row per method."""
    from pmcnet.cli.output import number, print_json, print_table

    if as_json:
        print_json(compared.entries)
        return
    metrics = list(compared.entries[0]["metrics"])
    rows = [
        [
            entry["method"],
            entry["verdict"],
            *(_cell(entry, name) for name in metrics),
            number(entry["ess"]),
            number(entry["seconds"]),
            number(entry["tuning_seconds"]),
            number(entry.get("milliseconds_per_row")),
        ]
        for entry in compared.entries
    ]
    print_table(
        ["method", "verdict", *metrics, "ESS", "fit s", "tuning s", "ms per row"], rows, TITLE
    )
    for entry in compared.entries:
        click.echo(_chosen(entry))
    click.echo(f"report: {compared.report}")


def _chosen(entry: dict[str, Any]) -> str:
    """The settings of a method and how they were chosen."""
    from pmcnet.runs.settings_search import described

    n_trials = len(entry["trials"])
    how = f"the best of {n_trials} by {entry['chosen_by']}" if n_trials else "as given"
    return f"{entry['method']}: {described(entry['chosen']) or 'its defaults'} ({how})"


def _cell(entry: dict[str, Any], name: str) -> str:
    from pmcnet.cli.output import number

    mark = "*" if name in entry.get("best", ()) else ""
    draw = entry.get("per_draw", {}).get(name)
    text = f"{number(entry['metrics'].get(name))}{mark}"
    return f"{text} ({number(draw['mean'])}, {number(draw['std'])})" if draw else text

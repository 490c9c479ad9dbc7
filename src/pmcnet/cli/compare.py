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
    help="Names with commas, of pmcnet's methods and of other libraries; all; or quick.",
)
@click.option(
    "--limit",
    help="What fit and prediction by another library may take, e.g. 30s, 5min. Default: 10min; "
    "with --methods quick 20s.",
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
    data: str,
    methods: str,
    limit: str | None,
    tune: Any,
    out: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Fit several methods to the same training rows of DATA and score them on the same test rows.

    The methods are those of fit, and laplace and nuts where their libraries are installed. Beside
    them stand models of other libraries: linear, random-forest, hist-boosting, mlp-ensemble and
    gaussian-process of scikit-learn, and lightgbm, catboost, ngboost, bde, conformal-linear,
    conformal-forest and conformal-boosting where they are installed. "all" is everything that is
    there; "quick" is pmcnet with a budget of 60s and every other library with a limit. The last
    line says which to use, and why.
    """
    from pmcnet.cli.fit import number_or_text, plain_settings, run_name
    from pmcnet.reports.progress import FitProgress
    from pmcnet.runs.compare import compare_runs
    from pmcnet.runs.compared_names import method_names, spending
    from pmcnet.runs.config import RunSettings
    from pmcnet.runs.folder import RunFolder

    names = method_names(methods)
    spent = spending(methods, given["budget"], None if limit is None else number_or_text(limit))
    settings = RunSettings.of(plain_settings(given | {"data": data, "budget": spent.budget}))
    where = out or RunFolder.free(Path("runs"), f"{run_name(data)}-compare")
    remarks = [text for text in (names.remark, spent.remark(names)) if text]
    with FitProgress() as shown:
        compared = compare_runs(
            settings,
            [*names.ours, *names.competitors],
            where,
            shown=shown,
            tune=tune,
            limit=spent.limit,
            remarks=remarks,
        )
    show_comparison(compared, as_json)


def show_comparison(compared: Any, as_json: bool) -> None:
    """One row per method."""
    from pmcnet.cli.output import number, print_json, print_table

    if as_json:
        print_json(compared.entries)
        return
    there = [entry for entry in compared.entries if not entry.get("failed")]
    metrics = list(dict.fromkeys(name for entry in there for name in entry["metrics"]))
    rows = [
        [
            entry["method"],
            entry["verdict"] or "-",
            *(_cell(entry, name) for name in metrics),
            number(entry["ess"]),
            number(entry["seconds"]),
            number(entry["tuning_seconds"]),
            number(entry.get("milliseconds_per_row")),
            number(entry.get("peak_mib")),
        ]
        for entry in there
    ]
    costs = ["ESS", "fit s", "tuning s", "ms per row", "peak MiB"]
    print_table(["method", "verdict", *metrics, *costs], rows, TITLE)
    for entry in compared.entries:
        click.echo(_described(entry))
    click.echo(f"report: {compared.report}")
    if compared.recommendation:
        click.echo(compared.recommendation)


def _described(entry: dict[str, Any]) -> str:
    """What was compared, or why it was not."""
    if entry.get("failed"):
        return f"{entry['method']}: not compared, {entry['failed']}"
    if entry.get("library"):
        note = f" ({entry['note']})" if entry["note"] else ""
        return f"{entry['method']}: {entry['library']}{note}"
    return _chosen(entry)


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

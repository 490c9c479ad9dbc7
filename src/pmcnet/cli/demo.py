"""`pmcnet demo`: the main job on a built-in dataset."""

from pathlib import Path

import click


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), help="The folder to make. Default: runs/demo."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def demo(out: Path | None, seed: int) -> None:
    """Fit the Ionosphere data with the annealed method and with the paper's PMCnet, side by side.

    Radar returns are good or bad: 351 rows, 33 numbers each, a network with 5 hidden units as in
    the paper. Takes about a minute on two cores, and writes a report.
    """
    from pmcnet.cli.compare import show_comparison
    from pmcnet.reports.progress import FitProgress
    from pmcnet.runs.compare import compare_runs
    from pmcnet.runs.config import RunSettings
    from pmcnet.runs.folder import RunFolder

    settings = RunSettings(data="ionosphere", hidden=(5,), seed=seed)
    with FitProgress() as shown:
        compared = compare_runs(
            settings,
            ["annealed", "pmcnet"],
            out or RunFolder.free(Path("runs"), "demo"),
            shown=shown,
        )
    show_comparison(compared, as_json=False)
    click.echo(
        "Open the report in a browser. The verdict says which of the two can be trusted, and why."
    )

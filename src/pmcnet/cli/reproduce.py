"""`pmcnet reproduce NAME`: a table and the figures of the paper, ours beside theirs."""

from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="Say what can be reproduced.")
@click.option("--quick", is_flag=True, help="Tiny sizes that finish in seconds; the numbers mean nothing.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path("out/reproduce"), show_default=True
)
@click.option("--device", default="cpu", show_default=True, help="Where to run: cpu, cuda, cuda:1, ...")
@click.option("--seeds", "n_seeds", type=click.IntRange(min=1), help="How many seeds to average over.")
def reproduce(name: str | None, listing: bool, quick: bool, out: Path, device: str, n_seeds: int | None) -> None:
    """Reproduce one of the paper's tables with its figures.

    Prints ours beside the paper's, and writes OUT/NAME.json with everything and OUT/NAME-*.png with the figures.
    """
    from pmcnet import experiments

    if listing or name is None:
        for key, experiment in experiments.EXPERIMENTS.items():
            click.echo(f"{key:18} {experiment.description}")
        return
    record = experiments.reproduce(name, quick=quick, device=device, n_seeds=n_seeds, say=_say)
    files = _write(record, name, out)
    _show(record)
    for file in files:
        click.echo(f"wrote {file}")


def _say(line: str) -> None:
    click.echo(line, err=True)


def _show(record: dict[str, Any]) -> None:
    from rich.console import Console

    from pmcnet.reports import tables

    console = Console()
    if console.is_terminal:
        console.print(tables.rich_table(record["table"]))
    else:
        click.echo(tables.plain(record["table"]))


def _write(record: dict[str, Any], name: str, out: Path) -> list[Path]:
    import json

    from pmcnet.reports import figures

    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.json"
    path.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
    drawn, title, classes = record["figures"], record["table"]["title"], record.get("classes", ["0", "1"])
    files = [path]
    if len(drawn["roc"]) == 1:
        (curves,) = drawn["roc"].values()
        files.append(figures.roc(curves, out / f"{name}-roc.png", title, classes))
    else:
        files.append(figures.roc_grid(drawn["roc"], out / f"{name}-roc.png", title))
    if "by_step" in drawn:
        files.append(figures.metric_by_step(drawn["by_step"], out / f"{name}-steps.png", title))
    if "histograms" in drawn:
        heading = f"{title}: predicted probability of the true class"
        files.append(figures.histograms(drawn["histograms"], out / f"{name}-histograms.png", heading, classes))
    if "confusion" in drawn:
        files.append(figures.confusion(drawn["confusion"], out / f"{name}-confusion.png", title, classes))
    return files

"""`pmcnet reproduce NAME`: a table and the figures of the paper, ours beside theirs."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="Say what can be reproduced.")
@click.option(
    "--quick",
    is_flag=True,
    help="Tiny sizes that finish in seconds or minutes; the numbers mean nothing.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/reproduce"),
    show_default=True,
)
@click.option(
    "--device", default="cpu", show_default=True, help="Where to run: cpu, cuda, cuda:1, ..."
)
@click.option(
    "--seeds", "n_seeds", type=click.IntRange(min=1), help="How many seeds to average over."
)
@click.option(
    "--fresh", is_flag=True, help="Delete the checkpoints of this experiment first and begin anew."
)
def reproduce(
    name: str | None,
    listing: bool,
    quick: bool,
    out: Path,
    device: str,
    n_seeds: int | None,
    fresh: bool,
) -> None:
    """Reproduce one of the paper's tables with its figures.

    Prints ours beside the paper's, and writes OUT/NAME.json with everything and the figures, whose
    names begin with NAME too. The large experiments keep checkpoints in OUT/checkpoints: one that
    was interrupted goes on when the command is repeated.
    """
    from pmcnet import paper
    from pmcnet.paper.result_files import write_results

    if name is None and not listing and (quick or fresh or n_seeds is not None):
        raise click.UsageError("say which: NAME is missing; --list shows what there is.")
    if listing or name is None:
        for key, experiment in paper.EXPERIMENTS.items():
            click.echo(f"{key:18} {experiment.description}")
        return
    options: dict[str, Any] = {"quick": quick, "device": device, "n_seeds": n_seeds, "say": _say}
    folder = out / "checkpoints" / "quick" if quick else out / "checkpoints"
    paper.device_of(device)
    if paper.named(name).keeps_checkpoints:
        record = _resumable(name, folder, fresh, options)
    else:
        record = paper.reproduce(name, **options)
    files = write_results(record, name, out)
    _show(record)
    for file in files:
        click.echo(f"wrote {file}")


def _resumable(name: str, folder: Path, fresh: bool, options: dict[str, Any]) -> dict[str, Any]:
    """Run a large experiment from where it was, or from the beginning."""
    from pmcnet import paper
    from pmcnet.errors import RunInterrupted
    from pmcnet.paper.stages import stage_files

    with _held(name, folder):
        files = stage_files(folder, name)
        if fresh:
            for file in files:
                file.unlink()
        elif files:
            _say(f"{name}: going on from {folder}; --fresh begins anew.")
        try:
            return paper.reproduce(name, folder=folder, **options)
        except KeyboardInterrupt:
            if not stage_files(folder, name):
                raise
            raise RunInterrupted(f"interrupted. The same command goes on from {folder}.") from None


def _held(name: str, folder: Path) -> AbstractContextManager[None]:
    """Hold the run's checkpoints: two processes that went on with it would spoil it."""
    from pmcnet.runs.lock import locked

    folder.mkdir(parents=True, exist_ok=True)
    return locked(folder, f".{name}.lock")


def _say(line: str) -> None:
    click.echo(line, err=True)


def _show(record: dict[str, Any]) -> None:
    from rich.console import Console

    from pmcnet.reports import published_tables

    console = Console()
    if console.is_terminal:
        console.print(published_tables.rich_table(record["table"]))
    else:
        click.echo(published_tables.plain(record["table"]))
    if "timing" in record:
        _show_timing(record["timing"], record["settings"]["device"])


def _show_timing(timing: list[dict[str, Any]], device: str) -> None:
    """Seconds of fitting and milliseconds of predicting, beside the paper's where it gives them."""
    from pmcnet.cli.output import number, print_table

    header = ["method", "fit s", "ms per test row"]
    rows = [
        [row["method"], number(row["fit_seconds"]), number(row["milliseconds_per_row"])]
        for row in timing
    ]
    title = f"time on {device}"
    if any(row["paper"] for row in timing):
        header += ["paper fit s", "paper ms per test row"]
        title += "; the paper's on a Tesla V100"
        for shown, row in zip(rows, timing, strict=True):
            shown += [number(value) for value in row["paper"] or (None, None)]
    print_table(header, rows, title)

"""`pmcnet reproduce NAME`: a table and the figures of the paper, ours beside theirs."""

from contextlib import AbstractContextManager, nullcontext
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
    "--budget", help="Of the experiments with chains: time in all, e.g. 10min; earlier calls count."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 999),
    help="Of the experiments with chains; 0 where it is left out.",
)
@click.option(
    "--chains", "n_chains", type=click.IntRange(min=1), help="How many such an experiment has."
)
@click.option(
    "--start",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Chains alone, from the networks of an earlier run: its NAME-networks.safetensors.",
)
@click.option(
    "--only",
    type=click.Choice(["chains", "ensemble", "others"]),
    multiple=True,
    help="A part of such an experiment, each with --only; a later call without it adds the rest.",
)
@click.option(
    "--join",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    multiple=True,
    help="Run nothing, put runs or parts of an experiment with chains together: their OUT, each with --join.",
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
    budget: str | None,
    seed: int | None,
    n_chains: int | None,
    start: Path | None,
    only: tuple[str, ...],
    join: tuple[Path, ...],
    fresh: bool,
) -> None:
    """Reproduce one of the paper's tables with its figures.

    Prints ours beside the paper's, and writes OUT/NAME.json with everything and OUT/NAME-*.png with
    the figures. The large experiments keep checkpoints in OUT/checkpoints: one that was interrupted
    goes on when the command is repeated.
    """
    from pmcnet import paper
    from pmcnet.cli.fit import number_or_text
    from pmcnet.errors import RunInterrupted
    from pmcnet.estimators.plan import seconds_of

    options: dict[str, Any] = {
        "--seeds": n_seeds,
        "--budget": budget,
        "--seed": seed,
        "--chains": n_chains,
        "--start": start,
    }
    options |= {"--only": only or None, "--fresh": fresh or None}
    given = [option for option, value in options.items() if value is not None]
    if name is None and not listing and (given or join or quick):
        raise click.UsageError("say which: NAME is missing; --list tells what there is.")
    if listing or name is None:
        for key, experiment in paper.EXPERIMENTS.items():
            click.echo(f"{key:18} {experiment.description}")
        return
    folder = out / "checkpoints" / "quick" if quick else out / "checkpoints"
    if join:
        _check_join(given, join, out)
        kept = [each / folder.relative_to(out) for each in join]
        _finish(paper.join(name, kept, device=device, say=_say, folder=out), name, out)
        return
    seconds = seconds_of(number_or_text(budget)) if budget is not None else None
    paper.device_of(device)
    with _held(name, folder) if paper.named(name).keeps else nullcontext():
        if start is not None:
            _check_start(start, _kept(name, folder), fresh)
        _resume(name, folder, fresh)
        try:
            record = paper.reproduce(
                name,
                quick=quick,
                device=device,
                n_seeds=n_seeds,
                say=_say,
                folder=folder,
                budget=seconds,
                seed=seed,
                n_chains=n_chains,
                parts=only,
                start=start,
            )
        except KeyboardInterrupt:
            if not _kept(name, folder):
                raise
            raise RunInterrupted(f"interrupted. The same command goes on from {folder}.") from None
    _finish(record, name, out)


def _held(name: str, folder: Path) -> AbstractContextManager[None]:
    """Hold the run's checkpoints: two processes that go on with it would spoil it for each other."""
    from pmcnet.runs.lock import locked

    folder.mkdir(parents=True, exist_ok=True)
    return locked(folder, f".{name}.lock")


def _check_start(start: Path, kept: list[Path], fresh: bool) -> None:
    """Refuse to begin at what is not there, which would leave a run without networks, or to delete it first."""
    if fresh and start.resolve() in [file.resolve() for file in kept]:
        raise click.UsageError(f"--fresh would delete {start}. Use another --out.")
    if not kept and not start.is_file():
        raise click.UsageError(
            f"--start {start} is no file. Name the NAME-networks.safetensors of an earlier run."
        )


def _check_join(given: list[str], join: tuple[Path, ...], out: Path) -> None:
    """Refuse options that mean nothing, a single run, and to write over one."""
    if given:
        raise click.UsageError(f"--join runs nothing; leave {', '.join(given)} out.")
    if len(join) < 2:
        raise click.UsageError("--join is given once for each run, and there must be two at least.")
    if out.resolve() in [each.resolve() for each in join]:
        raise click.UsageError(
            f"--out {out} is one of the runs; name another folder for all of them."
        )


def _finish(record: dict[str, Any], name: str, out: Path) -> None:
    """Write and show."""
    files = _write(record, name, out)
    _show(record)
    for file in files:
        click.echo(f"wrote {file}")


def _say(line: str) -> None:
    click.echo(line, err=True)


def _kept(name: str, folder: Path) -> list[Path]:
    """The checkpoints of one experiment, without those of others whose names begin with its."""
    from pmcnet.paper import EXPERIMENTS

    others = tuple(f"{other}-" for other in EXPERIMENTS if other.startswith(f"{name}-"))
    return sorted(file for file in folder.glob(f"{name}-*") if not file.name.startswith(others))


def _resume(name: str, folder: Path, fresh: bool) -> None:
    """Say what is gone on from, or delete it."""
    files = _kept(name, folder)
    if fresh:
        for file in files:
            file.unlink()
    elif files:
        _say(f"{name}: going on from {folder}; --fresh begins anew.")


def _show(record: dict[str, Any]) -> None:
    from rich.console import Console

    from pmcnet.reports import tables

    console = Console()
    if console.is_terminal:
        console.print(tables.rich_table(record["table"]))
    else:
        click.echo(tables.plain(record["table"]))
    if "timing" in record:
        _show_timing(record["timing"], record["settings"]["device"])


def _show_timing(timing: list[dict[str, Any]], device: str) -> None:
    """Seconds of fitting and milliseconds of predicting, beside the paper's where it tells them."""
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


def _write(record: dict[str, Any], name: str, out: Path) -> list[Path]:
    import json

    from pmcnet.io.atomic import write_whole
    from pmcnet.reports import figures

    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.json"
    write_whole(path, (json.dumps(record, indent=1, allow_nan=False) + "\n").encode())
    drawn, title, classes = (
        record["figures"],
        record["table"]["title"],
        record.get("classes", ["0", "1"]),
    )
    files = [path]
    if len(drawn.get("roc", ())) == 1:
        (curves,) = drawn["roc"].values()
        files.append(figures.roc(curves, out / f"{name}-roc.png", title, classes))
    elif "roc" in drawn:
        files.append(figures.roc_grid(drawn["roc"], out / f"{name}-roc.png", title))
    if "by_step" in drawn:
        files.append(figures.metric_by_step(drawn["by_step"], out / f"{name}-steps.png", title))
    if "histograms" in drawn:
        heading = f"{title}: predicted probability of the true class"
        files.append(
            figures.histograms(
                drawn["histograms"], out / f"{name}-histograms.png", heading, classes
            )
        )
    if "confusion" in drawn:
        files.append(
            figures.confusion(drawn["confusion"], out / f"{name}-confusion.png", title, classes)
        )
    if "squared_errors" in drawn:
        heading = f"{title}: squared errors of averaged predictions"
        files.append(
            figures.squared_errors(drawn["squared_errors"], out / f"{name}-errors.png", heading)
        )
    return files

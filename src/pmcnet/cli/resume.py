"""`pmcnet resume RUN`: go on with a run that was interrupted."""

from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print metrics.json instead of a summary.")
def resume(run: Path, as_json: bool) -> None:
    """Go on with RUN from its last checkpoint; the result is that of an uninterrupted run."""
    from pmcnet.cli.fit import show
    from pmcnet.distributed import joined
    from pmcnet.estimators.plan import resolve_device
    from pmcnet.reports.progress import FitProgress
    from pmcnet.runs.fit import resume_run
    from pmcnet.runs.processes import follow

    with joined(resolve_device("auto")) as comm:
        if comm.rank > 0:
            follow(comm, None)
            return
        with FitProgress() as shown:
            finished = resume_run(run, shown=shown, comm=comm)
    show(finished, as_json)

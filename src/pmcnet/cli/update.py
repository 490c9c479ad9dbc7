"""`pmcnet update RUN DATA`: take in new rows without fitting again."""

from pathlib import Path
from typing import Any

import click

from pmcnet.cli.read_options import opened, reading_options


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("data")
@click.option(
    "--out", type=click.Path(path_type=Path), help="The run folder to make. Default: RUN-updated."
)
@click.option("--device", default="auto", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print metrics.json instead of a summary.")
@reading_options
def update(
    run: Path, data: str, out: Path | None, device: str, as_json: bool, **reading: Any
) -> None:
    """Take the rows of DATA, with their target, into the model of RUN; writes another run folder.

    The islands of RUN go on from its posterior to that of its rows and those of DATA together,
    which costs a fraction of a new fit. RUN is not changed, and the table it was fitted to must
    still be there. DATA holds new rows only.
    """
    from pmcnet.cli.fit import show
    from pmcnet.cli.run_model import load_model
    from pmcnet.reports.progress import FitProgress
    from pmcnet.runs.folder import RunFolder
    from pmcnet.runs.update import update_run

    model = load_model(run, device)
    name = run.resolve().name
    where = out or RunFolder.free(run.resolve().parent, f"{name}-updated")
    with FitProgress() as shown:
        finished = update_run(model, run, opened(data, reading), where, shown=shown)
    if not as_json:
        click.echo(model.update_.described)
    show(finished, as_json)

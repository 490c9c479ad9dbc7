"""`pmcnet report RUN`: draw the page again from the run's JSON."""

from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--no-what-if", is_flag=True, help="Leave out the networks that predict what a reader asks."
)
def report(run: Path, no_what_if: bool) -> None:
    """Rewrite report.html of RUN from report.json."""
    from pmcnet.reports.page import write_report
    from pmcnet.runs.folder import RunFolder, read_json

    folder = RunFolder.open(run)
    record = read_json(folder.report_data)
    if no_what_if and isinstance(record, dict):
        record.pop("what_if", None)
    click.echo(write_report(record, folder.report))

"""`pmcnet report RUN`: draw the page again from the run's JSON."""

from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
def report(run: Path) -> None:
    """Rewrite report.html of RUN from report.json."""
    from pmcnet.reports.page import write_report
    from pmcnet.runs.folder import RunFolder, read_json

    folder = RunFolder.open(run)
    click.echo(write_report(read_json(folder.report_data), folder.report))

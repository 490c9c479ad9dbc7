"""`pmcnet evaluate RUN DATA`: how good a model is on rows whose truth is known."""

from pathlib import Path
from typing import Any

import click

from pmcnet.cli.read_options import opened, reading_options


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--target", help="The column with the truth; the run's own when absent.")
@click.option("--exposure", help="The column of exposures; the run's own when absent.")
@click.option("--event", help="The column of events; the run's own when absent.")
@click.option("--passes", "n_passes", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--device", default="auto", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reading_options
def evaluate(
    run: Path,
    data: str,
    target: str | None,
    exposure: str | None,
    event: str | None,
    n_passes: int,
    seed: int,
    device: str,
    as_json: bool,
    **reading: Any,
) -> None:
    """Metrics of the model of RUN on DATA, with credible intervals over its draws."""
    from pmcnet.cli.output import print_json, print_metrics, print_verdict
    from pmcnet.cli.run_model import load_model
    from pmcnet.runs.evaluate import evaluate_rows
    from pmcnet.runs.known_rows import known_rows

    model, table = load_model(run, device), opened(data, reading)
    rows = known_rows(model, run, table, target=target, exposure=exposure, event=event)
    record = evaluate_rows(model, rows, n_passes=n_passes, seed=seed)
    if as_json:
        print_json(record)
        return
    print_verdict(record["diagnostics"])
    print_metrics(record)

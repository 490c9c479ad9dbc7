"""`pmcnet predict RUN DATA`: predictions with their uncertainty for new rows."""

from pathlib import Path
from typing import Any

import click

from pmcnet.cli.read_options import opened, reading_options


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("data")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="The CSV to write; standard output when absent.",
)
@click.option(
    "--exposure",
    help="The column of exposures of counts; the run's own when absent, 1 where DATA lacks it.",
)
@click.option(
    "--coverage",
    type=float,
    default=0.95,
    show_default=True,
    help="Of the intervals of a regression, and of the sets of a conformal classification.",
)
@click.option(
    "--passes", "n_passes", type=click.IntRange(min=1), help="Networks to average; all when absent."
)
@click.option("--device", default="auto", show_default=True)
@reading_options
def predict(
    run: Path,
    data: str,
    out: Path | None,
    exposure: str | None,
    coverage: float,
    n_passes: int | None,
    device: str,
    **reading: Any,
) -> None:
    """Add predictions to the rows of DATA, with the model of RUN.

    Adds the columns prediction, then probability_CLASS for each class, or std, lower and upper;
    then epistemic (the networks disagree) and aleatoric (the data overlap): entropies in nats for
    classes, variances for regression; then novelty, the share of the training rows that are less
    unlike the others than this row is, and is_novel, 1 where that is beyond 99 %. Columns may come
    in any order; those that the model does not know are kept as they are.
    """
    from pmcnet.cli.run_model import load_model
    from pmcnet.errors import InputError
    from pmcnet.runs.predict import exposure_column, predict_file

    if not 0 < coverage < 1:
        raise InputError(f"--coverage must lie between 0 and 1; got {coverage}. Use 0.95 for 95 %.")
    model = load_model(run, device)
    table = opened(data, reading)
    column, remark = exposure_column(model, run, table, exposure)
    if remark:
        click.echo(remark, err=True)
    predicted = predict_file(
        model,
        table,
        out,
        exposure=column,
        coverage=coverage,
        n_passes=n_passes,
        progress=_say_rows,
    )
    if table.understood:
        click.echo(f"understood: {', '.join(table.understood)}", err=True)
    n_rows, n_novel = predicted
    click.echo(f"predicted {n_rows} rows" + (f": {out}" if out else ""), err=True)
    if n_novel is not None:
        verb = "is" if n_novel == 1 else "are"
        click.echo(f"{n_novel} of {n_rows} rows {verb} unlike the training rows", err=True)


def _say_rows(n_rows: int) -> None:
    if n_rows % 250_000 == 0:
        click.echo(f"{n_rows} rows", err=True)

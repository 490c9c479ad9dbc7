"""A finished model on a table whose truth is known."""

from pathlib import Path

from pmcnet.runs.known_rows import known_rows
from pmcnet.runs.row_predictions import predictions_of
from pmcnet.runs.run_record import metrics_record
from pmcnet.runs.scores import Model, Record


def evaluate_file(
    model: Model,
    run: Path,
    source: str,
    *,
    target: str | None,
    exposure: str | None = None,
    event: str | None = None,
    n_passes: int,
    seed: int,
) -> Record:
    """Metrics as `metrics.json` has them.

    Args:
        model: of the run.
        run: the run's folder, which knows the target.
        source: a file or the name of a built-in dataset.
        target: the column with the truth, if other than the run's.
        exposure: that of exposures, likewise; "" for none.
        event: that of events, likewise.
        n_passes: draws behind the credible intervals.
        seed: of those draws.
    """
    known = known_rows(model, run, source, target=target, exposure=exposure, event=event)
    predictions = predictions_of(
        model, known.x, known.y, known.second, n_passes=n_passes, seed=seed
    )
    return metrics_record(model, predictions.scored(), n_test=len(known.y), fit_seconds=None)

"""What the page needs to predict by itself: a few networks, their likelihood, and the encoder."""

import json
from typing import Any

import numpy as np
import torch

from pmcnet.bnn import MLP
from pmcnet.errors import InputError
from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.columns import Matrix
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.evaluation.column_controls import ColumnControl
from pmcnet.estimators.evaluation.known_table import KnownTable
from pmcnet.estimators.evaluation.network_export import (
    LEAST_NETWORKS,
    exported_networks,
    most_weights,
    n_networks,
)
from pmcnet.estimators.evaluation.scores import Model, Record
from pmcnet.estimators.evaluation.start_rows import StartRows
from pmcnet.estimators.predictions import EncodedRows
from pmcnet.io.plain import plain

MOST_BYTES = 300_000
"""Of the record, as JSON."""
_ROOM = 500  # bytes of the names in the record of the networks, without their weights
LIKELIHOODS = (
    "Gaussian",
    "LearnedGaussian",
    "RowGaussian",
    "KnownGaussian",
    "StudentT",
    "RowStudentT",
    "LaplaceNoise",
    "RowLaplaceNoise",
    "LogNormal",
    "RowLogNormal",
    "CensoredWeibull",
    "CensoredLogLogistic",
    "Beta",
    "Poisson",
    "NegativeBinomial",
    "Bernoulli",
    "Categorical",
    "Ordinal",
)
"""Those that the script of the page knows."""


def what_if_record(model: Model, tested: KnownTable, trained: KnownTable | None) -> Record:
    """What the section is made from, or `left_out`, a sentence that says why there is none.

    Args:
        model: fitted.
        tested: rows that the fit has not seen, where there are such.
        trained: those that it has; without them usual values are those of the rows tested.
    """
    try:
        return _record(model, tested, tested if trained is None else trained)
    except (ArithmeticError, InputError) as error:  # what a reader may ask must not end a run
        return _left_out(f"its values leave the range of numbers ({error}).")


def _record(model: Model, tested: KnownTable, trained: KnownTable) -> Record:
    encoder, posterior = model.encoder_, model.posterior_
    if not isinstance(posterior.network, MLP) or not isinstance(encoder, TableEncoder):
        return _left_out("it is there for tables and pmcnet's own networks, not for modules.")
    kind = type(posterior.likelihood).__name__
    if kind not in LIKELIHOODS:
        return _left_out(f"the page does not know the likelihood {kind:.60}.")
    n_weights = posterior.network.layers.dim + posterior.likelihood.n_extra
    if n_weights > most_weights(MOST_BYTES):
        return _left_out(_too_large(f"a network has {n_weights:,} weights"))
    classes = isinstance(model, PMCNetClassifier)
    starts = StartRows.of(encoder, tested, trained, classes=classes)
    controls = _controls(encoder, starts)
    described = _described(model, encoder, starts, controls)
    n = n_networks(posterior, MOST_BYTES - _ROOM - _n_bytes(described))
    if n < LEAST_NETWORKS:
        return _left_out(_too_large(f"a network has {n_weights:,} weights, beside many levels"))
    thinned = model.thinned(n)
    networks = exported_networks(thinned.posterior_)
    before, after = (each.predictive(_inputs(model, starts.numbers)) for each in (model, thinned))
    return described | {
        "networks": networks | {"of": posterior.samples.n_draws},
        "order": _order(thinned, encoder, starts, controls),
        "difference": float(np.abs(before.mean - after.mean).max()),
        "notes": _notes(model, exposed=trained.second.exposure is not None),
    }


def _described(
    model: Model, encoder: TableEncoder, starts: StartRows, controls: list[ColumnControl]
) -> Record:
    """All but the networks and what they say."""
    likelihood = model.posterior_.likelihood
    rows = [
        {"row": row, "truth": truth, "values": _values(encoder, controls, numbers)}
        for row, truth, numbers in zip(starts.rows, starts.truths, starts.numbers, strict=True)
    ]
    found: Record = plain(
        {
            "likelihood": likelihood.to_plain(),
            "units": [getattr(model, "y_mean_", 0.0), getattr(model, "y_std_", 1.0)],
            "columns": [control.record() for control in controls],
            "starts": rows,
        }
    )
    return found


def _controls(encoder: TableEncoder, starts: StartRows) -> list[ColumnControl]:
    """One for each column of the model."""
    columns = encoder.columns
    return [
        ColumnControl(column, flagged, starts.training[:, part], starts.numbers[:, part])
        for column, flagged, part in zip(
            columns.columns, encoder.flagged, columns.slices, strict=True
        )
    ]


def _values(encoder: TableEncoder, controls: list[ColumnControl], numbers: Matrix) -> list[Any]:
    """A row (R,) as the page has it."""
    slices = encoder.columns.slices
    return [each.value(numbers[part]) for each, part in zip(controls, slices, strict=True)]


def _order(
    model: Model, encoder: TableEncoder, starts: StartRows, controls: list[ColumnControl]
) -> list[int]:
    """Columns by how far the prediction moves as each alone leaves the typical row."""
    moved = []
    for control, part in zip(controls, encoder.columns.slices, strict=True):
        if not control.editable:
            moved.append(-np.inf)
            continue
        candidates = control.candidates()
        rows = np.repeat(starts.numbers[:1], len(candidates), axis=0)
        rows[:, part.start] = candidates
        mean = model.predictive(_inputs(model, rows)).mean  # (k, C)
        moved.append(float(np.ptp(mean, axis=0).max()))
    order: list[int] = np.argsort(-np.array(moved), kind="stable").tolist()
    return order


def _inputs(model: Model, numbers: Matrix) -> EncodedRows:
    """Rows as numbers (N, R) -> inputs of the network."""
    inputs = torch.as_tensor(model.encoder_.encode(numbers))
    return EncodedRows(inputs.to(model.posterior_.samples.theta))


def _notes(model: Model, exposed: bool) -> list[str]:
    """What the reader must know of these predictions."""
    notes = []
    if exposed:
        notes.append("Counts are those of exposure 1.")
    if model.calibration_ is not None:
        notes.append("Intervals and probabilities are those of the posterior, not calibrated ones.")
    return notes


def _left_out(reason: str) -> Record:
    return {"left_out": f"This part is left out: {reason}"}


def _too_large(what: str) -> str:
    return (
        f"{what}, and {LEAST_NETWORKS} networks of at most {most_weights(MOST_BYTES):,} fit into "
        f"{MOST_BYTES // 1000} kB of the page. Fewer hidden units, or fewer columns, make room."
    )


def _n_bytes(record: Record) -> int:
    return len(json.dumps(record))

"""The form of `model.json`, which is checked before anything is made of it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from pmcnet.ais.agreement import Quantity
from pmcnet.ais.verdict import STATUSES
from pmcnet.bnn.likelihoods.base import Task
from pmcnet.bnn.likelihoods.registry import from_plain, stored_forms
from pmcnet.estimators.columns import COLUMN_KINDS, MAX_COLUMNS
from pmcnet.estimators.conformal.stored_calibration import CALIBRATION_FORMS
from pmcnet.estimators.formulation import NOISES, SCALES
from pmcnet.io.schema import (
    Form,
    by_kind,
    either,
    flag,
    listing,
    mapping,
    nothing,
    number,
    row,
    table,
    text,
    whole,
)

MOST_INPUTS = 1 << 24
"""Numbers in one row of inputs: an image of 4096 x 4096."""
MOST_CHARACTERS = 1 << 22
"""Of the names of all classes, each as long as the longest."""
LARGEST = 1e100
"""Of numbers whose squares are needed."""

_POSITIVE = math.ulp(0.0)
_SCALAR = either(nothing, flag, number(), text())
_VALUE = either(_SCALAR, listing(_SCALAR))
_MEANS, _DEVIATIONS = listing(number(), 1), listing(number(_POSITIVE), 1)
_KIND = text()

_FITTED = table(
    method_=text(),
    method_reason_=text(),
    method_options_=mapping(_VALUE),
    likelihood_=text(),
    noise_=either(text(*NOISES), number(_POSITIVE)),
    prior_std_=either(nothing, number(0), text(*SCALES)),
    formulation_reason_=text(),
    comparisons_=listing(mapping(_VALUE)),
    prior_trials_=listing(mapping(_VALUE)),
    history_=listing(mapping(_VALUE)),
    n_features_in_=whole(1),
)


def _likelihood(what: str, task: Task) -> Form:
    """A likelihood of the registry."""

    def check(value: Any, place: str) -> None:
        by_kind(what, stored_forms(task))(value, place)

    return check


_COLUMNS = {
    kind: table(kind=_KIND, name=text(), why=text(), **column.forms)
    for kind, column in COLUMN_KINDS.items()
}
_ENCODER = by_kind(
    "encoder",
    {
        "table": table(
            kind=_KIND,
            names=listing(text(), 1),
            columns=listing(by_kind("kind of column", _COLUMNS), 1),
            left_out=listing(row(text(), text())),
            flagged=listing(flag),
        ),
        "images": table(
            kind=_KIND, shape=listing(whole(1, MOST_INPUTS), 2), mean=_MEANS, std=_DEVIATIONS
        ),
    },
)
_LABELS = either(
    table(type=text("str"), object=flag, values=listing(text(), 2)),
    table(type=text("bool"), object=flag, values=listing(flag, 2)),
    table(type=text("int"), object=flag, values=listing(whole(-(1 << 63), (1 << 64) - 1), 2)),
    table(type=text("float"), object=flag, values=listing(number(), 2)),
)
_KNOWN_OR_NOT = either(nothing, number())
_UPDATE = table(
    number=whole(1),
    n_rows=whole(1),
    log_evidence=number(),
    log_evidence_error=number(0),
    log_predictive=_KNOWN_OR_NOT,
    expected=_KNOWN_OR_NOT,
    std=_KNOWN_OR_NOT,
    drift=flag,
)
_COMMON: dict[str, Form] = {
    "format": text(),
    "version": whole(1),
    "library": text(),
    "settings": mapping(either(mapping(_VALUE), _VALUE)),
    "own_module": flag,
    "layout": listing(row(text(), listing(whole())), 1),
    "encoder": _ENCODER,
    "fitted": _FITTED,
    "feature_names": either(nothing, listing(text(), 1)),
    "verdict": either(
        row(text(*STATUSES), text()),
        row(text(*STATUSES), text(), mapping(either(nothing, number()))),
    ),
    "population": flag,
    "log_evidence_error": either(nothing, number(0)),
    "ess": number(0),
    "n_islands": whole(0),
    "agreement": either(
        nothing,
        row(text(*get_args(Quantity)), whole(1), *6 * (either(nothing, number(0)),)),
    ),
    "update": either(nothing, _UPDATE),
    "tensors": mapping(either(text(), table(shape=listing(whole()), dtype=text()))),
    "fingerprint": text(),
}
_RECORD = by_kind(
    "kind of model",
    {
        "PMCNetClassifier": table(
            kind=_KIND,
            **_COMMON,
            likelihood=_likelihood("likelihood of classes", "classification"),
            classes=_LABELS,
            calibration=CALIBRATION_FORMS["classification"],
        ),
        "PMCNetRegressor": table(
            kind=_KIND,
            **_COMMON,
            likelihood=_likelihood("likelihood of numbers", "regression"),
            calibration=CALIBRATION_FORMS["regression"],
            y_mean=either(number(), listing(number(), 2)),
            y_std=either(number(_POSITIVE, LARGEST), listing(number(_POSITIVE, LARGEST), 2)),
        ),
    },
)


def check_record(record: Any) -> None:
    """Raise `ValueError` where parts are missing, too many, of another form, or do not agree."""
    _RECORD(record, "the record")
    encoder, n_features, names = (
        record["encoder"],
        record["fitted"]["n_features_in_"],
        record["feature_names"],
    )
    if encoder["kind"] == "table":
        own = encoder["names"]
        _check_columns(encoder)
        _check(
            n_features == len(own),
            f"{len(own)} columns are known and n_features_in_ is {n_features}",
        )
        _check(names in (None, own), "the feature names are not those of the encoder's columns")
    else:
        n_inputs, n_channels = math.prod(encoder["shape"]), encoder["shape"][0]
        fitting = n_inputs == n_features <= MOST_INPUTS and len(encoder["mean"]) in (1, n_channels)
        _check(
            fitting and len(encoder["mean"]) == len(encoder["std"]),
            "the parts of its encoder do not agree",
        )
        _check(names is None, "images have no feature names")
    likelihood = from_plain(record["likelihood"])
    if "classes" not in record:
        fitting = all(np.size(record[name]) == likelihood.n_targets for name in ("y_mean", "y_std"))
        _check(fitting, f"y_mean and y_std are not those of {likelihood.n_targets} target(s)")
    else:
        values, n_classes = record["classes"]["values"], likelihood.n_classes
        _check(len(values) == n_classes, f"it has {len(values)} classes for {n_classes} outputs")
        _check(_distinct(values), "a class comes twice")
        # numpy stores each name at the length of the longest
        n_characters = len(values) * max(len(str(value)) for value in values)
        _check(n_characters <= MOST_CHARACTERS, "the names of its classes are too long")


def _check_columns(encoder: Mapping[str, Any]) -> None:
    names = encoder["names"]
    own = [column["name"] for column in encoder["columns"]]
    others = [name for name, _ in encoder["left_out"]]
    _check(_distinct(names), "a column's name comes twice")
    _check(sorted(own + others) == sorted(names), "the encoder's columns are not those it names")
    _check(len(own) == len(encoder["flagged"]), "the parts of its encoder do not agree in length")
    _check(len(names) <= MAX_COLUMNS, f"it has {len(names)} columns; {MAX_COLUMNS} are possible")


def _distinct(values: Sequence[Any]) -> bool:
    return len(set(values)) == len(values)


def _check(fine: bool, message: str) -> None:
    if not fine:
        raise ValueError(message)

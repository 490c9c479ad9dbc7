"""What the page shows of the checks of a model, as plain data."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pmcnet.bnn.likelihoods.known_noise import KnownGaussian
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.errors import InputError, UnseenLevelsWarning
from pmcnet.estimators.checks.check_rows import MOST_ROWS, CheckRows
from pmcnet.estimators.checks.densities import densities
from pmcnet.estimators.checks.leave_one_out import leave_one_out
from pmcnet.estimators.checks.predictive_checks import (
    N_REPLICATES,
    PredictiveCheck,
    predictive_check,
)
from pmcnet.estimators.checks.prior_functions import prior_functions
from pmcnet.estimators.checks.prior_predictive import N_PRIOR, prior_check
from pmcnet.estimators.checks.residual_trends import PREDICTION, Residuals, residuals
from pmcnet.estimators.columns import Column
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.evaluation.known_table import KnownTable
from pmcnet.io.plain import plain
from pmcnet.methods.registry import METHODS

if TYPE_CHECKING:
    from pmcnet.estimators.base import PMCNetEstimator

Record = dict[str, Any]

N_POINTS = 200  # rows of a residual plot
N_FEATURES = 5  # residual plots of features
N_INFLUENTIAL = 10
_MOST_WORK = 1e10  # numbers between layers, of all networks on all rows together
_N_DRAWS = 1000
_DIGITS = 4
LEAST_ROWS = 20
"""Of which a check says something."""


def checks_record(
    model: "PMCNetEstimator", tested: KnownTable | None, trained: KnownTable | None, seed: int
) -> Record:
    """Posterior and prior predictive checks and residuals of test rows, and leave-one-out.

    Each is left out where it says nothing: of too few rows, of very large networks, leave-one-out
    of what is no posterior.

    Args:
        model: fitted.
        tested: rows that the fit has not seen, where there are such.
        trained: those that it has; without them leave-one-out is of those that the model keeps.
        seed: of everything random.
    """
    found: Record = {} if tested is None else _of_tested(model, tested, seed)
    if _can_leave_out(model, trained):
        found["loo"] = _loo(model, trained, seed)
    return found


def _of_tested(model: "PMCNetEstimator", tested: KnownTable, seed: int) -> Record:
    """Posterior and prior predictive checks and residuals."""
    found: Record = {}
    some = tested.few(MOST_ROWS, seed)
    noise = isinstance(model.posterior_.likelihood, KnownGaussian)
    unknown = noise and tested.second.event is None  # the noise of these rows
    if len(some.y) >= LEAST_ROWS and not unknown and _affordable(model, len(some.y)):
        rows = _rows(model, some)
        about = {"n_given": len(tested.y), "seen": tested.seen}
        found["posterior_predictive"] = about | _predictive(model, rows, seed)
        found |= _prior(model, rows, some.x, seed)
        if model._task == "regression" and rows.observed.all():  # others are shorter than most
            found["residuals"] = about | _residuals(residuals(model, rows, some.x, seed=seed))
    return found


def _rows(model: "PMCNetEstimator", table: KnownTable) -> CheckRows:
    y = table.y
    if model._task == "classification":
        from pmcnet.estimators.evaluation.scores import class_labels

        y = model.classes_[class_labels(model, y).numpy()]
    with warnings.catch_warnings():  # the predictions of these rows have told of it
        warnings.simplefilter("ignore", UnseenLevelsWarning)
        return CheckRows.of(model, table.x, table.second.response(y), **table.second.arguments)


def _affordable(model: "PMCNetEstimator", n_rows: int) -> bool:
    each = max(1, model.posterior_.network.numbers_per_input)
    return each * min(n_rows, MOST_ROWS) * _N_DRAWS <= _MOST_WORK


def _can_leave_out(model: "PMCNetEstimator", trained: KnownTable | None) -> bool:
    """Whether leave-one-out has an answer that one can afford."""
    kept = 0 if model.training_rows_ is None else len(model.training_rows_.weight)
    n_rows = kept if trained is None else len(trained.y)
    usable = model.posterior_.is_posterior and model.verdict_.status != "degenerate"
    enough = n_rows >= LEAST_ROWS and _affordable(model, n_rows)
    return usable and enough and model.calibration_ is None


def _predictive(model: "PMCNetEstimator", rows: CheckRows, seed: int) -> Record:
    """Counts of classes, or PIT, densities and statistics, beside replicates."""
    check = predictive_check(model, rows, n_draws=N_REPLICATES, seed=seed)
    about: Record = {"n_rows": len(rows.y), "n_replicates": len(check.replicated)}
    if model._task == "classification":
        names = [str(name) for name in model.classes_]
        counts = check.class_counts(len(names)).to_dict("records")
        classes = [line | {"class": name} for name, line in zip(names, counts, strict=True)]
        return _plain(about | {"classes": classes})
    uniform = check.uniformity
    found = about | {"pit": uniform._asdict()}
    if check.observed.all():
        found |= {"densities": _densities(model, check)}
        found |= {"statistics": check.statistics.to_dict("records")}
    else:
        found |= {"n_censored": int((~check.observed).sum())}
    return _plain(found)


def _densities(model: "PMCNetEstimator", check: PredictiveCheck) -> Record:
    support = family(model.likelihood_, model._task).support
    found = densities(check.y, check.replicated, support)
    return {name: rounded(part) for name, part in found._asdict().items()}


def _prior(model: "PMCNetEstimator", rows: CheckRows, x: Any, seed: int) -> Record:
    """What the prior held for possible; nothing where the method has no prior."""
    if METHODS[model.method_].method(model.method_).prior_search is None or not rows.observed.all():
        return {}
    check = prior_check(model, rows, n_draws=N_PRIOR, seed=seed)
    if model._task == "classification":
        names = [str(name) for name in model.classes_]
        shares = (check.drawn[:, :, None] == np.arange(len(names))).mean(1)  # (S, C)
        low, high = np.quantile(shares, (0.025, 0.975), axis=0)
        own = (rows.y[:, None] == np.arange(len(names))).mean(0)
        keys = ("class", "observed", "low", "high")
        each = zip(names, own, low, high, strict=True)
        lines = [dict(zip(keys, line, strict=True)) for line in each]
        return {"prior_predictive": plain({"classes": lines})}
    support = family(model.likelihood_, model._task).support
    found = densities(check.y, check.drawn, support, wide=True)
    shown: Record = {
        "densities": {name: rounded(part) for name, part in found._asdict().items()},
        "interval": list(check.interval),
        "data": np.quantile(check.y, (0.025, 0.975)),
        "share_inside": check.share_inside,
        "ratio": check.ratio,
    }
    functions = prior_functions(model, rows, x, seed)
    if functions is not None:
        name, grid, means = functions
        shown["functions"] = {"feature": name, "grid": rounded(grid), "means": rounded(means)}
    return {"prior_predictive": plain(shown)}


def _residuals(found: Residuals) -> Record:
    """Points of at most 200 rows, and the trends of all."""
    chosen = np.linspace(0, len(found.y) - 1, min(N_POINTS, len(found.y))).astype(int)
    trends = found.trends
    order = [name for name in trends["against"] if name != PREDICTION][:N_FEATURES]
    by_name = {each.name: each for each in found.against[1:]}
    shown = [
        {
            "name": name,
            "values": rounded(by_name[name].values[chosen]),
            "levels": list(by_name[name].levels),
        }
        for name in order
    ]
    return _plain(
        {
            "n_rows": len(found.y),
            "prediction": rounded(found.prediction[chosen]),
            "residual": rounded(found.standardised[chosen]),
            "inside": float((np.abs(found.standardised) <= 2).mean()),
            "features": shown,
            "n_features": len(by_name),
            "trends": trends.to_dict("records"),
        }
    )


def _loo(model: "PMCNetEstimator", trained: KnownTable | None, seed: int) -> Record:
    """The sum, k-hat of each row, and the most influential rows; or why there is none.

    Of an updated model, and where inputs of training rows depend on their targets, they are the
    rows that it has kept, which have no numbers.
    """
    if model.training_rows_ is not None and (model.update_ is not None or _own_inputs(model)):
        trained = None
    rows = CheckRows.of(model, None, None) if trained is None else _rows(model, trained)
    numbers = None if trained is None else trained.numbers
    try:
        found = leave_one_out(model, rows, n_rows=MOST_ROWS, n_draws=_N_DRAWS, seed=seed)
    except InputError as error:
        return {"refused": str(error)}
    place = {int(row): i for i, row in enumerate(found.row)}
    own = {int(row): i for i, row in enumerate(rows.place)}

    def truth(row: int) -> Any:
        value = rows.y[own[row]]
        if model._task == "classification":
            return str(model.classes_[int(value)])
        return float(value) if rows.observed[own[row]] else f"> {value:.4g}"

    def line(row: int) -> Record:
        i = place[row]
        return {
            "row": row + 1 if numbers is None else int(numbers[row]),
            "truth": truth(row),
            "khat": float(found.khat[i]) if np.isfinite(found.khat[i]) else "∞",
            "elpd": float(found.pointwise[i]),
            "seen": float(found.seen[i]),
        }

    return _plain(
        {
            "elpd": found.elpd,
            "se": found.se,
            "p_loo": found.p_loo,
            "limit": found.limit,
            "n_rows": found.n_rows,
            "n_draws": found.n_draws,
            "khat": rounded(np.minimum(found.khat, 10.0)),
            "n_influential": len(found.influential),
            "influential": [line(int(row)) for row in found.influential[:N_INFLUENTIAL]],
            "merged": trained is None,
        }
    )


def _plain(record: Record) -> Record:
    found: Record = plain(record)
    return found


def _own_inputs(model: "PMCNetEstimator") -> bool:
    """Whether training rows have other inputs than the same rows would have as new ones."""
    encoder = model.encoder_
    columns = encoder.columns.columns if isinstance(encoder, TableEncoder) else ()
    return any(type(each).training_inputs is not Column.training_inputs for each in columns)


def rounded(values: NDArray[Any]) -> Any:
    """Numbers with four digits, so that a record stays small; None where there is none."""
    flat = [float(f"{v:.{_DIGITS}g}") if np.isfinite(v) else None for v in values.ravel().tolist()]
    return np.array(flat, dtype=object).reshape(values.shape).tolist()

"""The settings of a compared method, chosen on validation rows before it is fitted.

A fifth of the training rows, the same for every method, is held out; test rows are not looked at.
Each choice of the method's grid is fitted to the other rows with a seed of its own,
and the one with the smallest negative log-likelihood of the rows held out is taken. A method that
has no choices there finds its prior while it is fitted.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet import tune
from pmcnet.errors import InputError
from pmcnet.estimators import PMCNetRegressor
from pmcnet.estimators.evaluation.figure_data import finite
from pmcnet.estimators.evaluation.scores import Model, Record, class_labels
from pmcnet.estimators.evaluation.second_column import NO_COLUMN, SecondColumn
from pmcnet.estimators.observer import Settled
from pmcnet.estimators.plan import Plan
from pmcnet.estimators.scale_search import LEAST_VALIDATED, VALIDATION_SHARE
from pmcnet.methods.registry import METHODS
from pmcnet.methods.settings import Choice, parts
from pmcnet.reports.progress import FitProgress, progress_of
from pmcnet.runs.config import RunSettings
from pmcnet.runs.estimator import unfitted
from pmcnet.runs.prepare import RunRows, with_validation

Tune = Literal["none", "validation"]
SEED_STEP = 1
"""How far the seed of the search is from that of the fit which is reported."""


class TunedSettings(NamedTuple):
    """Settings with the best choice in them, that choice, the trials, and their seconds."""

    settings: RunSettings
    choice: Choice
    trials: list[Record]
    seconds: float


def validation_of(prepared: RunRows) -> RunRows:
    """The training rows with validation rows held out of them; an error where none can be."""
    if len(prepared.y_train) < LEAST_VALIDATED:
        raise InputError(
            f"tuning needs at least {LEAST_VALIDATED} training rows; got {len(prepared.y_train)}. "
            "Use --tune none, or give more rows."
        )
    try:
        found = with_validation(prepared, VALIDATION_SHARE, _seed(prepared.settings))
    except InputError as error:
        raise InputError(
            f"no rows can be held out for tuning: {error} Or use --tune none."
        ) from error
    if not len(found.y_test):
        raise InputError(
            "no rows can be held out for tuning: each has a class of its own. Use --tune none."
        )
    return found


def tuned(settings: RunSettings, rows: RunRows, *, shown: FitProgress) -> TunedSettings:
    """The best of a method's choices.

    A prior whose scale is given as a number stays, and choices that differ in it alone are tried
    once; a choice that is alone then is taken.

    Args:
        settings: of the run; its method has choices.
        rows: as `validation_of` made them.
        shown: displays progress.
    """
    choices = _choices(settings)
    if len(choices) == 1:
        return TunedSettings(_with(settings, choices[0]), choices[0], [], 0.0)
    start, n_done = time.monotonic(), 0

    def loss(choice: Choice) -> float:
        nonlocal n_done
        model = unfitted(replace(_with(settings, choice), seed=_seed(settings)), rows.task)
        y, known = rows.second_train.response(rows.y_train), rows.second_train.arguments
        model.fit_with(rows.x_train, y, observers=[_Bar(shown)], **known)
        value = validation_nll(model, rows.x_test, rows.y_test, rows.second_test)
        n_done += 1
        shown.stage(
            f"{settings.method}, choice {n_done} of {len(choices)}, {described(choice)}: "
            f"validation NLL {value:.4g}"
        )
        return value

    found = tune.grid_search(choices, loss)
    trials: list[Record] = [
        {**choice, "validation_nll": finite(value)} for choice, value in found.trials
    ]
    return TunedSettings(_with(settings, found.best), found.best, trials, time.monotonic() - start)


def validation_nll(
    model: Model, x: Any, y: NDArray[Any], second: SecondColumn = NO_COLUMN
) -> float:
    """-mean log p(y | x) of rows that the model was not fitted to."""
    if isinstance(model, PMCNetRegressor):
        response = second.response(np.asarray(y, dtype=np.float64))
        return -float(np.mean(model.log_predictive(x, response, **second.arguments)))
    label = class_labels(model, y).numpy()
    with np.errstate(divide="ignore"):  # a class that was held impossible counts as infinitely bad
        return -float(np.mean(np.log(model.predict_proba(x)[np.arange(len(label)), label])))


def tuning_record(model: Model, found: TunedSettings | None) -> Record:
    """What was chosen, by what, among which trials, in how many seconds: `comparison.json`."""
    if found is not None:
        chosen, trials, seconds = found.choice, found.trials, found.seconds
    else:
        trials = [_trial(trial) for trial in model.prior_trials_ or model.comparisons_]
        chosen, seconds = {"prior_std": model.prior_std_}, model.prior_seconds_
        if model.comparisons_:
            chosen = model.formulation_._asdict()
    by = None if not trials else "evidence" if "log_evidence" in trials[0] else "validation"
    if METHODS[model.method_].method(model.method_).prior_search is None:
        chosen = {name: value for name, value in chosen.items() if name != "prior_std"}
    return {"chosen": dict(chosen), "chosen_by": by, "trials": trials, "tuning_seconds": seconds}


def described(choice: Mapping[str, Any]) -> str:
    """A choice in words: learning_rate 0.01, prior_std 1."""
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in choice.items()
    )


def _trial(trial: Mapping[str, Any]) -> Record:
    named = {"prior_std" if name == "sigma" else name: value for name, value in trial.items()}
    return {
        name: value if isinstance(value, str) else finite(float(value))
        for name, value in named.items()
    }


def _choices(settings: RunSettings) -> list[Choice]:
    choices = METHODS[settings.method].grid
    if isinstance(settings.prior_std, str):
        return list(choices)
    fixed = [{**choice, "prior_std": settings.prior_std} for choice in choices]
    return [choice for i, choice in enumerate(fixed) if choice not in fixed[:i]]


def _with(settings: RunSettings, choice: Choice) -> RunSettings:
    own, prior_std = parts(choice)
    return replace(settings, method_options=own, prior_std=prior_std)


def _seed(settings: RunSettings) -> int:
    return (settings.seed + SEED_STEP) % (1 << 32)


class _Bar:
    """Shows the steps of a trial but the last, which comes with the result, and nothing else."""

    def __init__(self, shown: FitProgress) -> None:
        self.shown = shown

    def stage(self, text: str) -> None:
        """Not shown."""

    def planned(self, plan: Plan, settled: Settled | None) -> None:
        """Not shown."""

    def __call__(self, state: Any, info: Any) -> None:
        """One step is done."""
        if progress_of(info, state, [])[0] != 1.0:
            self.shown(state, info)

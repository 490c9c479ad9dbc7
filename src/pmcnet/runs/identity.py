"""What a run's checkpoints belong to: its rows, and the settings that decide its numbers."""

from pmcnet.estimators.formulation import Formulation
from pmcnet.methods.settings import UNSET
from pmcnet.runs.checkpoints import Problem
from pmcnet.runs.config import RunSettings
from pmcnet.runs.prepare import RunRows

_DECIDING = (
    "target",
    "exposure",
    "event",
    "drop",
    "hidden",
    "activation",
    "conformal",
    "method",
    "prior",
    "feature_scaling",
    "test_share",
    "seed",
    "device",
)


def problem(prepared: RunRows, settings: RunSettings, *, with_formulation: bool = True) -> Problem:
    """The data's fingerprint and those settings as plain data.

    Args:
        prepared: the rows.
        settings: with method and device as they came out.
        with_formulation: whether likelihood, noise and prior have been settled, and have a say in
            the states to come.
    """
    values = {name: getattr(settings, name) for name in _DECIDING}
    options = {
        name: UNSET if value is None else value for name, value in settings.method_options.items()
    }
    found = {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
    found |= {"data": prepared.fingerprint, "task": prepared.task, "method_options": options}
    if with_formulation:
        found |= {name: getattr(settings, name) for name in Formulation._fields}
    return found

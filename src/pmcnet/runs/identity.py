"""What a run's checkpoints belong to: its rows, and the settings that decide its numbers."""

from pmcnet.methods.settings import UNSET
from pmcnet.runs.checkpoints import Problem
from pmcnet.runs.config import RunSettings
from pmcnet.runs.prepare import RunRows

_DECIDING = (
    "target",
    "drop",
    "hidden",
    "activation",
    "method",
    "prior",
    "likelihood",
    "noise",
    "feature_scaling",
    "test_share",
    "seed",
    "device",
)


def problem(prepared: RunRows, settings: RunSettings, *, with_prior: bool = True) -> Problem:
    """The data's fingerprint and those settings as plain data.

    Args:
        prepared: the rows.
        settings: with method and device as they came out.
        with_prior: whether the prior's scale has been found, and has a say in the states to come.
    """
    values = {name: getattr(settings, name) for name in _DECIDING}
    options = {
        name: UNSET if value is None else value for name, value in settings.method_options.items()
    }
    found = {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
    found |= {"data": prepared.fingerprint, "task": prepared.task, "method_options": options}
    return found | ({"prior_std": settings.prior_std} if with_prior else {})

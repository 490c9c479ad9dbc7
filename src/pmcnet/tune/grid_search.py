"""The best of a list of settings, on validation rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pmcnet.errors import DivergedError, InputError

Choice = Mapping[str, Any]


class GridSearch(NamedTuple):
    """The best choice, its loss, and every choice with its loss in the order tried."""

    best: Choice
    loss: float
    trials: tuple[tuple[Choice, float], ...]

    @property
    def ranked(self) -> tuple[Choice, ...]:
        """All choices, the smallest loss first."""
        return tuple(choice for choice, _ in sorted(self.trials, key=_loss))


def grid_search(choices: Sequence[Choice], loss: Callable[[Choice], float]) -> GridSearch:
    """Try every choice once and keep the one with the smallest loss, the earlier one of equals.

    Args:
        choices: settings, at least one.
        loss: of a choice; not-a-number counts as the worst, and so does a fit that diverges.
    """
    if not choices:
        raise InputError("grid_search needs at least one choice.")
    trials = tuple((choice, _tried(choice, loss)) for choice in choices)
    best, least = min(trials, key=_loss)
    return GridSearch(best, least, trials)


def _tried(choice: Choice, loss: Callable[[Choice], float]) -> float:
    try:
        return loss(choice)
    except DivergedError:
        return float("inf")


def _loss(trial: tuple[Choice, float]) -> float:
    return trial[1] if trial[1] == trial[1] else float("inf")

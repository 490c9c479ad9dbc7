"""The methods of a comparison by name: ours, and models of other libraries."""

from typing import NamedTuple

from pmcnet.competitors import COMPETITORS
from pmcnet.errors import InputError
from pmcnet.estimators.plan import seconds_of
from pmcnet.methods.registry import METHODS, names_at_hand

ALL, QUICK = "all", "quick"
LIMIT, QUICK_LIMIT = 600.0, 20.0
"""Seconds that fit and prediction of a competitor may take."""
QUICK_BUDGET = "60s"
"""Of pmcnet."""


class MethodNames(NamedTuple):
    """Ours, those of other libraries, and those whose library is missing."""

    ours: tuple[str, ...]
    competitors: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """What is not compared, and how to change that."""
        if not self.missing:
            return ""
        extras = dict.fromkeys(
            library.extra for name in self.missing if (library := COMPETITORS[name].library)
        )
        return (
            f"not installed, so not compared: {', '.join(self.missing)}. Use: pip install "
            f"'pmcnet[{','.join(extras)}]'"
        )


def method_names(text: str) -> MethodNames:
    """Names from a list with commas.

    "all" is every method whose library is there; "quick" is what "auto" chooses among ours, and
    every competitor whose library is there.
    """
    if text in (ALL, QUICK):
        there = tuple(name for name, one in COMPETITORS.items() if one.installed)
        missing = tuple(name for name in COMPETITORS if name not in there)
        return MethodNames(tuple(names_at_hand()) if text == ALL else ("auto",), there, missing)
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        _check(name)
    ours = tuple(name for name in names if name not in COMPETITORS)
    if not ours:
        raise InputError(
            "--methods must name at least one method of pmcnet, on whose page the comparison is; "
            f"got {', '.join(names) or 'none'}. Use e.g. --methods {','.join(['auto', *names])}."
        )
    return MethodNames(ours, tuple(name for name in names if name in COMPETITORS))


def _check(name: str) -> None:
    if name in COMPETITORS:
        library = COMPETITORS[name].library
        if library is not None:
            library.require(name)
    elif name != "auto" and name not in METHODS:
        raise InputError(
            f"--methods takes auto, {', '.join(METHODS)}; of other libraries "
            f"{', '.join(COMPETITORS)}; or all, or quick. Got {name!r:.60}."
        )


class Spending(NamedTuple):
    """What may be spent: the budget of each of our methods, and seconds of each competitor."""

    budget: float | str | None
    limit: float

    def remark(self, names: MethodNames) -> str:
        """In words, where there are competitors."""
        if not names.competitors:
            return ""
        ours = f"budget {self.budget} for pmcnet, then " if self.budget else ""
        n = len(names.competitors)
        what = (
            "one model of another library" if n == 1 else f"each of {n} models of other libraries"
        )
        return f"{ours}at most {self.limit:g} s for {what}."


def spending(methods: str, budget: str | None, limit: float | str | None) -> Spending:
    """What was asked for, else the defaults, which are smaller for "quick".

    Args:
        methods: as given.
        budget: of pmcnet's methods, None for the default.
        limit: of competitors, likewise.
    """
    quick = methods == QUICK
    seconds = QUICK_LIMIT if quick else LIMIT
    if limit is not None:
        seconds = seconds_of(limit, "--limit")
    return Spending(budget or (QUICK_BUDGET if quick else None), seconds)

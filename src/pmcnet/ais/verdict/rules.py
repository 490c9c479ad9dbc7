"""What a verdict is: a status, the reason with what to do, and the limits that were applied.

Each sampler has an ordered list of rules, in a file of its own beside this one. The first rule that
is broken decides the status; where none is, the posterior is trustworthy. A verdict carries the
limits that were applied, so that reports print those and no others.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

Status = Literal["trustworthy", "doubtful", "degenerate"]
STATUSES: tuple[Status, ...] = ("trustworthy", "doubtful", "degenerate")
"""From the best to the worst."""

NO_LIMITS: Mapping[str, float] = MappingProxyType({})


class Verdict(NamedTuple):
    """`status`, the `reason` with what to do in a sentence or two, and the `limits` applied."""

    status: Status
    reason: str
    limits: Mapping[str, float] = NO_LIMITS

    def __str__(self) -> str:
        return f"{self.status}: {self.reason}"


class Rule(NamedTuple):
    """If it is `broken`, the draws have this `status`, because of the `finding`."""

    broken: bool
    status: Status
    finding: str
    remedy: str


def unmeasured(reason: str) -> Verdict:
    """Doubtful: draws of a method whose distance from the posterior nothing measures."""
    return Verdict("doubtful", reason)


def first_broken(rules: Iterator[Rule], reason: str, limits: Mapping[str, float]) -> Verdict:
    """That of the first broken rule, or trustworthy for a reason."""
    for rule in rules:
        if rule.broken:
            return Verdict(rule.status, f"{rule.finding}. {rule.remedy}", limits)
    return Verdict("trustworthy", reason, limits)

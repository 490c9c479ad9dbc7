"""Which of the compared methods to use, and why, in one sentence.

Two methods are compared by the paired differences of their losses over test rows. One is ahead
where the mean difference exceeds two of its standard errors; otherwise they are within a tie.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

FEWEST_ROWS = 10
"""Test rows below which nothing is recommended."""
CLEAR = 2.0
"""Standard errors by which a method must be ahead."""
MOST_NAMED = 3
"""Methods within a tie that are named."""
NOMINAL = 0.9
"""Coverage that intervals should have."""


class Standing(NamedTuple):
    """A method that came to a prediction.

    Args:
        name: as the table has it.
        ours: whether it is one of pmcnet's, and no other library's.
        verdict: on one of ours.
        losses: of each test row, by name.
        coverage: of its 90 % intervals.
        seconds: of its fit.
    """

    name: str
    ours: bool
    verdict: str | None
    losses: Mapping[str, Values]
    coverage: float | None
    seconds: float


class Lead(NamedTuple):
    """How far a method is ahead of another on average, and the standard error of that."""

    mean: float
    error: float

    @classmethod
    def of(cls, first: Values, other: Values) -> Self:
        """Of the first, from the losses of both (N,)."""
        finite = np.isfinite(first), np.isfinite(other)
        if not (finite[0].all() and finite[1].all()):
            gain = float(finite[0].all()) - float(finite[1].all())
            return cls(math.copysign(math.inf, gain) if gain else 0.0, 0.0)
        difference = other - first
        return cls(
            float(difference.mean()), float(difference.std(ddof=1) / math.sqrt(len(difference)))
        )

    @property
    def clear(self) -> bool:
        """Whether it is more than chance."""
        return self.mean > CLEAR * self.error

    @property
    def text(self) -> str:
        """The amount with its standard error, to the place where the error begins."""
        if math.isinf(self.mean):
            return "infinitely much"
        place = max(0, -math.floor(math.log10(self.error))) if self.error > 0 else 3
        return f"{self.mean:.{place}f} ± {self.error:.{place}f}"


class Score(NamedTuple):
    """A loss by which methods are compared, in words."""

    loss: str
    title: str
    unit: str = ""


LIKELIHOOD = Score("nll", "log-likelihood", " nats per row")
CRPS = Score("crps", "CRPS")


def recommendation(standings: Sequence[Standing], n_rows: int) -> str:
    """The sentence.

    Args:
        standings: of the methods that came to a prediction.
        n_rows: test rows.
    """
    if n_rows < FEWEST_ROWS:
        return (
            f"{n_rows} test row{'s'[: n_rows != 1]} cannot tell methods apart: give more rows, or "
            "a larger --test-share."
        )
    usable = [one for one in standings if one.verdict != "degenerate"]
    score = LIKELIHOOD if any(LIKELIHOOD.loss in one.losses for one in usable) else CRPS
    ranked = sorted(
        (one for one in usable if score.loss in one.losses),
        key=lambda one: float(one.losses[score.loss].mean()),
    )
    if not ranked:
        return "Use none of them: every run is degenerate."
    mixed = len({one.ours for one in standings}) > 1
    parts = [_choice(ranked, score, mixed), *_remarks(ranked, usable, standings, score)]
    return "; ".join(part for part in parts if part) + "."


def _choice(ranked: Sequence[Standing], score: Score, mixed: bool) -> str:
    """The best, or those that tie with it: it, the best of ours and the fastest by name."""
    best, *others = ranked
    if not others:
        return f"Use {_full(best, mixed)}: no other method has a {score.title} to compare"
    group = [best, *_tied(best, others, score)]
    if len(group) == 1:
        mine = next((one for one in others if one.ours), None)
        other = others[0] if best.ours or mine is None else mine
        what = "the next best" if other is others[0] else "the best of pmcnet"
        lead = _lead(best, other, score)
        return (
            f"Use {_full(best, mixed)}: its {score.title} is ahead of that of {other.name}, "
            f"{what}, by {lead.text}{score.unit}"
        )
    fastest = min(group, key=lambda one: one.seconds)
    mine = next((one for one in group if one.ours), best)
    named = group
    if len(group) > MOST_NAMED:
        named = [one for one in group if one is best or one is mine or one is fastest]
    shown = " or ".join(_full(one, mixed) for one in named)
    n_more = len(group) - len(named)
    more = f" or {n_more} other{'s'[: n_more != 1]}" if n_more > 0 else ""
    behind = next((one for one in others if one.ours), None)
    beyond = ""
    if behind is not None and not any(one.ours for one in group):
        by = f"{_lead(best, behind, score).text}{score.unit}"
        beyond = f"; {best.name} is ahead of {behind.name}, the best of pmcnet, by {by}"
    apart = f"{_lead(best, group[1], score).text}{score.unit}"
    return (
        f"Use {shown}{more}: their {score.title}s are within a tie ({apart} between {best.name} "
        f"and {group[1].name}), and {fastest.name} is the fastest of them, in "
        f"{fastest.seconds:.2g} s{beyond}"
    )


def _remarks(
    ranked: Sequence[Standing], usable: Sequence[Standing], every: Sequence[Standing], score: Score
) -> list[str]:
    """What else a user should know before following it."""
    best, remarks = ranked[0], []
    mine = next((one for one in ranked if one.ours), None)
    if mine is not None and not best.ours:
        remarks.append(_beside(mine, best))
    for one in usable:
        if one is not best and score is LIKELIHOOD and score.loss not in one.losses:
            lead = _lead(one, best, CRPS)
            if lead.clear:
                remarks.append(
                    f"{one.name}, which has no density, is ahead of {best.name} in CRPS by "
                    f"{lead.text}"
                )
    remarks += [
        f"the verdict of {one.name} is {one.verdict}"
        for one in every
        if one.verdict in ("doubtful", "degenerate") and (one is mine or one.verdict != "doubtful")
    ]
    return remarks


def _beside(mine: Standing, best: Standing) -> str:
    """How the best of ours compares with a better one in other respects."""
    loss, title = ("error", "accuracy") if mine.coverage is None else ("mse", "RMSE")
    relation = _relation(mine, best, Score(loss, title))
    said = [f"beside {best.name}, {mine.name} is {relation} in {title}"]
    if mine.coverage is not None and best.coverage is not None:
        chance = CLEAR * math.sqrt(NOMINAL * (1 - NOMINAL) / len(mine.losses[loss]))
        if abs(mine.coverage - NOMINAL) < abs(best.coverage - NOMINAL) - chance:
            said.append(
                f"covers better ({mine.coverage:.0%} of rows against {best.coverage:.0%}, of 90 %)"
            )
    return " and ".join(said)


def _relation(one: Standing, other: Standing, score: Score) -> str:
    if _lead(one, other, score).clear:
        return "ahead"
    return "behind" if _lead(other, one, score).clear else "within a tie"


def _tied(best: Standing, others: Sequence[Standing], score: Score) -> list[Standing]:
    return [one for one in others if not _lead(best, one, score).clear]


def _lead(one: Standing, other: Standing, score: Score) -> Lead:
    return Lead.of(one.losses[score.loss], other.losses[score.loss])


def _full(one: Standing, mixed: bool) -> str:
    """The name, and whose it is where that is not plain."""
    return f"{one.name} (pmcnet)" if one.ours and mixed else one.name

"""Which of several models the data prefer: by log Z of small islands, the simplest where open.

Every alternative is annealed by a few small islands with the same seed. Their disagreement gives
the standard error of log Z, and an alternative competes with the best one where the two differ by
no more than two errors of the difference. Of those that compete the first one given, the simplest,
is chosen. Log Z of different units of y are compared in the same ones: `offset`.

Short runs leave log Z too small, by more nats than models may differ. Where annealing goes by way
of another alternative, its first waypoint, one run compares the two: the difference of log Z there
and at the end is that of the same particles, and so is its error, from the islands' differences.

Where time is limited, a run that outlasts it is abandoned, and its alternative does not compete.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from pmcnet.ais.agreement import standard_error
from pmcnet.ais.annealed.state import islands_evidence_error
from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.ais.diagnostics import log_evidence
from pmcnet.ais.islands.algorithm import Islands
from pmcnet.bnn import BayesianTarget

_ERRORS = 2.0
"""Standard errors of a difference of log Z up to which two alternatives compete."""


class Alternative(NamedTuple):
    """A model with its name; `offset` is what its log Z is short of, in the units of all.

    `waypoint` is the name of the alternative that the target's first waypoint is, if any.
    """

    name: str
    target: BayesianTarget
    offset: float = 0.0
    waypoint: str = ""


class _Abandoned(Exception):
    """A run has taken all the time there is."""


class Comparison(NamedTuple):
    """Log Z of an alternative with its standard error, and what its islands took.

    `waypoint` names the alternative whose run it shares, if any; `gain_error` is the standard error
    of the difference to that one alone.
    """

    name: str
    log_evidence: float
    log_evidence_error: float
    seconds: float
    waypoint: str = ""
    gain_error: float = 0.0


def compared(
    alternative: Alternative,
    sampler: Islands,
    *,
    seed: int,
    max_seconds: float = math.inf,
    comm: Communicator = SERIAL,
) -> list[Comparison]:
    """Run an alternative's islands: its comparison, after that of its waypoint.

    Nothing where that takes more than `max_seconds`.
    """
    reached: list[Tensor] = []

    def watch(state: Any, info: Any) -> None:
        if state.seconds > max_seconds:  # every process has the same
            raise _Abandoned
        if state.batch.stage == 1 and not reached:
            reached.append(state.batch.island_log_evidence)

    try:
        result = sampler.run(alternative.target, seed=seed, observers=[watch], comm=comm)
    except _Abandoned:
        return []
    last = comm.agreed(result.state.log_evidences) + alternative.offset  # (G,)
    (seconds,) = comm.agreed(last.new_tensor([result.state.seconds])).tolist()
    if not (alternative.waypoint and reached):
        return [_comparison(alternative.name, last, seconds)]
    first = comm.agreed(reached[0]) + alternative.offset
    simpler, gain = _comparison(alternative.waypoint, first, 0.0), last - first
    own = _comparison(alternative.name, last, seconds)._replace(
        log_evidence=simpler.log_evidence + float(gain.mean()),
        waypoint=alternative.waypoint,
        gain_error=float(standard_error(gain)),
    )
    return [simpler, own]


def _comparison(name: str, log_z: Tensor, seconds: float) -> Comparison:
    """From log Z by each island (G,)."""
    return Comparison(name, float(log_evidence(log_z)), islands_evidence_error(log_z), seconds)


def simplest(found: Sequence[Comparison]) -> int:
    """The first of those whose log Z is within two errors of the largest."""
    top = max(found, key=lambda each: each.log_evidence)

    def competes(each: Comparison) -> bool:
        noise = math.hypot(each.log_evidence_error, top.log_evidence_error)
        if top.waypoint == each.name:
            noise = top.gain_error
        if each.waypoint == top.name:
            noise = each.gain_error
        return top.log_evidence - each.log_evidence <= _ERRORS * noise

    return next(i for i, each in enumerate(found) if competes(each))


def choose(
    alternatives: Sequence[Alternative],
    sampler: Islands,
    *,
    seed: int,
    known: Sequence[Comparison] = (),
    max_seconds: float = math.inf,
    progress: Callable[[Comparison], None] | None = None,
    comm: Communicator = SERIAL,
) -> tuple[int, list[Comparison]]:
    """The position of the chosen alternative, and the comparisons made, in the order of these.

    The first alternative where there was no time for any comparison.

    Args:
        alternatives: the simplest first.
        sampler: of each.
        seed: of each.
        known: comparisons made before; those of the same name are not made again.
        max_seconds: of all comparisons that are made; one that takes longer is abandoned.
        progress: called with each that is made.
        comm: shares each run between processes.
    """
    found, left = {each.name: each for each in known}, max_seconds
    for alternative in sorted(alternatives, key=lambda each: not each.waypoint):  # two at once
        if alternative.name in found or left <= 0:
            continue
        made = compared(alternative, sampler, seed=seed, max_seconds=left, comm=comm)
        left = left - sum(each.seconds for each in made) if made else 0.0
        for each in made:
            found[each.name] = each
            if progress is not None:
                progress(each)
    names = [alternative.name for alternative in alternatives]
    ordered = [found[name] for name in names if name in found]
    return (names.index(ordered[simplest(ordered)].name) if ordered else 0), ordered

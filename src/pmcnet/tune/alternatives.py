"""Which of several models the data prefer: by log Z of small islands, the simplest where open.

Every alternative is annealed by a few small islands with the same seed. Their disagreement gives
the standard error of log Z, and an alternative competes with the best one where the two differ by
no more than two errors of the difference. Of those that compete the first one given, the simplest,
is chosen. Log Z of different units of y are compared in the same ones: `offset`.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.ais.islands.algorithm import Islands
from pmcnet.bnn import BayesianTarget

_ERRORS = 2.0
"""Standard errors of a difference of log Z up to which two alternatives compete."""


class Alternative(NamedTuple):
    """A model with its name; `offset` is what its log Z is short of, in the units of all."""

    name: str
    target: BayesianTarget
    offset: float = 0.0


class Comparison(NamedTuple):
    """Log Z of an alternative with its standard error, and what its islands took."""

    name: str
    log_evidence: float
    log_evidence_error: float
    seconds: float


def compared(
    alternative: Alternative, sampler: Islands, *, seed: int, comm: Communicator = SERIAL
) -> Comparison:
    """Run an alternative's islands."""
    result = sampler.run(alternative.target, seed=seed, comm=comm)
    numbers = torch.tensor(
        [result.log_evidence, result.log_evidence_error, result.state.seconds], dtype=torch.float64
    )
    log_z, error, seconds = comm.agreed(numbers).tolist()
    return Comparison(alternative.name, log_z + alternative.offset, error, seconds)


def simplest(found: Sequence[Comparison]) -> int:
    """The first of those whose log Z is within two errors of the largest."""
    top = max(found, key=lambda each: each.log_evidence)

    def competes(each: Comparison) -> bool:
        noise = math.hypot(each.log_evidence_error, top.log_evidence_error)
        return top.log_evidence - each.log_evidence <= _ERRORS * noise

    return next(i for i, each in enumerate(found) if competes(each))


def choose(
    alternatives: Sequence[Alternative],
    sampler: Islands,
    *,
    seed: int,
    known: Sequence[Comparison] = (),
    progress: Callable[[Comparison], None] | None = None,
    comm: Communicator = SERIAL,
) -> tuple[int, list[Comparison]]:
    """The position of the chosen alternative, and all comparisons in the order of these.

    Args:
        alternatives: the simplest first.
        sampler: of each.
        seed: of each.
        known: comparisons made before; those of the same name are not made again.
        progress: called with each that is made.
        comm: shares each run between processes.
    """
    before = {each.name: each for each in known}
    found = []
    for alternative in alternatives:
        each = before.get(alternative.name)
        if each is None:
            each = compared(alternative, sampler, seed=seed, comm=comm)
            if progress is not None:
                progress(each)
        found.append(each)
    return simplest(found), found

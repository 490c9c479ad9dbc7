"""The easier posteriors that annealing reaches on its way to that of a network.

Where rows are many, most tempering steps are made on some of them: each waypoint has a quarter of
the rows of the next. Where a likelihood names a simpler one, the first waypoint has that.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pmcnet.bnn.target import BayesianTarget

GROWTH = 4
"""Rows of a waypoint in those of the one before."""
FEWEST_ROWS = 1000
"""Rows of a waypoint, at least."""


def waypoints_of(target: "BayesianTarget") -> list["BayesianTarget"]:
    """In their order; the rows of a target are in random order, so the first ones are a sample."""
    sizes, n = [], len(target.x) // GROWTH
    while n >= FEWEST_ROWS:
        sizes.append(n)
        n //= GROWTH
    found = [target.at(slice(0, n)) for n in reversed(sizes)]
    if (simpler := target.likelihood.simpler) is not None:
        found.insert(0, replace(found[0] if found else target, likelihood=simpler))
    return found

"""The smallest number of steps after which a metric no longer changes: METHOD, section 6."""

from collections.abc import Sequence

from pmcnet.errors import InputError


def smallest_stable(values: Sequence[float], *, tolerance: float) -> int:
    """The smallest T, from 1, from which on every value stays within `tolerance` of the last.

    Args:
        values: the metric after each step, on validation rows.
        tolerance: largest difference that counts as no change.
    """
    if not values or tolerance < 0:
        raise InputError(
            "smallest_stable needs at least one value and a tolerance that is not negative."
        )
    stable = len(values)
    while stable > 1 and abs(values[stable - 2] - values[-1]) <= tolerance:
        stable -= 1
    return stable

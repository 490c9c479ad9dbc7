"""Whether polished particles have left the places where annealing put them.

Islands that all stop short of the posterior agree. While they settle, networks keep the fit that
annealing gave them, or improve it slowly, all islands alike.
"""

import math

import torch
from torch import Tensor

from pmcnet.ais.comm import Communicator
from pmcnet.ais.islands.state import UNKNOWN_DRIFT, Polish, Settling
from pmcnet.ais.path import Path, Points
from pmcnet.ais.tiling import in_groups
from pmcnet.ais.verdict import DRIFT_ERRORS


def settled(polish: Polish, path: Path, points: Points, comm: Communicator) -> Polish:
    """With what the particles, after one more round at `points`, still show of annealing."""
    n = polish.fit.shape[1]
    found = comm.agreed(in_groups(points.log_likelihood, n))  # (G, P)
    fit = torch.cat([polish.fit, found.mean(1)[None]])  # (R, G)
    before = in_groups(polish.frozen.log_likelihood, n)
    numbers = [
        prediction_correlation(path, polish.frozen.theta, points.theta, n),
        _mean(correlation(before[..., None], found[..., None])),
        *drift_bounds(fit, found.var(1).mean().sqrt()),
    ]
    numbers = comm.agreed(fit.new_tensor(numbers)).tolist()
    return polish._replace(fit=fit, settling=Settling(*numbers))


def prediction_correlation(path: Path, before: Tensor, after: Tensor, n_islands: int) -> float:
    """Correlation of predictions of particles (n, D) with their earlier ones, within islands.

    The mean over the predictions, of coordinates the largest: each of them has to be forgotten.
    """
    early, late = (
        in_groups(path.predictions(theta).mean.flatten(1), n_islands) for theta in (before, after)
    )
    each = correlation(early, late)
    return _largest(each) if path.quantity == "coordinates" else _mean(each)


def correlation(early: Tensor, late: Tensor) -> Tensor:
    """Correlations of values (G, P, S) with earlier ones, about the means of the groups: (S,)."""
    a, b = early - early.mean(1, keepdim=True), late - late.mean(1, keepdim=True)
    each = (a * b).sum((0, 1)) / (a.square().sum((0, 1)) * b.square().sum((0, 1))).sqrt()
    return each.clamp(-1, 1)


def drift_bounds(fit: Tensor, spread: Tensor) -> tuple[float, float]:
    """The least and the most by which a mean changes from the first half of rounds to the second.

    They are the change, of either sign, without and with `DRIFT_ERRORS` of its standard errors.

    Args:
        fit: means of each island after each round (R, G).
        spread: standard deviation in whose units the change is.
    """
    half, n = len(fit) // 2, fit.shape[1]
    if not half or n < 2:
        return 0.0, UNKNOWN_DRIFT
    change = fit[-half:].mean(0) - fit[:half].mean(0)  # (G,)
    size, margin = change.mean().abs(), DRIFT_ERRORS * change.std() / math.sqrt(n)
    if not size + margin:  # a constant
        return 0.0, 0.0
    least, most = float((size - margin) / spread), float((size + margin) / spread)
    return (max(0.0, least), most) if math.isfinite(most) else (0.0, UNKNOWN_DRIFT)


def _mean(each: Tensor) -> float:
    """Of those that vary; 0 where none does."""
    known = each[each.isfinite()]
    return float(known.mean()) if len(known) else 0.0


def _largest(each: Tensor) -> float:
    """Of those that vary; 0 where none does."""
    known = each[each.isfinite()]
    return float(known.max()) if len(known) else 0.0

"""The stages of annealing: from the prior to the first waypoint, and on to the target.

A target's `waypoints` are targets with the same parameters and prior that are easier to reach, such
as one with some of the rows. Log Z adds up over the stages: each stage estimates the ratio of the
normalising constants at its ends. Without waypoints the only stage is the tempered path itself.
"""

from itertools import pairwise

from pmcnet.ais.annealed.between import Between
from pmcnet.ais.annealed.state import AnnealedState
from pmcnet.ais.comm import Communicator
from pmcnet.ais.hmc.shared_kernel import shared_start
from pmcnet.ais.path import Path
from pmcnet.ais.tempered import Tempered


def stages_of(path: Path) -> list[Path]:
    """A path for each stage; kept with the path, so that captured graphs are shared."""
    if path.stages is None:
        waypoints = getattr(path.target, "waypoints", ())
        if not waypoints:
            path.stages = [path]
            return path.stages
        ends = [*waypoints, path.target]
        between = [Path(Between(*pair)) for pair in pairwise(ends)]
        path.stages = [Path(waypoints[0]), *between]
    return path.stages


def gradient_cost(path: Path, stage: int) -> float:
    """What a gradient of a stage costs, in those of the target."""
    target = stages_of(path)[stage].target
    ends = (target.start, target.goal) if isinstance(target, Between) else (target,)
    return sum(_n_terms(end) for end in ends) / _n_terms(path.target)


def _n_terms(target: Tempered) -> float:
    return float(getattr(target, "n_terms", 1))


def onward(state: AnnealedState, path: Path, comm: Communicator) -> AnnealedState:
    """The end of a stage as the start of the next one; that of the last at the target itself."""
    stages = stages_of(path)
    last = state.stage == len(stages) - 1
    following = path if last else stages[state.stage + 1]
    points = shared_start(following, state.points.theta, comm)
    if last:
        return state._replace(points=points)
    return state._replace(points=points, beta=0.0, stage=state.stage + 1)

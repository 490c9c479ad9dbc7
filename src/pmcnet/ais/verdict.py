"""Whether draws can stand for their target: every status, threshold, rule and remedy, in one place.

Each sampler has an ordered list of rules. The first rule that is broken decides the status; where
none is, the posterior is trustworthy. A verdict carries the limits that were applied, so that
reports print those and no others.
"""

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from scipy.special import stdtrit  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.ais import diagnostics

if TYPE_CHECKING:
    from pmcnet.ais.annealed.result import AnnealedResult
    from pmcnet.ais.hmc.result import ChainResult

Status = Literal["trustworthy", "doubtful", "degenerate"]
STATUSES: tuple[Status, ...] = ("trustworthy", "doubtful", "degenerate")
"""From the best to the worst."""

MIN_ESS = 100.0
"""Effective draws below which averages are noisy: their error exceeds a tenth of the spread."""
DEGENERATE_ESS = 10.0
"""Effective draws below which the weighted draws are a handful of points, not a distribution."""
MAX_KHAT = 0.7
"""Pareto k-hat above which averages are unreliable, however many draws there are."""
INFINITE_MEAN_KHAT = 1.0
"""Pareto k-hat above which the weights have no finite mean."""
MIN_ANCESTORS = 5.0
"""Effective ancestors below which the genealogy does not show the error of log Z."""
MIN_ACCEPTANCE = 0.2
"""Acceptance rate below which particles or chains count as stuck."""
MAX_DRIFT = 0.25
"""Standard deviations by which the last moves may shift a monitored mean."""
MAX_RHAT = 1.05
"""R-hat from which chains disagree, or have not settled."""
DRIFT_LEVEL = 1e-3
"""Probability of calling stationary chains drifting."""
SIGNIFICANT_DRIFT = 4.0
"""Standard errors from which a shift of a monitored mean counts."""
MIN_CHAIN_DRAWS = 4
"""Draws of each chain below which nothing can be said."""

BETTER_START = (
    "Use the annealed method, a better start or more draws; do not read the spread as uncertainty."
)
MORE_PARTICLES = "Use more particles, or a larger ess_fraction."
MORE_MOVES = "Use more moves (a smaller max_correlation, a larger max_moves) or more particles."
LONGER_CHAINS = "Run longer: more warm-up, more draws."

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


def verdict(log_weight: Tensor, *, remedy: str = BETTER_START) -> Verdict:
    """Judge draws by their weights alone."""
    flat = log_weight.flatten()
    n, ess, khat = flat.numel(), float(diagnostics.ess(flat)), diagnostics.khat(flat)
    limits = {
        "ess": MIN_ESS,
        "degenerate_ess": DEGENERATE_ESS,
        "khat": khat_limit(n),
        "degenerate_khat": INFINITE_MEAN_KHAT,
    }
    reason = f"{ess:.0f} of {n} draws are effective and k-hat is {khat:.2f}."
    return _first_broken(_weight_rules(flat, ess, khat, remedy), reason, limits)


def annealed_verdict(result: "AnnealedResult") -> Verdict:
    """Judge particles by how they reached the target, and by their weights."""
    by_weights = verdict(result.samples.log_weight, remedy=MORE_PARTICLES)
    limits = {
        **by_weights.limits,
        "ancestors": MIN_ANCESTORS,
        "acceptance": MIN_ACCEPTANCE,
        "drift": MAX_DRIFT,
    }
    effective = f"{result.samples.ess:.0f} of {result.samples.n_draws} draws are effective"
    moved = f"the last moves shifted no monitored mean by {MAX_DRIFT} standard deviations"
    known = f"log Z is known to {result.log_evidence_error:.2g}"
    by_path = _first_broken(_annealed_rules(result), f"{effective}, {moved}, and {known}.", limits)
    worst = max(by_path, by_weights, key=lambda found: STATUSES.index(found.status))
    return worst._replace(limits=limits)


def chain_verdict(result: "ChainResult") -> Verdict:
    """Judge parallel chains by whether they agree, have settled, and have moved."""
    n_chains = result.log_density.shape[1]
    limits = {
        "ess": MIN_ESS,
        "acceptance": MIN_ACCEPTANCE,
        "drift": max_chain_drift(n_chains),
        "rhat": MAX_RHAT,
        "draws": float(MIN_CHAIN_DRAWS),
    }
    if len(result.log_density) < MIN_CHAIN_DRAWS:
        few = f"there are {len(result.log_density)} draws of each chain, too few to judge"
        return Verdict("degenerate", f"{few}. {LONGER_CHAINS}", limits)
    agree = f"R-hat of the predictions is {result.rhat:.3f}, {result.ess:.0f} draws are effective"
    reason = f"{agree}, and log pi does not drift."
    return _first_broken(_chain_rules(result, limits), reason, limits)


def unmeasured(reason: str) -> Verdict:
    """Doubtful: draws of a method whose distance from the posterior nothing measures."""
    return Verdict("doubtful", reason)


def khat_limit(n_draws: int) -> float:
    """The largest k-hat at which n draws suffice, min(1 - 1 / log10 n, 0.7)."""
    return min(1 - 1 / math.log10(n_draws), MAX_KHAT) if n_draws > 10 else 0.0


def max_chain_drift(n_chains: int) -> float:
    """Standard errors by which log pi of stationary chains may differ: Student's quantile."""
    return float(stdtrit(n_chains - 1, 1 - DRIFT_LEVEL / 2)) if n_chains > 1 else math.inf


def _weight_rules(log_weight: Tensor, ess: float, khat: float, remedy: str) -> Iterator[Rule]:
    n, top = log_weight.numel(), float(diagnostics.max_weight(log_weight))
    yield Rule(
        ess < DEGENERATE_ESS and n >= DEGENERATE_ESS,
        "degenerate",
        f"only {ess:.1f} of {n} draws carry the weight (the largest alone {top:.0%}), so they are "
        "a few points and not a posterior",
        remedy,
    )
    yield Rule(
        ess < MIN_ESS,
        "doubtful",
        f"the effective number of draws is {ess:.0f} of {n}, below {MIN_ESS:.0f}",
        remedy,
    )
    yield Rule(
        khat > INFINITE_MEAN_KHAT,
        "degenerate",
        f"k-hat is {khat:.2f}, above {INFINITE_MEAN_KHAT:.0f}: the weights have no finite mean",
        remedy,
    )
    limit = khat_limit(n)
    yield Rule(
        khat > limit,
        "doubtful",
        f"k-hat is {khat:.2f}, above {limit:.2f}: rare draws may dominate",
        remedy,
    )


def _annealed_rules(result: "AnnealedResult") -> Iterator[Rule]:
    state = result.state
    yield Rule(
        state.beta < 1,
        "degenerate",
        f"the run stopped at inverse temperature {state.beta:.3g} of 1",
        "Continue it from its state.",
    )
    yield Rule(
        state.least_ess < DEGENERATE_ESS,
        "degenerate",
        f"one tempering step left {state.least_ess:.1f} effective particles, so the draws are "
        "copies of a few",
        "Let ess_fraction choose the ladder.",
    )
    if result.history:
        last = result.history[-1]
        stuck = "no particle was moved"
        if last.n_moves:
            stuck = f"only {last.acceptance:.0%} of the last moves were accepted"
        yield Rule(
            not last.acceptance > MIN_ACCEPTANCE,
            "doubtful",
            f"{stuck}, so copies of one particle stay copies",
            MORE_MOVES,
        )
        yield Rule(
            last.drift > MAX_DRIFT,
            "doubtful",
            f"the last moves shifted a monitored mean by {last.drift:.2f} standard deviations, so "
            "the particles had not kept up with the tempering",
            MORE_MOVES,
        )
    n_ancestors = state.n_ancestors
    yield Rule(
        n_ancestors < MIN_ANCESTORS,
        "doubtful",
        f"the particles descend from {n_ancestors:.1f} effective ancestors, so the error of log Z "
        "is unknown and modes may be missing",
        MORE_MOVES,
    )


def _chain_rules(result: "ChainResult", limits: Mapping[str, float]) -> Iterator[Rule]:
    yield Rule(
        not result.acceptance > MIN_ACCEPTANCE,
        "doubtful",
        f"only {result.acceptance:.0%} of the trajectories were accepted",
        LONGER_CHAINS,
    )
    yield Rule(
        abs(result.drift) > limits["drift"],
        "doubtful",
        f"log pi still drifts, by {result.drift:.1f} standard errors over the draws: the chains "
        "had not reached the posterior when the draws began",
        LONGER_CHAINS,
    )
    yield Rule(
        not result.log_density_rhat < MAX_RHAT,
        "doubtful",
        f"log pi of single chains has not settled (R-hat {result.log_density_rhat:.3f} about "
        f"their means, which should be below {MAX_RHAT}): they still drift, or move too slowly",
        LONGER_CHAINS,
    )
    yield Rule(
        not result.rhat < MAX_RHAT,
        "doubtful",
        f"chains differ in what they predict (R-hat {result.rhat:.3f}, which should be below "
        f"{MAX_RHAT}), so each knows a part of the posterior",
        LONGER_CHAINS,
    )
    yield Rule(
        result.ess < MIN_ESS,
        "doubtful",
        f"{result.ess:.0f} draws are effective; {MIN_ESS:.0f} are needed",
        LONGER_CHAINS,
    )


def _first_broken(rules: Iterator[Rule], reason: str, limits: Mapping[str, float]) -> Verdict:
    for rule in rules:
        if rule.broken:
            return Verdict(rule.status, f"{rule.finding}. {rule.remedy}", limits)
    return Verdict("trustworthy", reason, limits)

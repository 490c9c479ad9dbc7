"""The verdict on draws by their weights alone."""

import math
from collections.abc import Iterator

from torch import Tensor

from pmcnet.ais import diagnostics
from pmcnet.ais.verdict.limits import DEGENERATE_ESS, INFINITE_MEAN_KHAT, MAX_KHAT, MIN_ESS
from pmcnet.ais.verdict.rules import Rule, Verdict, first_broken

BETTER_START = (
    "Use the annealed method, a better start or more draws; do not read the spread as uncertainty."
)


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
    return first_broken(_weight_rules(flat, ess, khat, remedy), reason, limits)


def khat_limit(n_draws: int) -> float:
    """The largest k-hat at which n draws suffice, min(1 - 1 / log10 n, 0.7)."""
    return min(1 - 1 / math.log10(n_draws), MAX_KHAT) if n_draws > 10 else 0.0


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

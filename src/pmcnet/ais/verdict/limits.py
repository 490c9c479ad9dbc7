"""Every threshold of every verdict."""

from collections.abc import Mapping
from types import MappingProxyType

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
SEPARATE_RHAT = 2.0
"""R-hat from which chains or islands are in different places, and nothing can be said."""
MIXED_RHAT = 1.1
"""R-hat of single chains from which each stays near the mode where it began. Chains that training
has brought to modes agree then, group by group, and miss the posterior: with R-hat of 1.2 and 1.6
their predictions were off by .19 and .24 standard deviations where .02 and .04 were stated."""
LASTING_RHAT = 1.5
"""The same, from which time does not lead them out: near 2 and above on six UCI tables, 1.0 after
three times as many draws where it was 1.16."""
STUCK_RHAT = 10.0
"""R-hat of single chains from which they have not left the places they began in."""
MIN_ISLANDS = 2
"""Islands below which their disagreement is unknown."""
MAX_ERROR: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"values": (0.05, 0.10), "probabilities": (0.01, 0.03), "coordinates": (0.05, 0.10)}
)
"""Monte Carlo error that predictions may have at the median row and at the 90th percentile, of
coordinates at the worst one: in predictive standard deviations, of probabilities the total
variation."""
LEAST_GROUPS = 4
"""Chains from which their disagreement in predictions says more than R-hat."""
STOPPING_SHARE = 0.8
"""Share of these limits at which a run ends: the error is itself known by a few islands only."""
MAX_SHIFT = 0.2
"""Predictive standard deviations by which predictions may shift while they are averaged."""
MAX_POLISH_CORRELATION: Mapping[str, float] = MappingProxyType(
    {"values": 0.9, "probabilities": 0.9, "coordinates": 0.5}
)
"""Correlation of predictions with those before polishing, on average, of coordinates the largest,
from which particles count as still where annealing left them."""
MAX_FIT_CORRELATION = 0.25
"""Correlation of the log-likelihood with that before polishing, from which polishing goes on."""
MAX_FIT_DRIFT = 0.05
"""Standard deviations of the log-likelihood by which its mean has changed, at the least, between
the halves of polishing, from which islands still drift. Those of the bank that have settled stay
below 0.03; those that stop short of the posterior alike are mostly above 0.08."""
SETTLED_DRIFT = 0.15
"""The same, at the most, from which islands polish on while there is time: 0.1 and 0.19 there."""
DRIFT_ERRORS = 2.0
"""Standard errors between such a change and its least and its most."""
MAX_GROUP_DRIFT = 0.1
"""Standard deviations of log pi by which its mean over the chains may change, significantly, over
the draws."""
KNOWN_EVIDENCE = 1.0
"""Standard error of log Z, in nats, up to which evidences can be compared."""
MIN_CHAIN_DRAWS = 4
"""Draws of each chain below which nothing can be said."""

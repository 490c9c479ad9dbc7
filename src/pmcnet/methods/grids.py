"""The settings among which each baseline is tuned: six for every method, so that none gets more chances than another.

Each is a choice of the method's own settings and of the prior's scale; a method that knows no prior
chooses more of its own. The prior's standard deviation is under "prior_std".
"""

from collections.abc import Mapping
from itertools import product

from pmcnet.methods.registry import Value

Choice = Mapping[str, Value]
N_CHOICES = 6
_PRIORS = (0.5, 1.0, 3.0)


def _grid(**settings: tuple[Value, ...]) -> tuple[Choice, ...]:
    return tuple(dict(zip(settings, values, strict=True)) for values in product(*settings.values()))


GRIDS: Mapping[str, tuple[Choice, ...]] = {
    "adam-mle": _grid(
        early_stopping=(True, False), learning_rate=(1e-3, 3e-3, 1e-2), prior_std=(1.0,)
    ),
    "adam-map": _grid(early_stopping=(True, False), learning_rate=(1e-2,), prior_std=_PRIORS),
    "ensemble": _grid(early_stopping=(True, False), learning_rate=(1e-2,), prior_std=_PRIORS),
    "bbp": _grid(early_stopping=(True, False), learning_rate=(3e-3,), prior_std=_PRIORS),
    "sgld": _grid(learning_rate=(1e-3, 3e-3), prior_std=_PRIORS),
    "psgld": _grid(learning_rate=(1e-3, 1e-2), prior_std=_PRIORS),
    "sghmc": _grid(step=(3e-3, 1e-2), prior_std=_PRIORS),
    "mc-dropout": _grid(rate=(0.05, 0.2, 0.5), prior_std=(1.0, 3.0)),
    "sae": _grid(step=(0.02, 0.1), prior_std=_PRIORS),
    "laplace": _grid(subset=("last-layer", "all"), prior_std=(0.3, 1.0, 3.0)),
    "nuts": _grid(prior_std=(0.3, 0.5, 1.0, 2.0, 3.0, 5.0)),
}


def parts(choice: Choice) -> tuple[dict[str, Value], float]:
    """The method's own settings of a choice, and the prior's scale."""
    own = dict(choice)
    sigma = own.pop("prior_std")
    assert isinstance(sigma, int | float)
    return own, float(sigma)

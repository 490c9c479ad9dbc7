"""The prior's scale by the loss on validation rows: METHOD, section 6."""

import math
from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from pmcnet import ais
from pmcnet.ais.comm import agreed
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.errors import DivergedError
from pmcnet.tune.golden_section import Search, golden_section


def validation_prior(
    target: BayesianTarget,
    fit: Callable[[BayesianTarget], ParticlePosterior],
    validation: tuple[Tensor, Tensor],
    *,
    weight: Tensor | None = None,
    low: float = 0.05,
    high: float = 20.0,
    n_trials: int = 6,
    progress: Callable[[float, float], None] | None = None,
    comm: ais.Communicator = ais.SERIAL,
) -> Search:
    """The scale of `target.prior` whose posterior predicts the validation rows best.

    Args:
        target: of the training rows.
        fit: makes the posterior of a target; where it diverges the loss is infinite.
        validation: rows (x, y) that `fit` does not see.
        weight: how often each of them counts (N,); once when absent.
        low: smallest scale tried.
        high: largest scale tried.
        n_trials: about how many fits.
        progress: called with the scale and the loss, -mean log p(y | x), of each trial.
        comm: processes that search together, if `fit` is shared between them.
    """

    def loss(sigma: float) -> float:
        try:
            found = fit(replace(target, prior=target.prior.rescaled(sigma))).log_predictive(
                *validation
            )  # (N,)
            value = float(
                -found.mean() if weight is None else -(weight * found).sum() / weight.sum()
            )
        except DivergedError:
            value = math.inf
        value = agreed(comm, value)
        if progress is not None:
            progress(sigma, value)
        return value

    return golden_section(loss, low, high, n_trials=n_trials)

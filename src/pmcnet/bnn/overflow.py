"""Networks and rows whose predictions are not finite are refused, with a remedy."""

import torch
from torch import Tensor

from pmcnet.bnn.target import BayesianTarget
from pmcnet.errors import DivergedError, InputError

SMALLER_STEPS = "Use a smaller learning_rate, or scale the data."


def refuse_diverged(target: BayesianTarget, theta: Tensor, remedy: str = SMALLER_STEPS) -> Tensor:
    """The networks (P, D), if predictions and likelihoods of some training rows are finite.

    Args:
        target: what they were fitted to.
        theta: the networks.
        remedy: the last sentence of the error.
    """
    few = target.monitored()
    pieces = torch.split(theta, max(1, few.memory // few.bytes_per_point))
    n_bad = sum(int(_diverged(few, piece).sum()) for piece in pieces)
    if n_bad:
        raise DivergedError(
            f"the fit diverged: the predictions of {n_bad} of {len(theta)} networks, or their "
            f"likelihoods, are not finite numbers. {remedy}"
        )
    return theta


def _diverged(target: BayesianTarget, theta: Tensor) -> Tensor:
    """Which of the networks (P,) do not predict the rows."""
    weights, extra = target.parts(theta)
    with torch.no_grad():
        output = target.network(weights, target.x.to(target.device))
        good = (
            target.likelihood.mean(output, extra).flatten(1).isfinite().all(1)
            & target.log_likelihood(theta).isfinite()
            & theta.isfinite().all(1)
            & target.likelihood.usable(extra)
        )
    return ~good


def refuse_overflow(bad: Tensor, dtype: torch.dtype) -> None:
    """Raise where a row's prediction is not a finite number.

    Args:
        bad: whether it is not, by row (N,).
        dtype: in which the networks were evaluated.
    """
    if bool(bad.any()):
        raise InputError(
            f"the networks overflow {str(dtype).removeprefix('torch.')} on {int(bad.sum())} of "
            f"{len(bad)} rows, first on row {int(bad.nonzero()[0, 0]) + 1}: these lie too far from "
            "the training rows. Correct or drop them."
        )

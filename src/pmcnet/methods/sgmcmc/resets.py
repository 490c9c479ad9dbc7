"""Chains on mini-batches that diverge are reset to where they were.

A step that is too long for the curvature of a moment can take a chain, within a few more, to where
log pi is lower by orders of magnitude. It does not come back from there, its gradients spoil a
metric that chains share, and its draws spoil the average. Noise does not do this: at temperature 1
each of D directions holds half a nat on average, so a whole way from a mode to where the mass is
lowers log pi by about D / 2. A chain whose log-likelihood over the batches of an epoch falls by
more than 2 D + 50 nats below the last epoch's, or is not a number, has diverged, in this epoch or
at the end of the last one. It is reset to the beginning of the last epoch, the latest place that is
known to be good, with velocity 0; the metric is reset with it. From there on its step h is half of
what it was, and grows back over ten epochs: any h that is short enough has the same posterior.
Where a thousandth is not short enough, the fit has diverged.
"""

import torch
from torch import Tensor

from pmcnet.errors import DivergedError
from pmcnet.methods.sgmcmc.diagonal_metric import Metric

_MOST_EACH, _MOST_ELSE = 2.0, 50.0  # nats that a chain may fall, for each parameter and besides
_LEAST_SHARE = 2.0**-10
_GROWTH = 2**0.1  # of a step that was halved, in an epoch


class Resets:
    """Where P chains are reset to, and how often they were.

    Args:
        theta: where they start (P, D).
        level: log-likelihoods there (P,).
        metric: of their steps.
    """

    def __init__(self, theta: Tensor, level: Tensor, metric: Metric) -> None:
        self._metric = metric
        self._level = level.double().clone()
        self._good = _copied(theta, metric)
        self._begun = self._good
        self._most = _MOST_EACH * theta.shape[1] + _MOST_ELSE
        self.n_resets = torch.zeros(len(theta), dtype=torch.int64, device=theta.device)
        self._share = theta.new_ones(len(theta), 1)  # of the step
        self._shorter = False

    @property
    def parts(self) -> dict[str, Tensor]:
        """What a checkpoint needs, by name."""
        good = {f"good_{name}": part for name, part in self._good.items()}
        return {"level": self._level, "n_resets": self.n_resets, "share": self._share, **good}

    def begin(self, theta: Tensor) -> None:
        """An epoch begins here (P, D)."""
        self._begun, self._shorter = _copied(theta, self._metric), bool((self._share < 1).any())

    def shortened(self, gradient: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients and noise (P, D) of a step, h C g + sqrt(h s C) z, shorter for some chains."""
        if not self._shorter:
            return gradient, noise
        return gradient * self._share, noise * self._share.sqrt()

    def judge(self, level: Tensor, theta: Tensor, velocity: Tensor, *, searching: bool) -> Tensor:
        """Reset chains that diverged in the epoch that ends, and say which (P,).

        Args:
            level: log-likelihoods over its batches (P,).
            theta: where chains are (P, D), changed.
            velocity: theirs (P, D), changed.
            searching: whether they are meant to leave where they are, and none is reset.
        """
        level = level.double()
        diverged = ~(level > self._level - self._most)  # also where it is not a number
        diverged &= not searching
        self._share *= torch.where(diverged[:, None], 0.5, _GROWTH)
        self._share.clamp_(max=1)
        if not bool(diverged.any()):
            self._level, self._good = level, self._begun
            return diverged
        last = torch.where(diverged[:, None], self._good["theta"], self._begun["theta"])
        theta[diverged], velocity[diverged] = last[diverged], 0.0
        self._metric.reset(self._good, diverged)
        self._level = torch.where(diverged, self._level, level)
        self._good = _copied(last, self._metric)
        self.n_resets += diverged
        if bool((self._share < _LEAST_SHARE).any()):
            raise DivergedError(
                "the fit diverged: a chain left its network again and again, with a thousandth of "
                "the step too. Use a smaller step."
            )
        return diverged


def _copied(theta: Tensor, metric: Metric) -> dict[str, Tensor]:
    return {name: part.clone() for name, part in {"theta": theta, **metric.parts}.items()}

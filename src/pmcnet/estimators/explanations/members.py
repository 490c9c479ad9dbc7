"""Equally weighted networks of a model, and what each of them predicts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn import ParticlePosterior
from pmcnet.bnn.likelihoods.response import Units
from pmcnet.bnn.overflow import refuse_overflow
from pmcnet.errors import InputError
from pmcnet.estimators.predictions import Array

if TYPE_CHECKING:
    from pmcnet.estimators.fitted_model import FittedModel

_NUMBERS = 1 << 22  # of one result, so that it stays in the cache


@dataclass(frozen=True, eq=False)
class Members:
    """R networks, and the units of their predictions.

    Args:
        posterior: the networks.
        units: of y; that of probabilities is 1.
        classes: whose probability is asked for: the second of two, or all; none of numbers.
    """

    posterior: ParticlePosterior
    units: Units
    classes: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: "FittedModel", n_networks: int) -> Self:
        """Networks drawn from the posterior of a model, as many of each island."""
        if isinstance(n_networks, bool) or not isinstance(n_networks, int) or n_networks < 2:
            raise InputError(
                f"n_networks must be a whole number of at least 2; got {n_networks!r:.40}. A "
                "spread needs several networks."
            )
        posterior = model.thinned(n_networks).posterior_
        return cls(posterior, model._units(), explained_classes(model))

    @property
    def n_networks(self) -> int:
        """R."""
        return self.posterior.samples.n_draws

    def means(self, inputs: Tensor) -> Array:
        """E[y] in units of y, or the probabilities of `classes`: (R, N, K)."""
        chosen = slice(1, None) if len(self.classes) == 1 else slice(None)
        likelihood = self.posterior.likelihood

        def predicted(output: Tensor, extra: Tensor, _: slice) -> Tensor:
            return likelihood.mean(output, extra)[..., chosen]

        return self.units.values(self._each(inputs, predicted))

    def log_prob(self, inputs: Tensor, targets: Tensor) -> Array:
        """Log p(y_n | network r), in the network's units of y: (R, N)."""
        likelihood = self.posterior.likelihood

        def density(output: Tensor, extra: Tensor, rows: slice) -> Tensor:
            return likelihood.log_prob(output, targets[rows], extra)[..., None]

        return self._each(inputs, density)[..., 0]

    def _each(self, inputs: Tensor, asked: Callable[[Tensor, Tensor, slice], Tensor]) -> Array:
        """What is asked of each network's outputs, a chunk of rows after the other (R, N, K)."""
        network, n_parameters = self.posterior.network, self.posterior.network.layout.dim
        theta, extra = torch.tensor_split(self.posterior.theta, [n_parameters], dim=1)
        found = []
        with torch.no_grad():
            for start in range(0, len(inputs), self._n_rows):
                rows = slice(start, start + self._n_rows)
                part = asked(network(theta, inputs[rows]), extra, rows).double()
                refuse_overflow(~part.isfinite().all(-1).all(0), inputs.dtype)
                found.append(part.cpu().numpy())
        return np.concatenate(found, axis=1)

    @property
    def _n_rows(self) -> int:
        """Rows of a chunk."""
        per_row = self.n_networks * max(1, self.posterior.network.numbers_per_input)
        return max(1, min(self.posterior.memory // (8 * per_row), _NUMBERS // self.n_networks))


def explained_classes(model: "FittedModel") -> tuple[str, ...]:
    """The classes whose probability is explained: the second of two, all of more."""
    classes = [str(name) for name in getattr(model, "classes_", ())]
    return tuple(classes[1:] if len(classes) == 2 else classes)


def output_of(classes: tuple[str, ...], class_name: str | None) -> int:
    """The place of a class among those explained; the last where none is named."""
    if class_name is None:
        return max(0, len(classes) - 1)
    if str(class_name) not in classes:
        raise InputError(
            f"class_name must be one of {', '.join(classes) or 'none'}; got {class_name!r:.60}."
        )
    return classes.index(str(class_name))

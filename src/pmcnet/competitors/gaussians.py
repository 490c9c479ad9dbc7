"""Predictions with a density: a mixture of Gaussians on each row."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.special import logsumexp, ndtri  # type: ignore[import-untyped]

from pmcnet.competitors.base import Array, RowPredictions

N_DRAWS = 10_000
"""Draws of a row, at least, behind the quantiles of a mixture."""


class Units(NamedTuple):
    """Where a target lies and how far it spreads, in the training rows."""

    centre: float
    spread: float

    @classmethod
    def of(cls, y: Array) -> Self:
        """Average and standard deviation; a constant target is only centred."""
        return cls(float(y.mean()), float(y.std()) or 1.0)

    def scaled(self, y: Array) -> Array:
        """With mean 0 and deviation 1 on the training rows."""
        return (y - self.centre) / self.spread


@dataclass(frozen=True)
class Gaussians:
    """A mixture of K equally weighted Gaussians on each of N rows: `means`, `deviations` (K, N)."""

    means: Array
    deviations: Array

    @classmethod
    def in_units(cls, means: Array, deviations: Array, units: Units) -> "Gaussians":
        """Of what was predicted for a scaled y."""
        return cls(units.centre + units.spread * means, units.spread * deviations)

    @property
    def mean(self) -> Array:
        """Of the mixture (N,)."""
        return np.asarray(self.means.mean(0))

    def tested(self, y: Array, levels: Array) -> RowPredictions:
        """All that a density tells."""
        return RowPredictions(self.mean, self.log_density(y), self.quantiles(levels))

    def log_density(self, y: Array) -> Array:
        """Of the mixture at each y (N,)."""
        z = (y - self.means) / self.deviations
        each = -0.5 * z**2 - np.log(np.sqrt(2 * np.pi) * self.deviations)
        return np.asarray(logsumexp(each, axis=0) - np.log(len(each)))

    def quantiles(self, levels: Array) -> Array:
        """Exact for one Gaussian; of a mixture from draws, equally many of each component."""
        if len(self.means) == 1:
            return np.asarray(self.means + self.deviations * ndtri(levels)[:, None])
        source, found = np.random.default_rng(0), []
        n_each = -(-N_DRAWS // len(self.means))
        for mean, deviation in zip(self.means.T, self.deviations.T, strict=True):  # (K,) of a row
            level = np.arange(n_each)[:, None] + source.uniform(size=(n_each, len(mean)))
            found.append(np.quantile(mean + deviation * ndtri(level / n_each), levels))
        return np.stack(found, axis=1)

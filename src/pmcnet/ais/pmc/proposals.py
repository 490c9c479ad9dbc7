"""M Gaussian proposals N(mu_m, Sigma_m): drawing from them, and the densities of their draws."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.ais.scale import Scale
from pmcnet.ais.tiling import tile_bytes, tiles
from pmcnet.io.state_checks import check_tensor
from pmcnet.rng import Stream, standard_normal


class Proposals(NamedTuple):
    """Means `loc` (M, D) and covariances `scale` of M Gaussians."""

    loc: Tensor
    scale: Scale

    @property
    def n_proposals(self) -> int:
        """M."""
        return self.loc.shape[0]

    @property
    def dim(self) -> int:
        """D."""
        return self.loc.shape[1]

    def check(self) -> None:
        """Refuse what is not made of finite means and positive definite covariances."""
        check_tensor(self.loc, "loc", 2)
        self.scale.check(self.loc)

    def take(self, block: slice) -> "Proposals":
        """Some of the M."""
        return Proposals(self.loc[block], self.scale.take(block))

    def draw(self, sources: Sequence[Stream], n_draws: int) -> Tensor:
        """K draws from each proposal, mu_m + L_m z, z from its own stream: (M, K, D)."""
        noise = standard_normal(sources, (n_draws, self.dim), like=self.loc)  # (M, K, D)
        return self.scale.colour_(noise).add_(self.loc[:, None])

    def log_prob(self, theta: Tensor) -> Tensor:
        """Log-density of each proposal at its own draws: (M, K, D) -> (M, K), float64."""
        return _log_normal(theta - self.loc[:, None], self.scale.inverse(), self.scale.log_det)

    def log_mixture(self, theta: Tensor, memory: int) -> Tensor:
        """Log of the mixture (1/M) sum_i N(theta; mu_i, Sigma_i): (n, D) -> (n,), float64.

        Differences theta - mu_i are taken before scaling: the expanded square would cancel where
        proposals are narrow.

        Args:
            theta: points, of any origin.
            memory: bytes of temporaries allowed; the result does not depend on it.
        """
        n_bytes = tile_bytes(theta.device, memory)
        row_bytes = self.dim * theta.element_size()
        per_proposal = row_bytes * min(len(theta), max(1, n_bytes // row_bytes))
        per_proposal = max(per_proposal, self.scale.numbers_per_block * theta.element_size())
        total = torch.full((len(theta),), -torch.inf, dtype=torch.float64, device=theta.device)
        # Two buffers for all tiles: fresh memory for each would cost as much as the products.
        size = max(self.dim, min(n_bytes // theta.element_size(), self.n_proposals * theta.numel()))
        buffers = theta.new_empty(2, size)
        for block in tiles(self.n_proposals, per_proposal, n_bytes):
            scale = self.scale.take(block)
            loc, inverse, log_det = self.loc[block, None], scale.inverse(), scale.log_det
            for rows in tiles(len(theta), row_bytes * len(loc), n_bytes):
                shape = (len(loc), rows.stop - rows.start, self.dim)
                delta, white = (buffer[: math.prod(shape)].view(shape) for buffer in buffers)
                torch.sub(theta[rows], loc, out=delta)
                log_prob = _log_normal(delta, inverse, log_det, white)  # (block, rows)
                mixed = log_prob[0] if len(loc) == 1 else log_prob.logsumexp(0)
                total[rows] = torch.logaddexp(total[rows], mixed)
        return total - math.log(self.n_proposals)


def _log_normal(
    delta: Tensor, inverse: Scale, log_det: Tensor, buffer: Tensor | None = None
) -> Tensor:
    """log N(delta_m; 0, Sigma_m) for differences (M, n, D), overwritten; sums in float64."""
    white = inverse.colour_(delta, buffer)
    distance: Tensor = torch.linalg.vector_norm(white, dim=-1, dtype=torch.float64)  # (M, n)
    constant = log_det + 0.5 * delta.shape[-1] * math.log(2 * math.pi)
    return -0.5 * distance.square() - constant[:, None]

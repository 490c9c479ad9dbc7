"""Quantiles of mixtures of normal distributions on the CPU, by one compiled search for each row.

torch evaluates all components on all rows for each step of the search; here a few rows stay in
registers until they are found.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn.likelihoods.mixture_quantiles import MOST_TRIALS, SLACK, TAIL, TOLERANCE
from pmcnet.threads import in_parallel

_LEAST = 20_000  # components times rows: less is not worth it
_LEAST_ROWS = 32  # the lanes of a vector
_PIECE = 512  # rows


def applies(mean: Tensor, deviation: Tensor, levels: Sequence[float]) -> bool:
    """Whether the compiled search finds the quantiles as torch would, and sooner.

    Tails need double precision, and so do mixtures that overflow.
    """
    return (
        mean.device.type == "cpu"
        and mean.dtype == torch.float32
        and mean.numel() >= _LEAST
        and mean.shape[1] >= _LEAST_ROWS
        and all(min(level, 1 - level) >= TAIL for level in levels)
        and bool((mean.abs().amax() < 1e15) & (deviation.abs().amax() < 1e15))
        and bool((deviation > 1e-15).all())
        and _search() is not None
    )


def normal_quantiles(
    mean: Tensor,
    deviation: Tensor,
    weight: Tensor,
    levels: Sequence[float],
    standard: Sequence[float],
) -> Tensor:
    """Quantiles (N, Q) of each row's mixture.

    Args:
        mean: of each component on each row (J, N).
        deviation: standard deviations (J, 1), or (J, N) where they depend on the row.
        weight: of the components (J,), with sum 1.
        levels: Q probabilities.
        standard: the normal distribution's own quantiles.
    """
    n_rows, search = mean.shape[1], _search()
    assert search is not None
    result = np.empty((len(levels), n_rows), np.float32)
    fixed = (
        mean.contiguous().view(-1).numpy(),
        (1 / deviation).contiguous().view(-1).numpy(),
        weight.to(mean.dtype).contiguous().numpy(),
        np.array(levels),
        np.array(standard),
    )
    settings = (MOST_TRIALS, TOLERANCE[torch.float32], SLACK)

    def find(start: int) -> None:
        rows = (start, min(start + _PIECE, n_rows))
        search(*fixed, rows, n_rows, settings, result.reshape(-1))

    in_parallel(find, range(0, n_rows, _PIECE))
    return torch.from_numpy(result).mT


@lru_cache(maxsize=1)
def _search() -> Callable[..., None] | None:
    """The compiled search; None without numba."""
    try:
        from pmcnet.bnn.kernels.code_cache import compiled
        from pmcnet.bnn.kernels.cpu.mixture_kernel import quantiles, signature
    except ImportError:
        return None
    return compiled(quantiles, signature(), "quantiles")

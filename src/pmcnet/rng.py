"""Randomness as an argument: one counter-based stream for each (seed, step, block).

A block is a proposal, or a fixed group of particles. Streams are made on the host and their numbers copied to the
device, so the same seed gives the same noise whatever the device, the chunking or the number of processes.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from pmcnet.errors import InputError

Stream = np.random.Generator

# Below this many numbers starting threads costs more than it saves.
_PARALLEL_FROM = 1 << 17


def check_seed(seed: int) -> int:
    """Return `seed` as an int, or raise if it is not a whole number in [0, 2^64)."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise InputError(f"seed must be a whole number from 0 to 2**64 - 1; got {seed!r}.")
    return int(seed)


def stream(seed: int, step: int, block: int) -> Stream:
    """The random stream of one block in one step.

    Philox is keyed by the seed; step and block are the high words of its counter, so no two streams of a seed overlap.
    """
    return np.random.Generator(np.random.Philox(key=[seed, 0], counter=[0, 0, step, block]))


def streams(seed: int, step: int, n_blocks: int) -> list[Stream]:
    """The streams of blocks 0 to n_blocks - 1 in one step."""
    return [stream(seed, step, block) for block in range(n_blocks)]


def standard_normal(sources: Sequence[Stream], shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Standard normal noise, one block of `shape` from each stream; dtype and device of `like`."""
    noise = torch.empty((len(sources), *shape), dtype=like.dtype)  # (M, *shape), on the host
    view = noise.numpy()

    def fill(block: int) -> None:
        sources[block].standard_normal(out=view[block], dtype=view.dtype)

    n_threads = torch.get_num_threads()
    if noise.numel() < _PARALLEL_FROM or n_threads == 1:
        for block in range(len(sources)):
            fill(block)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(fill, range(len(sources))))
    return noise.to(like.device)


def uniform(sources: Sequence[Stream], n: int, like: Tensor) -> Tensor:
    """Uniform numbers in [0, 1), `n` from each stream, always float64; device of `like`."""
    return torch.as_tensor(np.stack([source.random(n) for source in sources]), device=like.device)  # (M, n)

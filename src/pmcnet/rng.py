"""Randomness as an argument: one stream for each (seed, step, block).

A block is a proposal or a group of particles.

Streams live where the work is: numpy's Philox on the host, torch's Philox on a GPU, where copying
noise would cost more than the step. Either way a block's numbers depend on its (seed, step, block)
alone, so results do not depend on chunking, on the order in which blocks are placed or on the
number of processes. Host streams may also feed a GPU, which then sees the same noise as the host.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.threads import in_parallel


class Stream(NamedTuple):
    """The numbers of one block in one step: uniforms from `host`, noise from `device`."""

    host: np.random.Generator
    device: torch.Generator | None = None


HOST = torch.device("cpu")

# Below this many numbers starting threads costs more than it saves.
_PARALLEL_FROM = 1 << 17


def check_seed(seed: int) -> int:
    """Return `seed` as an int, or raise if it is not a whole number in [0, 2^64)."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise InputError(f"seed must be a whole number from 0 to 2**64 - 1; got {seed!r}.")
    return int(seed)


def stream(seed: int, step: int, block: int, device: torch.device = HOST) -> Stream:
    """The stream of one block in one step.

    Philox is keyed by the seed; step and block are the high words of its counter, so no two streams
    of a seed overlap. A GPU's generator is seeded by the first number of the host's.
    """
    host = np.random.Generator(np.random.Philox(key=[seed, 0], counter=[0, 0, step, block]))
    if device.type == "cpu":
        return Stream(host)
    return Stream(host, torch.Generator(device).manual_seed(int(host.bit_generator.random_raw())))


def streams(seed: int, step: int, n_blocks: int, device: torch.device = HOST) -> Sequence[Stream]:
    """The streams of blocks 0 to n_blocks - 1 in one step."""
    return [stream(seed, step, block, device) for block in range(n_blocks)]


def standard_normal(sources: Sequence[Stream], shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Standard normal noise, one block of `shape` from each stream; dtype and device of `like`."""
    on_host = sources[0].device is None
    noise = torch.empty(
        (len(sources), *shape), dtype=like.dtype, device=HOST if on_host else like.device
    )

    def fill(block: int) -> None:
        host, device = sources[block]
        if device is None:
            view = noise[block].numpy()
            host.standard_normal(out=view, dtype=view.dtype)
        else:
            noise[block].normal_(generator=device)

    if on_host and noise.numel() >= _PARALLEL_FROM:
        in_parallel(fill, range(len(sources)))
    else:
        for block in range(len(sources)):
            fill(block)
    return noise.to(like.device)  # (M, *shape)


def uniform(sources: Sequence[Stream], n: int, like: Tensor) -> Tensor:
    """Uniform numbers in [0, 1), `n` from each stream, always float64; device of `like`."""
    return torch.as_tensor(
        np.stack([source.host.random(n) for source in sources]), device=like.device
    )  # (M, n)


def many_uniform(source: Stream, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Uniform numbers in [0, 1) from the device of the noise: a GPU need not wait."""
    if source.device is None:
        return torch.as_tensor(source.host.random(shape)).to(like)
    return torch.rand(shape, generator=source.device, dtype=like.dtype, device=like.device)

"""Randomness as an argument: one stream for each (seed, step, block), a block being a proposal or a group of particles.

Streams live where the work is: numpy's Philox on the host, torch's Philox on a GPU, where copying noise would cost more
than the step. Either way a block's numbers depend on its (seed, step, block) alone, so results do not depend on
chunking, on the order in which blocks are placed or on the number of processes. Host streams may also feed a GPU,
which then sees the same noise as the host.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from pmcnet.errors import InputError

HostStream = np.random.Generator
Stream = HostStream | torch.Generator

# Below this many numbers starting threads costs more than it saves.
_PARALLEL_FROM = 1 << 17


def check_seed(seed: int) -> int:
    """Return `seed` as an int, or raise if it is not a whole number in [0, 2^64)."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise InputError(f"seed must be a whole number from 0 to 2**64 - 1; got {seed!r}.")
    return int(seed)


def host_stream(seed: int, step: int, block: int) -> HostStream:
    """The random stream of one block in one step, on the host.

    Philox is keyed by the seed; step and block are the high words of its counter, so no two streams of a seed overlap.
    """
    return np.random.Generator(np.random.Philox(key=[seed, 0], counter=[0, 0, step, block]))


def streams(seed: int, step: int, n_blocks: int, device: torch.device) -> Sequence[Stream]:
    """The streams of blocks 0 to n_blocks - 1 in one step, on this device."""
    hosts = [host_stream(seed, step, block) for block in range(n_blocks)]
    if device.type == "cpu":
        return hosts
    # The device's stream is seeded by the first number of the host's.
    return [torch.Generator(device).manual_seed(int(host.bit_generator.random_raw())) for host in hosts]


def standard_normal(sources: Sequence[Stream], shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Standard normal noise, one block of `shape` from each stream; dtype and device of `like`."""
    where = "cpu" if isinstance(sources[0], HostStream) else like.device
    noise = torch.empty((len(sources), *shape), dtype=like.dtype, device=where)  # (M, *shape)

    def fill(block: int) -> None:
        source = sources[block]
        if isinstance(source, HostStream):
            view = noise[block].numpy()
            source.standard_normal(out=view, dtype=view.dtype)
        else:
            noise[block].normal_(generator=source)

    n_threads = torch.get_num_threads()
    if where != "cpu" or noise.numel() < _PARALLEL_FROM or n_threads == 1:
        for block in range(len(sources)):
            fill(block)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(fill, range(len(sources))))
    return noise.to(like.device)


def uniform(sources: Sequence[Stream], n: int, like: Tensor) -> Tensor:
    """Uniform numbers in [0, 1), `n` from each stream, always float64; device of `like`."""
    rows = [
        torch.as_tensor(source.random(n))
        if isinstance(source, HostStream)
        else torch.rand(n, generator=source, dtype=torch.float64, device=like.device)
        for source in sources
    ]
    return torch.stack(rows).to(like.device)  # (M, n)

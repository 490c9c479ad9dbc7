"""Sizes of pieces that stay in cache, or fill the GPU, within the memory given."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

# Small enough to stay in cache between the operations on it, large enough for a matrix product to
# run at full speed.
_CPU_TILE = 8 << 20
_GPU_TILE = 256 << 20


def tile_bytes(device: torch.device, memory: int) -> int:
    """Bytes of one tile on this device when `memory` bytes of temporaries are allowed."""
    return max(1, min(_CPU_TILE if device.type == "cpu" else _GPU_TILE, memory // 4))


def free_memory(device: torch.device) -> int:
    """Half of the bytes that are free on the device, or on the host; 1 GiB if unknown."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] // 2
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 1 << 30
    found = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return 1024 * found[0] // 2 if found else 1 << 30


def tiles(n: int, bytes_each: int, n_bytes: int) -> Iterator[slice]:
    """Slices of 0..n, each of as many items as fit in n_bytes and at least one."""
    size = max(1, n_bytes // bytes_each)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def even_size(n: int, most: int) -> int:
    """The size of pieces of n, at most `most`: a divisor of n unless that is much smaller.

    Pieces of one shape are what compiled code wants.
    """
    if n <= most:
        return n
    return next((size for size in range(most, most // 2, -1) if n % size == 0), most)


def in_groups(value: Tensor, n: int) -> Tensor:
    """Equal groups of consecutive items: (P, ...) -> (n, P / n, ...)."""
    return value.reshape(n, len(value) // n, *value.shape[1:])

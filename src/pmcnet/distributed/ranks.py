"""Processes of torch.distributed as a `Communicator`: gloo between hosts, nccl between GPUs."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
import torch.distributed as dist
from torch import Tensor

from pmcnet.errors import InputError, ProcessLostError

N_BLOCKS = 8
"""Blocks that a population is cut into; up to so many processes give the same bits as one."""


class Ranks:
    """The processes of the default group, which must exist.

    Args:
        device: where messages are made: the GPU of this process with nccl, else the host.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.n_bytes = 0  # received so far
        self.n_messages = 0

    def blocks(self, n: int) -> Sequence[slice]:
        """This process's blocks: of min(n, 8), or of as many as there are processes if more."""
        bounds = self._bounds(n)
        first, last = (i * (len(bounds) - 1) // self.size for i in (self.rank, self.rank + 1))
        return [slice(bounds[i], bounds[i + 1]) for i in range(first, last)]

    def gather(self, n: int, parts: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
        """All tensors in one message, as bytes."""
        own = [
            pieces[0] if len(pieces) == 1 else torch.cat(pieces)
            for pieces in zip(*parts, strict=True)
        ]
        counts = self._counts(n)
        mine = torch.cat([_bytes(tensor) for tensor in own]).to(self.device)
        each = len(mine) // counts[self.rank]  # bytes for one item
        padded = mine.new_empty(each * max(counts))
        padded[: len(mine)] = mine
        received = [torch.empty_like(padded) for _ in counts]
        self._exchange(lambda: dist.all_gather(received, padded), each * (n - counts[self.rank]))
        found: list[list[Tensor]] = [[] for _ in own]
        for count, message in zip(counts, received, strict=True):
            start = 0
            for pieces, like in zip(found, own, strict=True):
                stop = start + count * (like.nbytes // len(like))
                piece = message[start:stop].to(like.device).clone()  # aligned, as a clone is
                pieces.append(piece.view(like.dtype).reshape(count, *like.shape[1:]))
                start = stop
        return tuple(torch.cat(pieces) for pieces in found)

    def agreed(self, value: Tensor) -> Tensor:
        """Rank 0's value."""
        message = value.to(self.device).contiguous().clone()
        self._exchange(lambda: dist.broadcast(message, src=0), value.nbytes)
        return message.to(value.device)

    def sum(self, value: Tensor) -> Tensor:
        """Added up in the order of the backend; the same bits for all."""
        message = value.to(self.device).contiguous().clone()
        self._exchange(lambda: dist.all_reduce(message), value.nbytes)
        return message.to(value.device)

    def share(self, data: bytes | None) -> bytes:
        """The first process's bytes, which the others need not have."""
        size = torch.tensor(len(data or b""), dtype=torch.int64)
        message = torch.zeros(int(self.agreed(size)), dtype=torch.uint8)
        if self.rank == 0 and data:
            message = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        return self.agreed(message).cpu().numpy().tobytes() if len(message) else b""

    def _bounds(self, n: int) -> list[int]:
        n_blocks = min(n, max(N_BLOCKS, self.size))
        if self.size > n_blocks:
            raise InputError(
                f"{self.size} processes cannot share {n} proposals, chains or groups of "
                f"particles: some would have none. Use at most {n_blocks} processes."
            )
        return [i * n // n_blocks for i in range(n_blocks + 1)]

    def _counts(self, n: int) -> list[int]:
        """How many of n items each process has."""
        bounds = self._bounds(n)
        at = [bounds[i * (len(bounds) - 1) // self.size] for i in range(self.size + 1)]
        return [stop - start for start, stop in pairwise(at)]

    def _exchange(self, call: Callable[[], object], n_bytes: int) -> None:
        self.n_bytes += n_bytes
        self.n_messages += 1
        try:
            call()
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
        except RuntimeError as error:  # torch's errors of processes that are gone
            raise ProcessLostError(
                f"process {self.rank} of {self.size} lost touch with the others "
                f"({str(error).splitlines()[0]:.200}). One of them has ended, or cannot be reached "
                "any more."
            ) from error


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.detach().contiguous().flatten().view(torch.uint8)

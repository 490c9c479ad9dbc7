"""Threads for pieces of work that are large enough to be worth one.

torch shares each operation between its threads, which meet at a barrier after it and spin there. On
a busy machine one of them is often not running, and all the others wait: small operations then take
hundreds of times longer. `in_parallel` has one meeting for all of a computation instead, and the
caller does what the others did not begin; `coarse` keeps torch's own operations on one thread.
"""

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Found = TypeVar("Found")

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_local = threading.local()  # n_threads: what torch had before `coarse`; busy: with pieces


def n_threads() -> int:
    """How many threads a computation may use: torch's setting, which follows OMP_NUM_THREADS.

    One within a piece of `in_parallel`: pieces of pieces stay together.
    """
    if getattr(_local, "busy", False):
        return 1
    return int(getattr(_local, "n_threads", 0)) or torch.get_num_threads()


@contextmanager
def coarse(wanted: bool = True) -> Iterator[None]:
    """Let torch use one thread in this block, and `in_parallel` as many as torch had before."""
    if not wanted or hasattr(_local, "n_threads"):
        yield
        return
    _local.n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(_local.n_threads)
        del _local.n_threads


def in_parallel(work: Callable[[Piece], None], pieces: Sequence[Piece]) -> None:
    """Call `work` with every piece, in any order, on as many threads as `n_threads` says.

    Worth it where the work releases Python's lock and a piece takes a tenth of a millisecond or
    more.
    """
    n_helpers = min(n_threads(), len(pieces)) - 1
    if n_helpers < 1:
        for piece in pieces:
            work(piece)
        return
    remaining = iter(pieces)  # advanced under Python's lock, so no piece is taken twice

    def drain() -> None:
        _local.busy = True
        try:
            for piece in remaining:
                work(piece)
        finally:
            _local.busy = False

    helpers = [_helpers(n_helpers).submit(drain) for _ in range(n_helpers)]
    try:
        drain()
    finally:
        # one that has not begun by now has nothing left to do
        begun = [helper for helper in helpers if not helper.cancel()]
        failed = [helper.exception() for helper in begun]
    for error in failed:
        if error is not None:
            raise error


def mapped(
    work: Callable[[Piece], Found], pieces: Sequence[Piece], *, parallel: bool
) -> list[Found]:
    """What `work` finds for every piece, in their order; see `in_parallel`."""
    if not parallel:
        return [work(piece) for piece in pieces]
    found: dict[int, Found] = {}

    def put(index: int) -> None:
        found[index] = work(pieces[index])

    in_parallel(put, range(len(pieces)))
    return [found[index] for index in range(len(pieces))]


def even_slices(whole: slice, n: int) -> list[slice]:
    """A slice in n slices of nearly equal size, none empty."""
    size = whole.stop - whole.start
    ends = [whole.start + size * k // n for k in range(n + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(ends) if a < b]


def _helpers(n: int) -> ThreadPoolExecutor:
    """At least n threads whose own torch operations stay on them."""
    global _pool, _pool_size
    with _lock:
        if _pool is None or _pool_size < n:
            before, everyone = torch.get_num_threads(), threading.Barrier(n + 1)
            _pool, _pool_size = ThreadPoolExecutor(n, "pmcnet", torch.set_num_threads, (1,)), n
            for _ in range(n):
                _pool.submit(everyone.wait)
            everyone.wait()
            torch.set_num_threads(before)  # what threads of the caller's own begin with
        return _pool


def _forget() -> None:
    """Threads do not survive a fork."""
    global _pool, _pool_size, _lock
    _pool, _pool_size, _lock = None, 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

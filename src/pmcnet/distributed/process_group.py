"""The processes that torchrun has started, if it has, and how this one joins them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, rendezvous  # type: ignore[attr-defined]

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.distributed.ranks import Ranks
from pmcnet.errors import InputError, ProcessLostError

TIMEOUT = "PMCNET_TIMEOUT"
"""Environment variable: seconds that a process waits for the others."""
_SECONDS = 600.0


def is_one_of_many() -> bool:
    """Whether torchrun has started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def is_follower() -> bool:
    """Whether torchrun has started this process, and another is the first."""
    return is_one_of_many() and os.environ["RANK"] != "0"


def n_restarts() -> int:
    """How often torchrun has started the processes again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def own_device(device: torch.device) -> torch.device:
    """This process's GPU, where there are several on a host."""
    if device.type == "cuda" and device.index is None and is_one_of_many():
        rank = int(os.environ.get("LOCAL_RANK", "0"))
        return torch.device("cuda", rank % max(1, torch.cuda.device_count()))
    return device


@contextmanager
def joined(device: torch.device) -> Iterator[Communicator]:
    """The processes of a run; a process on its own where torchrun was not used.

    Args:
        device: where the run computes.
    """
    if not is_one_of_many():
        yield SERIAL
        return
    device = own_device(device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    limit = timedelta(seconds=_timeout())
    try:
        store, rank, size = next(rendezvous("env://", timeout=limit))
        # the store may be that of the processes before a restart, and remember their addresses
        store = PrefixStore(f"attempt-{n_restarts()}", store)
        backend = "nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=limit)
    except (RuntimeError, ValueError) as error:
        raise ProcessLostError(
            "the processes of this run did not find each other "
            f"({str(error).splitlines()[0]:.200}). Check that all were started with the same "
            "--rdzv-endpoint or --master-addr and that no firewall lies between."
        ) from error
    try:
        yield Ranks(device if device.type == "cuda" else torch.device("cpu"))
    finally:
        dist.destroy_process_group()


def _timeout() -> float:
    given = os.environ.get(TIMEOUT, str(_SECONDS))
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e7:
        raise InputError(f"{TIMEOUT} must be a number of seconds; got {given!r}.")
    return seconds

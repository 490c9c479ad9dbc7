"""Runs shared between processes, hosts and GPUs by torch.distributed: see `docs/distributed.md`."""

from pmcnet.distributed.process_group import (
    TIMEOUT,
    is_follower,
    is_one_of_many,
    joined,
    n_restarts,
    own_device,
)
from pmcnet.distributed.ranks import N_BLOCKS, Ranks
from pmcnet.distributed.row_shards import SummedTarget

__all__ = [
    "N_BLOCKS",
    "TIMEOUT",
    "Ranks",
    "SummedTarget",
    "is_follower",
    "is_one_of_many",
    "joined",
    "n_restarts",
    "own_device",
]

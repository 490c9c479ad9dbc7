"""Starting the processes of a shared run as torchrun would, without its own start-up time."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def place_of(size: int, rank: int) -> dict[str, str]:
    """What torchrun tells a process, of all on this host."""
    place = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return place | {"LOCAL_WORLD_SIZE": str(size), "RANK": str(rank), "LOCAL_RANK": str(rank)}


def launched(size: int, command: Sequence[str | Path], **extra: str) -> list[subprocess.Popen[str]]:
    """`size` processes of `python COMMAND`, one thread each."""
    common = os.environ | place_of(size, 0) | {"OMP_NUM_THREADS": "1"} | extra
    return [
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            env=common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]

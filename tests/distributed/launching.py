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


def launched(size: int, command: Sequence[str | Path], **extra: str) -> list[subprocess.Popen[str]]:
    """`size` processes of `python COMMAND`, one thread each."""
    place = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    common = os.environ | place | {"OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": str(size)} | extra
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

"""Shared fixtures."""

import os
import signal
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True, scope="session")
def interruptible():
    """Ctrl-C is heard even where the tests run in the background, whose shell has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["cpu", "cuda"])
def device(request) -> torch.device:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device on this machine")
    return torch.device(request.param)


@pytest.fixture
def shared():
    """The folder of large files, if it has all that a test needs."""
    folder = Path(os.environ.get("PMCNET_DATA", ROOT.parent / "shared" / "data"))

    def having(*names: str) -> Path:
        for name in names:
            if not (folder / name).is_file():
                pytest.skip(
                    f"{folder / name} is absent: set PMCNET_DATA to the folder that holds {name}"
                )
        return folder

    return having

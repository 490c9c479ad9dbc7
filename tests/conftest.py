"""Shared fixtures."""

import signal

import pytest
import torch


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

"""The arithmetic of matrix products and convolutions on a GPU: full float32, tf32 or bfloat16."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

Precision = Literal["float32", "tf32", "bf16"]
PRECISIONS: tuple[Precision, ...] = ("float32", "tf32", "bf16")


@contextmanager
def arithmetic(precision: Precision, device: torch.device) -> Iterator[None]:
    """Products in this precision while the block runs; what was set before is set again after it.

    "float32" and "tf32" differ on GPUs alone: tf32 rounds factors to 10 bits and adds up in float32. "bf16" rounds
    factors and results to 8 bits, on every device; float64 is not rounded by either.

    Args:
        precision: the arithmetic.
        device: where the products are made.
    """
    if device.type == "cuda":
        with _tf32(precision != "float32"), torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            yield
    else:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            yield


@contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    before = products.allow_tf32, convolutions.allow_tf32
    products.allow_tf32 = convolutions.allow_tf32 = allowed
    try:
        yield
    finally:
        products.allow_tf32, convolutions.allow_tf32 = before

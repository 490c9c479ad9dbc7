"""The precision of matrix products and convolutions: full float32, tf32 or bfloat16."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

Precision = Literal["float32", "tf32", "bf16"]
PRECISIONS: tuple[Precision, ...] = ("float32", "tf32", "bf16")


@contextmanager
def in_precision(
    precision: Precision, device: torch.device, *, search: bool = False
) -> Iterator[None]:
    """Products in this precision while the block runs; what was set before is set again after it.

    "float32" and "tf32" differ on GPUs alone: tf32 rounds factors to 10 bits and adds up in
    float32. "bf16" rounds factors and results to 8 bits, on every device; float64 is not rounded by
    either.

    Args:
        precision: of products.
        device: where the products are made.
        search: try the ways in which convolutions of a new shape can be made on a GPU and keep the
            fastest. Another process may keep another one, whose last bits differ.
    """
    rounded = torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")
    if device.type == "cuda":
        with _tf32(precision != "float32"), _search(search), rounded:
            yield
    else:
        with rounded:
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


@contextmanager
def _search(asked: bool) -> Iterator[None]:
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = asked or before
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before

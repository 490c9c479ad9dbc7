"""Filter response normalisation with what is around it, as one kernel a direction; see `frn`.

A program has one image: pixels (H W) by channels, which lie last in memory, so that it reads and
writes every number once. Sums over pixels are its own; those over images are made of one row for
each of them.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pmcnet.bnn.kernels.frn import EPSILON

_PER_THREAD = 16


@triton.jit  # type: ignore[untyped-decorator]
def _image(  # type: ignore[no-untyped-def]
    x, parameters,
    N_PIXELS: tl.constexpr, N_CHANNELS: tl.constexpr, PIXELS: tl.constexpr, CHANNELS: tl.constexpr,
    EPS: tl.constexpr,
):  # fmt: skip
    """Where this program's image lies, its mask; gamma, beta, tau; n, and 1 / its divisor."""
    pixel, channel = tl.arange(0, PIXELS)[:, None], tl.arange(0, CHANNELS)[None, :]
    known = channel < N_CHANNELS
    there = (pixel < N_PIXELS) & known
    place = tl.program_id(0).to(tl.int64) * (N_PIXELS * N_CHANNELS) + pixel * N_CHANNELS + channel
    offset = tl.load(parameters + channel, mask=known, other=0.0)
    gain = tl.load(parameters + N_CHANNELS + channel, mask=known, other=0.0)
    shift = tl.load(parameters + 2 * N_CHANNELS + channel, mask=known, other=0.0)
    floor = tl.load(parameters + 3 * N_CHANNELS + channel, mask=known, other=0.0)
    u = tl.where(there, tl.load(x + place, mask=there, other=0.0).to(tl.float32) + offset, 0.0)
    inverse = tl.rsqrt(tl.sum(u * u, axis=0) / N_PIXELS + EPS)[None, :]
    return place, there, gain, shift, floor, u * inverse, inverse


@triton.jit  # type: ignore[untyped-decorator]
def forward_kernel(  # type: ignore[no-untyped-def]
    x, residual, parameters, out,
    N_PIXELS: tl.constexpr, N_CHANNELS: tl.constexpr, PIXELS: tl.constexpr, CHANNELS: tl.constexpr,
    ADDS: tl.constexpr, SWISH: tl.constexpr, EPS: tl.constexpr,
):  # fmt: skip
    """The output y of an image."""
    place, there, gain, shift, floor, n, _ = _image(
        x, parameters, N_PIXELS, N_CHANNELS, PIXELS, CHANNELS, EPS
    )
    z = tl.maximum(gain * n + shift, floor, propagate_nan=tl.PropagateNan.ALL)
    if ADDS:
        z += tl.load(residual + place, mask=there, other=0.0).to(tl.float32)
    if SWISH:
        z = z * tl.sigmoid(z)
    tl.store(out + place, z.to(out.dtype.element_ty), mask=there)


@triton.jit  # type: ignore[untyped-decorator]
def backward_kernel(  # type: ignore[no-untyped-def]
    gradient, x, residual, parameters, to_x, to_residual, to_parameters,
    N_PIXELS: tl.constexpr, N_CHANNELS: tl.constexpr, PIXELS: tl.constexpr, CHANNELS: tl.constexpr,
    ADDS: tl.constexpr, SWISH: tl.constexpr, EPS: tl.constexpr,
):  # fmt: skip
    """Gradients of x and the residual, and the image's share of those of the parameters."""
    place, there, gain, shift, floor, n, inverse = _image(
        x, parameters, N_PIXELS, N_CHANNELS, PIXELS, CHANNELS, EPS
    )
    # by the output, then by what was before
    d = tl.load(gradient + place, mask=there, other=0.0).to(tl.float32)
    a = gain * n + shift
    if SWISH:
        z = tl.maximum(a, floor, propagate_nan=tl.PropagateNan.ALL)
        if ADDS:
            z += tl.load(residual + place, mask=there, other=0.0).to(tl.float32)
        share = tl.sigmoid(z)
        d = d * share * (1 + z * (1 - share))
    if ADDS:
        tl.store(to_residual + place, d.to(to_residual.dtype.element_ty), mask=there)
    above = a > floor
    of_floor = tl.sum(tl.where(above, 0.0, d), axis=0)[None, :]
    d = tl.where(above, d, 0.0)
    of_gain, of_shift = tl.sum(d * n, axis=0)[None, :], tl.sum(d, axis=0)[None, :]
    d = tl.where(there, gain * inverse * (d - n * (of_gain / N_PIXELS)), 0.0)
    tl.store(to_x + place, d.to(to_x.dtype.element_ty), mask=there)
    channel = tl.arange(0, CHANNELS)[None, :]
    known = channel < N_CHANNELS
    row = to_parameters + tl.program_id(0).to(tl.int64) * (4 * N_CHANNELS) + channel
    tl.store(row, tl.sum(d, axis=0)[None, :], mask=known)
    tl.store(row + N_CHANNELS, of_gain, mask=known)
    tl.store(row + 2 * N_CHANNELS, of_shift, mask=known)
    tl.store(row + 3 * N_CHANNELS, of_floor, mask=known)


def forward(x: Tensor, residual: Tensor | None, parameters: Tensor, swish: bool) -> Tensor:
    """`frn.normalised` of images with channels last."""
    out = torch.empty_like(x)
    if len(x):
        with torch.cuda.device_of(x):  # type: ignore[no-untyped-call]
            forward_kernel[(len(x),)](
                x, x if residual is None else residual, parameters, out,
                ADDS=residual is not None, SWISH=swish, **_sizes(x),
            )  # fmt: skip
    return out


def backward(
    gradient: Tensor, x: Tensor, residual: Tensor | None, parameters: Tensor, swish: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of `frn.normalised` by x, residual and parameters; images with channels last."""
    to_x = torch.empty_like(x)
    to_residual = x.new_empty(0) if residual is None else torch.empty_like(residual)
    rows = torch.empty(len(x), *parameters.shape, dtype=torch.float32, device=x.device)
    if len(x):
        with torch.cuda.device_of(x):  # type: ignore[no-untyped-call]
            backward_kernel[(len(x),)](
                gradient, x, x if residual is None else residual, parameters,
                to_x, to_residual, rows,
                ADDS=residual is not None, SWISH=swish, **_sizes(x),
            )  # fmt: skip
    return to_x, to_residual, rows.sum(0).to(parameters.dtype)


def _sizes(x: Tensor) -> dict[str, int | float]:
    """What kernels are made for."""
    n_channels, n_pixels = x.shape[1], x.shape[2] * x.shape[3]
    pixels, channels = (1 << (n - 1).bit_length() for n in (n_pixels, n_channels))
    return {
        "N_PIXELS": n_pixels,
        "N_CHANNELS": n_channels,
        "PIXELS": pixels,
        "CHANNELS": channels,
        "EPS": EPSILON,
        "num_warps": min(16, max(1, pixels * channels // (32 * _PER_THREAD))),
    }

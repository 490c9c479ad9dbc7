"""Populations of multi-layer perceptrons on the CPU, by one compiled pass over the rows.

torch makes a layer of all networks before the next one, so that every intermediate number goes
through memory. Here a network stays in the first caches with a few hundred rows; see
`cpu.mlp_kernel`. `applies` decides where that is faster.
"""

import itertools
import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.ais.target import ValueAndScore
from pmcnet.bnn.likelihoods.base import Likelihood
from pmcnet.threads import even_slices, in_parallel, n_threads

MOST_ROWS = 512
"""Rows of a tile: more would not stay in the first caches, fewer spend their time on loop ends."""
TILE_BYTES = 1 << 19
"""Of the widest layer of a tile, which is read once for each few units of the next."""
BLOCK_ROWS = 4096
"""Rows that are summed up in the precision of the parameters; such blocks are summed in float64."""
MOST_WEIGHTS = 160
"""Weights per unit up to which the compiled pass is used, see `faster`."""
_MULTIPLE = 32  # the rows of a tile are a multiple of it, `cpu.tile_products.ROWS`
_PIECES = 4  # for each thread, so that one that is late leaves work to the others
_LEAST_WORK = 200_000  # multiplications of a piece: less is not worth another thread
_LONG_WORK = 5_000_000  # those of a piece whose every operation is left to one thread
_OUTPUTS, _VALUES, _GRADIENTS, _PULLBACK = range(4)  # as in `cpu.mlp_kernel`
_NO_FORM = (0, 1.0, 0.0)

_LOG = logging.getLogger("pmcnet.kernels")

Array = NDArray[Any]


class Layers(NamedTuple):
    """The networks that the kernel knows: layer sizes and the name of the activation."""

    sizes: tuple[int, ...]
    activation: str

    @property
    def n_weights(self) -> int:
        """Weights, biases not counted: the multiplications of one network on one row."""
        return sum(a * b for a, b in itertools.pairwise(self.sizes))


class Rows(NamedTuple):
    """Rows of data as the kernel reads them: tiles of inputs, responses, weights, all padded."""

    x: Array
    y: Array
    weight: Array
    n_rows: int
    stride: int

    @property
    def block(self) -> int:
        """Tiles per block."""
        return max(1, BLOCK_ROWS // self.stride)

    @property
    def n_blocks(self) -> int:
        """Blocks of tiles."""
        return -(-self.n_rows // (self.block * self.stride))


def tiled(layers: Layers, x: Tensor, y: Tensor | None = None, weight: Tensor | None = None) -> Rows:
    """Inputs (N, d), responses (N,) and weights (N,), where they matter, for such networks."""
    n_rows, n_features = x.shape
    most = max(_MULTIPLE, min(MOST_ROWS, TILE_BYTES // (x.element_size() * max(layers.sizes))))
    n_tiles = max(1, -(-n_rows // most))
    stride = max(1, -(-n_rows // (n_tiles * _MULTIPLE))) * _MULTIPLE
    n_padded = -(-n_rows // _MULTIPLE) * _MULTIPLE
    values = x.detach().numpy()
    tiles, each = (
        np.zeros(n_padded * n_features, values.dtype),
        np.zeros((2, n_padded), values.dtype),
    )
    for start in range(0, n_rows, stride):
        n = min(stride, n_padded - start)
        tile = tiles[start * n_features : (start + n) * n_features].reshape(n_features, n)
        tile[:, : n_rows - start] = values[start : start + n].T
    if y is not None:
        each[0, :n_rows] = y.numpy()
        each[1, :n_rows] = 1.0 if weight is None else weight.numpy()
    return Rows(tiles, each[0], each[1], n_rows, stride)


def applies(layers: Layers, theta: Tensor, x: Tensor) -> bool:
    """Whether the compiled pass is at hand, gives what is wanted, and is faster than torch."""
    return wanted(theta, x) and faster(layers) and _kernel(theta.dtype) is not None


def wanted(theta: Tensor, x: Tensor) -> bool:
    """Whether both are on the CPU in one precision, and torch need not see the layers.

    It has to where it will differentiate by the parameters.
    """
    differentiated = theta.requires_grad and torch.is_grad_enabled()
    return (
        theta.device.type == "cpu"
        and x.device.type == "cpu"
        and theta.dtype == x.dtype
        and not differentiated
        and not torch._C._functorch.is_functorch_wrapped_tensor(theta)
    )


def knows(likelihood: Likelihood) -> bool:
    """Whether the kernel has this likelihood; `applies` must hold."""
    return type(likelihood) in _forms()


def faster(layers: Layers) -> bool:
    """Whether the compiled pass beats torch for these networks.

    torch needs time for each weight and for each unit, whose values go through memory; the pass
    needs more for each weight, since it is no match for a BLAS, and next to nothing for each unit.
    Measured by `benchmarks/kernels.py` on two cores: with up to about 200 weights per unit the
    pass is faster, 2 to 10 times with up to 60.
    """
    return layers.n_weights <= MOST_WEIGHTS * sum(layers.sizes[1:])


def least_networks(layers: Layers, n_rows: int) -> int:
    """Networks on so many rows that keep a thread busy long enough, about a millisecond."""
    return -(-_LONG_WORK // (n_rows * layers.n_weights))


def likelihood_and_score(
    layers: Layers, likelihood: Likelihood, theta: Tensor, rows: Rows
) -> ValueAndScore:
    """sum_n w_n log p(y_n | Phi(theta, x_n)) and its gradient: (P,) in float64, (P, D)."""
    form = _forms()[type(likelihood)](likelihood)
    value, score = _evaluated(_GRADIENTS, layers, form, theta, rows, theta.numel())
    return ValueAndScore(torch.from_numpy(value), torch.from_numpy(score).view(theta.shape))


def log_likelihood(layers: Layers, likelihood: Likelihood, theta: Tensor, rows: Rows) -> Tensor:
    """sum_n w_n log p(y_n | Phi(theta, x_n)): (P,), float64."""
    form = _forms()[type(likelihood)](likelihood)
    return torch.from_numpy(_evaluated(_VALUES, layers, form, theta, rows, 0)[0])


def outputs(layers: Layers, theta: Tensor, x: Tensor) -> Tensor:
    """Outputs (P, N, C) of networks (P, D) without parameters of a likelihood."""
    return outputs_of(layers, theta, tiled(layers, x))


def outputs_of(layers: Layers, theta: Tensor, rows: Rows) -> Tensor:
    """Outputs (P, N, C) of networks (P, D); parameters of a likelihood may follow the weights."""
    n_networks, n_outputs = len(theta), layers.sizes[-1]
    size = n_networks * rows.n_rows * n_outputs
    result = _evaluated(_OUTPUTS, layers, _NO_FORM, theta, rows, size)[1]
    return torch.from_numpy(result).view(n_networks, n_outputs, rows.n_rows).mT


def pulled_back(layers: Layers, theta: Tensor, rows: Rows, by_output: Tensor) -> Tensor:
    """Gradients by the weights (P, D), from those by the outputs (P, N, C) of `outputs_of`.

    The outputs are computed once more, so a likelihood that the kernel does not know costs a third
    more than one that it does.
    """
    given = by_output.mT.to(theta.dtype).contiguous().view(-1).numpy()
    found = _evaluated(_PULLBACK, layers, _NO_FORM, theta, rows, theta.numel(), given)[1]
    return torch.from_numpy(found).view(theta.shape)


def _evaluated(
    goal: int,
    layers: Layers,
    form: tuple[int, float, float],
    theta: Tensor,
    rows: Rows,
    size: int,
    given: Array | None = None,
) -> tuple[Array, Array]:
    """Values (P,), and `size` numbers, from pieces of networks or, where these are few, of rows.

    The kernel adds up blocks of rows in float64 one after the other, and so are pieces of rows:
    both give the same bits.
    """
    kernel = _kernel(theta.dtype)
    assert kernel is not None
    flat, (n_networks, dim) = theta.detach().contiguous().view(-1).numpy(), theta.shape
    sizes, activation = np.array(layers.sizes), _activations()[layers.activation]
    work = n_networks * rows.n_rows * layers.n_weights
    n_pieces = max(1, min(_PIECES * n_threads(), work // _LEAST_WORK))
    by_rows = n_networks < n_pieces and rows.n_blocks > 1
    n_parts = rows.n_blocks if by_rows and goal != _OUTPUTS else 1
    value, result = np.empty((n_parts, n_networks)), np.empty((n_parts, size), flat.dtype)
    given = flat[:0] if given is None else given
    everyone, everything = (0, n_networks), (0, rows.n_blocks)
    if by_rows:
        pieces = [(everyone, (b, b + 1), b % n_parts) for b in range(rows.n_blocks)]
    else:
        networks = even_slices(slice(0, n_networks), n_pieces)
        pieces = [((each.start, each.stop), everything, 0) for each in networks]

    def evaluate(piece: tuple[tuple[int, int], tuple[int, int], int]) -> None:
        networks, blocks, part = piece
        kernel(
            goal,
            flat,
            dim,
            sizes,
            activation,
            form,
            *rows,
            rows.block,
            networks,
            blocks,
            given,
            value[part],
            result[part],
        )

    in_parallel(evaluate, pieces)
    if n_parts == 1:
        return value[0], result[0]
    return _in_order(value), _in_order(result).astype(flat.dtype)


def _in_order(parts: Array) -> Array:
    """The sum over the first axis in float64, one after the other."""
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total


@lru_cache(maxsize=2)
def _kernel(dtype: torch.dtype) -> Callable[..., None] | None:
    """The compiled pass for a precision; None where there is none."""
    if dtype not in (torch.float32, torch.float64):
        return None
    try:
        from pmcnet.bnn.kernels.code_cache import compiled
        from pmcnet.bnn.kernels.cpu.mlp_kernel import evaluate, signature
    except ImportError as error:
        _LOG.warning("numba cannot be imported, so networks on the CPU are slower: %s", error)
        return None
    name = str(dtype).removeprefix("torch.")
    return compiled(evaluate, signature(name), name)


def _forms() -> dict[type, Callable[[Any], tuple[int, float, float]]]:
    from pmcnet.bnn.kernels.cpu.tile_likelihoods import FORMS

    return FORMS


def _activations() -> dict[str, int]:
    from pmcnet.bnn.kernels.cpu.tile_activations import CODES

    return CODES

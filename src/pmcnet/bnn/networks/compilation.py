"""Compiling what is called again and again with the same shapes, where there is a compiler."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# Compiling takes seconds, and is only worth it for shapes that come back.
_SEEN_BEFORE, _MOST_SHAPES = 8, 6
# The compiler counts versions of a function over all networks.
_MOST_VERSIONS = 64


class Compiled:
    """A function of (theta, rows) that is compiled for shapes that keep coming.

    Other shapes, float64, which is there for checks, and everything where compiling fails (no
    compiler, an operation it does not know), run as written. `reason` says why it failed.

    Args:
        function: maps parameters (P, D) and rows to outputs.
        alone: whether it is of one network at a time: its kernels are then launched as one graph,
            and images may be stored with channels last, which does not suit networks side by side.
    """

    def __init__(
        self, function: Callable[[Tensor, Tensor], Tensor], *, alone: bool = False
    ) -> None:
        self._function = function
        self._options: dict[str, str | int | bool | Callable[..., Any]] = {
            "triton.cudagraphs": alone,
            "layout_optimization": alone,
        }
        self._made: dict[tuple[Any, ...], Callable[[Tensor, Tensor], Tensor]] = {}
        self._seen: Counter[tuple[Any, ...]] = Counter()
        self.reason: str | None = None

    def __call__(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The function's answer."""
        made = self._for(theta, rows)
        if made is None:
            return self._function(theta, rows)
        import torch._dynamo  # takes long to import

        try:
            with torch._dynamo.config.patch(recompile_limit=_MOST_VERSIONS):
                return made(theta, rows)
        except Exception as error:  # compilers fail in many ways; the function itself is the judge
            answer = self._function(theta, rows)
            self.reason = f"{type(error).__name__}: {error}".splitlines()[0]
            return answer

    def _for(self, theta: Tensor, rows: Tensor) -> Callable[[Tensor, Tensor], Tensor] | None:
        if self.reason is not None or rows.dtype == torch.float64:
            return None
        key = (
            len(theta),
            rows.shape,
            rows.dtype,
            rows.device,
            torch.is_grad_enabled() and theta.requires_grad,
        )
        if key not in self._made:
            self._seen[key] += 1
            if self._seen[key] <= _SEEN_BEFORE or len(self._made) == _MOST_SHAPES:
                return None
            self._made[key] = torch.compile(self._function, options=self._options, dynamic=False)
        return self._made[key]

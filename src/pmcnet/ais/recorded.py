"""A function on the GPU, recorded as a graph of its operations and replayed in one launch."""

from collections.abc import Callable

import torch
from torch import Tensor

WARM_UP = 3
"""Calls before recording, in which libraries allocate their workspaces."""


class Recorded:
    """`function` for arguments of one shape; what it returns is overwritten by the next call.

    Args:
        function: pure, without reading values on the host. One that cannot be recorded is called as it is.
        example: an argument of the shape to come.
    """

    def __init__(self, function: Callable[[Tensor], tuple[Tensor, ...]], example: Tensor) -> None:
        self.argument = example.clone()
        self._function = function
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: tuple[Tensor, ...] = ()
        side = torch.cuda.Stream(example.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(example.device))
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                function(self.argument)
        torch.cuda.current_stream(example.device).wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self._result = function(self.argument)
            self._graph = graph
        except RuntimeError:  # something in it talks to the host
            torch.cuda.synchronize(example.device)

    def __call__(self, argument: Tensor) -> tuple[Tensor, ...]:
        """The function's result."""
        if self._graph is None:
            return self._function(argument)
        self.argument.copy_(argument)
        self._graph.replay()
        return self._result

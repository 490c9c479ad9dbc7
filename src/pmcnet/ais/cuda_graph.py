"""A function on the GPU, captured as a graph of its operations and replayed in one launch."""

from collections.abc import Callable

import torch
from torch import Tensor

WARM_UP = 3
"""Calls before the capture, in which libraries allocate their workspaces."""


class CudaGraph:
    """`function` for arguments of one shape; what it returns is overwritten by the next call.

    Args:
        function: pure, without reading values on the host. One that cannot be captured is called
            as it is.
        example: an argument of the shape to come.
    """

    def __init__(self, function: Callable[[Tensor], tuple[Tensor, ...]], example: Tensor) -> None:
        self.argument = example.clone()
        self._function = function
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: tuple[Tensor, ...] = ()
        with torch.cuda.device(example.device):
            self._capture()

    def _capture(self) -> None:
        before = torch.cuda.current_stream()
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(before)
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self._function(self.argument)
        before.wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=side):
                self._result = self._function(self.argument)
            self._graph = graph
        except torch.cuda.OutOfMemoryError:
            raise
        except RuntimeError:
            # something in it talks to the host; the failed capture leaves its stream behind
            torch.cuda.set_stream(before)
            torch.cuda.synchronize()

    def __call__(self, argument: Tensor) -> tuple[Tensor, ...]:
        """The function's result."""
        if self._graph is None:
            return self._function(argument)
        self.argument.copy_(argument)
        self._graph.replay()
        return self._result

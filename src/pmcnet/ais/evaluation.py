"""Values of a target in chunks that fit its memory; answers that are no values are refused."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pmcnet.ais.target import Target, ValueAndScore
from pmcnet.ais.tiling import even_size
from pmcnet.errors import InputError, TargetError


@dataclass(frozen=True)
class Evaluation:
    """A target, evaluated in chunks of `memory // bytes_per_point` points and checked.

    Values come back in float64, since differences of large log-densities are what weights are made
    of. Points may have any leading shape.
    """

    target: Target

    @property
    def dim(self) -> int:
        """D of the target."""
        return self.target.dim

    @property
    def memory(self) -> int:
        """Bytes that evaluations may use for temporaries."""
        return self.target.memory

    def log_density(self, theta: Tensor) -> Tensor:
        """Log pi at points (..., D) -> (...); -inf is zero density, NaN and +inf raise."""
        value = self.trial(theta)
        self._refuse(value.isnan(), "NaN", theta)
        return value

    def trial(self, theta: Tensor) -> Tensor:
        """Like `log_density`, for points that may be rejected: NaN is let through."""
        points = self._points(theta)
        with torch.no_grad():
            pieces = torch.split(points, even_size(len(points), self._rows))
            value = torch.cat([self._value(self.target.log_density(p), p) for p in pieces])
        self._refuse(value == torch.inf, "+inf", points)
        return value.reshape(theta.shape[:-1])

    def value_and_score(self, theta: Tensor) -> ValueAndScore:
        """Log pi (...) and its gradient (..., D) in one pass; the score is 0 where pi is."""
        points = self._points(theta)
        answers = [
            self._value_and_score(p)
            for p in torch.split(points, even_size(len(points), self._rows))
        ]
        value = torch.cat([a.value for a in answers])
        score = torch.cat([a.score for a in answers])
        self._refuse(value.isnan(), "NaN", points)
        self._refuse(value == torch.inf, "+inf", points)
        empty = value == -torch.inf
        self._refuse(~score.isfinite().all(-1) & ~empty, "a score that is not finite", points)
        score = torch.where(empty[:, None], 0.0, score)
        return ValueAndScore(value.reshape(theta.shape[:-1]), score.reshape(theta.shape))

    def hessian(self, theta: Tensor) -> Tensor:
        """Second derivatives, (n, D) -> (n, D, D); they need not exist, so may not be finite."""
        points = self._points(theta)
        rows = max(1, self._rows // self.dim)  # a Hessian is D scores
        shape = (self.dim, self.dim)
        return torch.cat(
            [
                shaped(self.target.hessian(p), (len(p), *shape), "hessian")
                for p in torch.split(points, rows)
            ]
        )

    def factors(self) -> Sequence["Evaluation"]:
        """The target's factors, each evaluated the same way."""
        return [Evaluation(factor) for factor in self.target.factors()]

    @property
    def _rows(self) -> int:
        return max(1, self.target.memory // self.target.bytes_per_point)

    def _points(self, theta: Tensor) -> Tensor:
        if theta.shape[-1:] != (self.dim,):
            raise InputError(
                f"theta must be (..., dim={self.dim}); got {tuple(theta.shape)}. "
                "Give the target and the starting points the same number of coordinates."
            )
        return theta.detach().reshape(-1, self.dim)

    def _value(self, value: Tensor, points: Tensor) -> Tensor:
        value = shaped(value, (len(points),), "log_density")
        if value.dtype not in (points.dtype, torch.float64):
            wider = "" if points.dtype == torch.float64 else ", or torch.float64"
            raise TargetError(
                f"log_density must return {points.dtype} like its points{wider}; got "
                f"{value.dtype}. Convert the result with .to(theta.dtype)."
            )
        return value.detach().double()

    def _value_and_score(self, points: Tensor) -> ValueAndScore:
        value, score = self.target.value_and_score(points)
        score = shaped(score, tuple(points.shape), "score").detach().to(points.dtype)
        return ValueAndScore(self._value(value, points), score)

    def _refuse(self, bad: Tensor, what: str, theta: Tensor) -> None:
        if bad.any():
            points = theta.reshape(-1, self.dim)
            example = points[bad.reshape(-1).nonzero()[0, 0]]
            shown = ", ".join(f"{x:.6g}" for x in example[:4].tolist()) + (
                ", ..." if self.dim > 4 else ""
            )
            raise TargetError(
                f"the target returned {what} at {int(bad.sum())} of {len(points)} points, first at "
                f"theta = [{shown}]. "
                "Return -inf where the density is zero, and compute in the log domain."
            )


def shaped(answer: Tensor, shape: Sequence[int], name: str) -> Tensor:
    """The answer, if it is a tensor of the given shape."""
    if not isinstance(answer, Tensor) or tuple(answer.shape) != tuple(shape):
        given = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
        raise TargetError(
            f"{name} of {shape[0]} points must be a tensor of shape {tuple(shape)}; got {given}. "
            "Points come in batches (n, D), one result per row."
        )
    return answer

"""From the prior to the posterior: prior(theta) likelihood(theta)^beta, beta from 0 to 1."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.ais.agreement import Predictions, Quantity
from pmcnet.ais.comm import Communicator
from pmcnet.ais.cuda_graph import CudaGraph
from pmcnet.ais.evaluation import shaped
from pmcnet.ais.target import DEFAULT_MEMORY, FunctionTarget, LogDensity, ValueAndScore
from pmcnet.ais.tempered import Tempered, check_tempered
from pmcnet.ais.tiling import tile_bytes
from pmcnet.errors import TargetError
from pmcnet.io.state_checks import DOUBLE, check_tensor, check_whole, require
from pmcnet.rng import Stream

BYTES_PER_COORDINATE = 16 * 8
"""What a target that does not say is taken to need: sixteen float64 copies of the point."""


class Points(NamedTuple):
    """P points with both ends of the path there: values (P,) in float64, scores (P, D)."""

    theta: Tensor
    log_prior: Tensor
    log_likelihood: Tensor
    prior_score: Tensor
    likelihood_score: Tensor

    def log_density(self, beta: float) -> Tensor:
        """Log prior + beta log likelihood (P,); at beta = 0 the prior, whatever the likelihood."""
        if beta == 0:
            return self.log_prior
        return self.log_prior + beta * self.log_likelihood

    def score(self, beta: float) -> Tensor:
        """Gradient of `log_density` (P, D)."""
        return torch.add(self.prior_score, self.likelihood_score, alpha=beta)

    def check(self) -> None:
        """Refuse points whose shapes, types or values no run has."""
        check_tensor(self.theta, "theta", 2)
        shape, dtypes = tuple(self.theta.shape), (self.theta.dtype,)
        for name in ("prior_score", "likelihood_score"):
            check_tensor(getattr(self, name), name, 2, shape, dtypes, finite=False)
        for name in ("log_prior", "log_likelihood"):
            value = getattr(self, name)
            check_tensor(value, name, 1, shape[:1], DOUBLE, finite=False)
            require(bool((value < torch.inf).all()), name, "below infinity and not NaN")

    def take(self, index: Tensor | slice) -> "Points":
        """Some of the points, with repetition."""
        return Points(*(part[index] for part in self))

    def where(self, chosen: Tensor, other: "Points") -> "Points":
        """These points where `chosen` (P,), the others elsewhere."""
        parts = []
        for mine, theirs in zip(self, other, strict=True):
            parts.append(torch.where(chosen if mine.ndim == 1 else chosen[:, None], mine, theirs))
        return Points(*parts)


class PathPrecision(NamedTuple):
    """The precisions of gradients and of Metropolis tests, counted from the cheapest candidate.

    `error` is what limited precision adds to the energy difference of a trajectory, in nats.
    """

    leading: int = 0
    deciding: int = 0
    error: float = 0.0

    def agreed(self, comm: Communicator) -> "PathPrecision":
        """Those of the first process."""
        found = comm.agreed(torch.tensor(self, dtype=torch.float64)).tolist()
        return PathPrecision(int(found[0]), int(found[1]), found[2])

    def check(self) -> None:
        """Refuse precisions that no path has: a network's own, float32 and float64."""
        for name in ("leading", "deciding"):
            check_whole(getattr(self, name), name, 0, 2)
        require(type(self.error) is float and self.error >= 0, "error", "a number, 0 or more")


ONE_PRECISION = PathPrecision()


class Path:
    """The tempered path of a target, evaluated in chunks that fit its memory and a CPU's cache.

    On a GPU the evaluation is captured as a graph once and replayed: launching its many small
    operations one by one would take longer than they do.

    Args:
        target: whose path it is.
        exact: the same target in higher precision, for the values that decide whether a move is
            accepted; gradients that are a little off cost acceptance and nothing else.
        captured: whether to capture a graph; large networks, whose operations take longer than
            their launch, need none.
        precision: how the two were chosen, so that a continued run makes the same choice.
    """

    def __init__(
        self,
        target: Tempered,
        *,
        exact: Tempered | None = None,
        captured: bool = True,
        precision: PathPrecision = ONE_PRECISION,
    ) -> None:
        self.target, self._exact, self._captured = target, exact, captured
        self.precision = precision
        self._graphs: dict[int, CudaGraph] = {}  # by the number of points: few, as blocks have
        self.stages: list[Path] | None = None  # see `annealed.staged_path`

    @classmethod
    def of(cls, target: "Tempered | Path") -> "Path":
        """The path of a target; a path is its own."""
        if isinstance(target, Path):
            return target
        check_tempered(target)
        return cls(target)

    @property
    def dim(self) -> int:
        """D of the target."""
        return self.target.dim

    @property
    def least_piece(self) -> int | None:
        """How many points are worth a thread; None where the target wants torch's threads.

        Where it does not, since its evaluations release Python's lock, a population is moved by a
        few threads of our own, and torch keeps to one.
        """
        least: int | None = getattr(self.target, "least_piece", None)
        return least

    def draw(self, sources: Sequence[Stream], n: int) -> Tensor:
        """`n` points of the prior, in blocks of equal size from the streams: (n, D)."""
        theta = self.target.sample_prior(sources, -(-n // len(sources)))
        wanted = (len(sources), -(-n // len(sources)), self.dim)
        if tuple(theta.shape) != wanted:
            raise TargetError(
                f"sample_prior must return (n_streams, n_draws, dim), here {wanted}; got "
                f"{tuple(theta.shape)}."
            )
        return theta.flatten(0, 1)[:n]

    def at(self, theta: Tensor) -> Points:
        """Values and scores at (P, D), which on a GPU are overwritten by the next call.

        Far from any mode they may be NaN or infinite: moves turn such points down.
        """
        if theta.device.type == "cpu" or not self._captured:
            return Points(theta, *self._ends(theta))
        if len(theta) not in self._graphs:
            self._graphs[len(theta)] = CudaGraph(self._ends, theta)
        return Points(theta, *self._graphs[len(theta)](theta))

    def decided(self, points: Points) -> Points:
        """The same points with the values that a Metropolis test compares."""
        if self._exact is None:
            return points
        parts = [
            self._exact.log_likelihood(chunk).double()
            for chunk in torch.split(points.theta, self._rows(points.theta))
        ]
        return points._replace(log_likelihood=torch.cat(parts))

    def start(self, theta: Tensor) -> Points:
        """Like `at`, for draws of the prior and to be kept: refuses what is not a value."""
        points = Points(theta, *self._ends(theta))
        if not points.log_prior.isfinite().all():
            raise TargetError(
                "log_prior is not finite at its own draws. Let sample_prior and log_prior agree."
            )
        bad = points.log_likelihood.isnan() | (points.log_likelihood == torch.inf)
        if bad.any():
            raise TargetError(
                f"log_likelihood is NaN or +inf at {int(bad.sum())} of {len(theta)} draws of the "
                "prior. "
                "Return -inf where the likelihood is zero, and compute in the log domain; if a "
                "network overflows, use "
                "a narrower prior or scale the data."
            )
        empty = (points.log_likelihood == -torch.inf)[:, None]
        return points._replace(likelihood_score=torch.where(empty, 0.0, points.likelihood_score))

    def monitor(self, theta: Tensor) -> Tensor:
        """The quantities whose mixing is watched (P, S): the target's own, or the coordinates."""
        own: LogDensity | None = getattr(self.target, "monitor", None)
        return theta if own is None else own(theta)

    def predictions(self, theta: Tensor) -> Predictions:
        """What points (n, D) predict: the target's own, or the monitored quantities themselves."""
        own: Callable[[Tensor], Predictions] | None = getattr(self.target, "predictions", None)
        if own is None:
            value = self.monitor(theta).double()
            return Predictions(value[..., None], torch.zeros_like(value))
        parts = [own(chunk) for chunk in torch.split(theta, self._rows(theta))]
        return Predictions(*(torch.cat(each) for each in zip(*parts, strict=True)))

    @property
    def quantity(self) -> Quantity:
        """What `predictions` are."""
        found: Quantity = getattr(self.target, "predicted_quantity", "coordinates")
        return found

    def _ends(self, theta: Tensor) -> tuple[Tensor, ...]:
        together = getattr(self.target, "ends", None)
        if together is not None:
            parts = [together(chunk) for chunk in torch.split(theta, self._rows(theta))]
            ends = [
                ValueAndScore(*map(torch.cat, zip(*e, strict=True)))
                for e in zip(*parts, strict=True)
            ]
            prior, likelihood = ends
            return prior.value, likelihood.value, prior.score, likelihood.score
        prior = self._chunked("prior_and_score", self.target.log_prior, theta)
        likelihood = self._chunked("likelihood_and_score", self.target.log_likelihood, theta)
        return prior.value, likelihood.value, prior.score, likelihood.score

    def _chunked(self, name: str, log_density: LogDensity, theta: Tensor) -> ValueAndScore:
        function: Callable[[Tensor], ValueAndScore] | None = getattr(self.target, name, None)
        if function is None:
            function = self._differentiated(name, log_density)
        n_rows = self._rows(theta)
        if len(theta) <= n_rows:
            return _checked(function(theta), theta, name)
        parts = [_checked(function(chunk), chunk, name) for chunk in torch.split(theta, n_rows)]
        return ValueAndScore(
            torch.cat([p.value for p in parts]), torch.cat([p.score for p in parts])
        )

    def _differentiated(
        self, name: str, log_density: LogDensity
    ) -> Callable[[Tensor], ValueAndScore]:
        plain = FunctionTarget(log_density, self.dim).value_and_score

        def scored(theta: Tensor) -> ValueAndScore:
            try:
                return plain(theta)
            except TargetError as error:
                raise TargetError(
                    f"log_{name.removesuffix('_and_score')} does not depend on theta through torch "
                    "operations, so it "
                    f"cannot be differentiated. Give the target a method {name}(theta) -> "
                    "ais.ValueAndScore."
                ) from error

        return scored

    def _rows(self, theta: Tensor) -> int:
        n_bytes = tile_bytes(theta.device, getattr(self.target, "memory", DEFAULT_MEMORY))
        return max(
            1, n_bytes // getattr(self.target, "bytes_per_point", BYTES_PER_COORDINATE * self.dim)
        )


def _checked(answer: ValueAndScore, theta: Tensor, name: str) -> ValueAndScore:
    """Values (n,) in float64 and scores (n, D) in the points' dtype; refuses other shapes."""
    value = shaped(answer.value, theta.shape[:1], f"log_{name.removesuffix('_and_score')}")
    return ValueAndScore(value.double(), shaped(answer.score, theta.shape, "score").to(theta.dtype))

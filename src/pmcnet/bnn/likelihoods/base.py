"""What a likelihood is: p(y | network output), and all that follows from it.

Log-densities keep their constants (METHOD, section 1). A likelihood may have parameters of its own,
such as a noise scale; they follow the network's in the flat vector. Outputs are (P, N, C): P
networks, N rows. A new family is one file beside this one and one line of `registry`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import torch
from torch import Tensor

from pmcnet.bnn.likelihoods.response import Array, Response, Units
from pmcnet.bnn.likelihoods.support import Support
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number
from pmcnet.rng import Stream

Task = Literal["regression", "classification"]
LARGEST_SCALE = 1e100
"""Scales of the noise beyond it, or below its inverse, have squares outside double precision."""
POSITIVE = math.ulp(0.0)
"""The smallest positive number: the least of a setting that must be positive."""


class Gradients(NamedTuple):
    """Log p of each row (P, N); its gradients by output (P, N, C), by own parameters (P, N, E)."""

    log_prob: Tensor
    output: Tensor
    extra: Tensor


class Likelihood(Protocol):
    """p(y | network output)."""

    task: ClassVar[Task]

    @property
    def extra_names(self) -> tuple[str, ...]:
        """Names of the likelihood's own parameters."""
        ...

    @property
    def n_outputs(self) -> int:
        """C, what the network must return per row."""
        ...

    @property
    def n_classes(self) -> int:
        """How many classes it predicts; 0 for a regression."""
        ...

    @property
    def n_extra(self) -> int:
        """E, how many parameters the likelihood itself has."""
        ...

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """Outputs (P, N, C), data, own parameters (P, E) -> log p of each row (P, N).

        Data are (N,); for a family with a second column they are (N,) or (N, 2).
        """
        ...

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """`log_prob` with its gradients."""
        ...

    def log_prior(self, extra: Tensor) -> Tensor:
        """Log-density of the own parameters (P, E) -> (P,)."""
        ...

    def prior_gradient(self, extra: Tensor) -> Tensor:
        """The gradient of `log_prior` (P, E)."""
        ...

    def from_normal(self, noise: Tensor) -> Tensor:
        """Own parameters drawn from their prior, from standard normal noise (..., E)."""
        ...

    def usable(self, extra: Tensor) -> Tensor:
        """Whether own parameters (P, E) give a distribution that can be predicted with: (P,)."""
        ...

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """E[y | output]: (P, N, 1) for regression, probabilities (P, N, n_classes) for classes."""
        ...

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """Uncertainty of y under each network: noise variance, or entropy.

        (P, N), or (P, 1) where it is the same for every row.
        """
        ...

    def total(self, mean: Tensor, aleatoric: Tensor, variance: Tensor) -> Tensor:
        """Uncertainty of y under the averaged prediction, its mean and variance (N, C): (N,)."""
        ...

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """One draw of y from each network for each row: (P, N), float64."""
        ...

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """Quantiles of the mixture of networks with weights (P,): (N, Q)."""
        ...

    @property
    def simpler(self) -> "Likelihood | None":
        """One with the same outputs and parameters to which annealing goes first, if any."""
        ...

    def to_plain(self) -> dict[str, Any]:
        """The stored form: `kind`, the name of the class, and the settings."""
        ...


class Family(Likelihood, Protocol):
    """A likelihood that estimators build and model files store."""

    stored_form: ClassVar[Mapping[str, Form]]
    """The form that each setting must have in a file."""
    by_row: ClassVar[bool]
    """Whether a member has noise that depends on the row."""
    support: ClassVar[Support]
    """The values that y can have, of a regression."""

    @classmethod
    def units(cls, response: Response) -> Units:
        """The units in which the network predicts the response."""
        ...

    @classmethod
    def for_response(cls, response: Response, units: Units) -> "Likelihood":
        """The member of the family for a response, seen in these units."""
        ...

    @classmethod
    def targets(cls, y: Array, units: Units) -> Array:
        """The response (N,) or (N, 2) in these units, as `log_prob` takes it."""
        ...

    @classmethod
    def responses(cls, targets: Array, units: Units) -> Array:
        """What `targets` made of the response, in units of y again."""
        ...

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The likelihood that has this stored form."""
        ...


class Stored:
    """Settings that are numbers are the stored form, and y is one column."""

    stored_form: ClassVar[Mapping[str, Form]] = {}
    by_row: ClassVar[bool] = False
    support: ClassVar[Support] = Support()

    def to_plain(self) -> dict[str, Any]:
        """The name of the class and its settings."""
        return {"kind": type(self).__name__, **vars(self)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """By the constructor."""
        return cls(**{name: value for name, value in plain.items() if name != "kind"})

    @classmethod
    def targets(cls, y: Array, units: Units) -> Array:
        """In the network's units."""
        return units.to_network(y)

    @classmethod
    def responses(cls, targets: Array, units: Units) -> Array:
        """In units of y."""
        return units.values(targets)

    @property
    def simpler(self) -> "Likelihood | None":
        """None."""
        return None


class NormalExtra:
    """A likelihood whose own parameters are independent and normal under the prior."""

    @property
    def extra_prior(self) -> tuple[tuple[float, float], ...]:
        """Mean and standard deviation of each."""
        raise NotImplementedError

    @property
    def n_extra(self) -> int:
        """How many."""
        return len(self.extra_prior)

    def log_prior(self, extra: Tensor) -> Tensor:
        """The sum of normal log-densities (P,)."""
        mean, std = self._moments(extra)
        terms = -0.5 * ((extra - mean) / std).square() - std.log() - 0.5 * math.log(2 * math.pi)
        return terms.sum(-1)

    def prior_gradient(self, extra: Tensor) -> Tensor:
        """-(extra - mean) / std^2."""
        mean, std = self._moments(extra)
        return (mean - extra) / std.square()

    def from_normal(self, noise: Tensor) -> Tensor:
        """Mean + std z."""
        mean, std = self._moments(noise)
        return mean + std * noise

    def _moments(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Means and standard deviations (E,)."""
        return _columns(self.extra_prior, like.dtype, like.device)


class NoExtra(NormalExtra):
    """A likelihood without parameters of its own."""

    extra_names: ClassVar[tuple[str, ...]] = ()

    @property
    def extra_prior(self) -> tuple[tuple[float, float], ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class LearnedScale(NormalExtra):
    """A noise scale that is learned: log sigma ~ N(log_sigma_mean, log_sigma_std^2)."""

    log_sigma_mean: float = -2.0
    log_sigma_std: float = 1.0

    extra_names: ClassVar[tuple[str, ...]] = ("log_noise_std",)
    stored_form: ClassVar[Mapping[str, Form]] = {
        "log_sigma_mean": number(-300, 300),
        "log_sigma_std": number(POSITIVE, LARGEST_SCALE),
    }

    def __post_init__(self) -> None:
        if not 0 < self.log_sigma_std < math.inf:
            raise InputError(
                f"log_sigma_std must be a positive finite number; got {self.log_sigma_std}."
            )

    @property
    def extra_prior(self) -> tuple[tuple[float, float], ...]:
        """That of log sigma."""
        return ((self.log_sigma_mean, self.log_sigma_std),)


@lru_cache(maxsize=64)
def _columns(
    pairs: tuple[tuple[float, float], ...], dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Cached: every evaluation needs them."""
    both = torch.tensor(pairs, dtype=torch.float64).reshape(-1, 2).to(device, dtype)
    return both[:, 0].contiguous(), both[:, 1].contiguous()


def no_extra_gradient(log_prob: Tensor) -> Tensor:
    """The gradient by own parameters where there are none: (P, N, 0)."""
    return log_prob.new_empty((*log_prob.shape, 0))


def column(output: Tensor, y: Tensor) -> Tensor:
    """The first output (P, N) of (P, N, C), after checking that targets are (N,)."""
    if y.ndim != 1:
        raise InputError(f"y must be one number per row, (n_rows,); got {tuple(y.shape)}.")
    return output[..., 0]


def check_scale(name: str, value: float) -> None:
    """Raise unless a scale and its square are positive finite numbers."""
    if not 1 / LARGEST_SCALE <= value <= LARGEST_SCALE:
        raise InputError(
            f"{name} must be a positive finite number from {1 / LARGEST_SCALE:g} to "
            f"{LARGEST_SCALE:g}; got {value}. Scale the response."
        )

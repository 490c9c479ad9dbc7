"""Several targets per row, independent given the network, each with a likelihood of its own.

Targets are (N, T). The network's hidden layers are shared; its outputs and the own parameters are
those of the first target, then those of the second, and so on. With p_t the likelihood of target t,

    log p(y_n | output) = sum_t log p_t(y_nt | output_t).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn.likelihoods.base import Family, Gradients, Likelihood, Stored, Task
from pmcnet.bnn.likelihoods.gaussian import Gaussian, LearnedGaussian, RowGaussian
from pmcnet.bnn.likelihoods.response import Array, Response, Units
from pmcnet.bnn.likelihoods.shaped_noise import RowStudentT, StudentT
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, by_kind, listing, table, text
from pmcnet.rng import Stream

PREFIX = "multi-"
"""How the names of families begin whose response is several targets."""


def _form(*members: type[Family]) -> Mapping[str, Form]:
    """Of a stored likelihood whose parts are of these classes."""
    each = {one.__name__: table(kind=text(), **one.stored_form) for one in members}
    return {"parts": listing(by_kind("likelihood of a target", each), 2)}


@dataclass(frozen=True)
class SeveralTargets(Stored):
    """What families of several targets share.

    Args:
        parts: the likelihood of each target, at least 2.
    """

    parts: tuple[Likelihood, ...]

    task: ClassVar[Task] = "regression"
    n_classes: ClassVar[int] = 0
    by_row: ClassVar[bool] = True
    members: ClassVar[tuple[type[Family], ...]]
    """The classes of one target; the first builds the one that a response needs."""

    @property
    def n_targets(self) -> int:  # type: ignore[override]
        """T."""
        return len(self.parts)

    @property
    def extra_names(self) -> tuple[str, ...]:
        """Those of each target, numbered from 1."""
        return tuple(
            f"{name}_{t}" for t, part in enumerate(self.parts, 1) for name in part.extra_names
        )

    @property
    def n_outputs(self) -> int:
        """Those of all targets."""
        return sum(part.n_outputs for part in self.parts)

    @property
    def n_extra(self) -> int:
        """Those of all targets."""
        return sum(part.n_extra for part in self.parts)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """The sum over the targets."""
        each = [
            part.log_prob(own, y_t, own_extra)
            for part, own, own_extra, y_t in self._of_targets(output, extra, y)
        ]
        return torch.stack(each).sum(0)

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """Those of each target by its own outputs and parameters."""
        log_prob, by_output, by_extra = zip(
            *(
                part.gradients(own, y_t, own_extra)
                for part, own, own_extra, y_t in self._of_targets(output, extra, y)
            ),
            strict=True,
        )
        return Gradients(
            torch.stack(log_prob).sum(0), torch.cat(by_output, -1), torch.cat(by_extra, -1)
        )

    def log_prior(self, extra: Tensor) -> Tensor:
        """The sum over the targets."""
        each = [part.log_prior(own) for part, own in self._own(extra)]
        return torch.stack(each).sum(0)

    def prior_gradient(self, extra: Tensor) -> Tensor:
        """That of each target by its own parameters."""
        return torch.cat([part.prior_gradient(own) for part, own in self._own(extra)], -1)

    def from_normal(self, noise: Tensor) -> Tensor:
        """Own parameters of each target."""
        return torch.cat([part.from_normal(own) for part, own in self._own(noise)], -1)

    def usable(self, extra: Tensor) -> Tensor:
        """Whether those of every target are."""
        return torch.stack([part.usable(own) for part, own in self._own(extra)]).all(0)

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """E[y | output] of each target (P, N, T)."""
        return torch.cat(
            [part.mean(own, own_extra) for part, own, own_extra in self._split(output, extra)], -1
        )

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """The noise variance of each target: (P, N, T), or (P, 1, T)."""
        each = [
            part.aleatoric(mean[..., t : t + 1], own, own_extra)
            for t, (part, own, own_extra) in enumerate(self._split(output, extra))
        ]
        return torch.stack(torch.broadcast_tensors(*each), -1)  # type: ignore[no-untyped-call]

    def total(self, mean: Tensor, aleatoric: Tensor, variance: Tensor) -> Tensor:
        """Average noise variance plus variance of the mean of each target (N, T)."""
        return aleatoric + variance

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """One draw of all targets from each network for each row: (P, N, T), float64."""
        each = [
            part.sample(own, own_extra, source)
            for part, own, own_extra in self._split(output, extra)
        ]
        return torch.stack(each, -1)

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """Quantiles of each target's mixture of networks: (N, Q, T)."""
        each = [
            part.quantiles(own, own_extra, weight, levels)
            for part, own, own_extra in self._split(output, extra)
        ]
        return torch.stack(each, -1)

    @property
    def simpler(self) -> Likelihood | None:
        """With the simpler likelihood of each target, if they have any."""
        parts = tuple(part.simpler for part in self.parts)
        if any(part is None for part in parts):
            return None
        return type(self)(parts)  # type: ignore[arg-type]

    @classmethod
    def units(cls, response: Response) -> Units:
        """Those of each target."""
        y = _targets(response.y)
        each = [cls.members[0].units(response._replace(y=column)) for column in y.T]
        return Units(*(np.array(part) for part in zip(*each, strict=True)))  # type: ignore[arg-type]

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """The members that the targets need, one by one."""
        each = zip(_targets(response.y).T, _each(units), strict=True)
        return cls(
            tuple(cls.members[0].for_response(response._replace(y=y), own) for y, own in each)
        )

    @classmethod
    def targets(cls, y: Array, units: Units) -> Array:
        """Each in its units (N, T)."""
        return units.to_network(_targets(y))

    def to_plain(self) -> dict[str, Any]:
        """The parts in their stored form."""
        return {"kind": type(self).__name__, "parts": [part.to_plain() for part in self.parts]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Of the parts."""
        classes = {one.__name__: one for one in cls.members}
        return cls(tuple(classes[part["kind"]].from_plain(part) for part in plain["parts"]))

    def _own(self, extra: Tensor) -> list[tuple[Likelihood, Tensor]]:
        """Each target's likelihood and own parameters (..., E_t)."""
        sizes = [part.n_extra for part in self.parts]
        return list(zip(self.parts, torch.split(extra, sizes, -1), strict=True))

    def _split(self, output: Tensor, extra: Tensor) -> list[tuple[Likelihood, Tensor, Tensor]]:
        """Each target's likelihood, outputs (P, N, C_t) and own parameters (P, E_t)."""
        outputs = torch.split(output, [part.n_outputs for part in self.parts], -1)
        return [
            (part, own, own_extra)
            for own, (part, own_extra) in zip(outputs, self._own(extra), strict=True)
        ]

    def _of_targets(
        self, output: Tensor, extra: Tensor, y: Tensor
    ) -> list[tuple[Likelihood, Tensor, Tensor, Tensor]]:
        """The same with the values of each target (N,)."""
        if y.ndim != 2 or y.shape[1] != self.n_targets:
            raise InputError(
                f"y must be {self.n_targets} numbers per row, (n_rows, {self.n_targets}); got "
                f"{tuple(y.shape)}."
            )
        each = zip(self._split(output, extra), y.unbind(1), strict=True)
        return [(*parts, y_t) for parts, y_t in each]


@dataclass(frozen=True)
class MultiGaussian(SeveralTargets):
    """Gaussian noise of each target: given, learned, or by row."""

    members: ClassVar[tuple[type[Family], ...]] = (Gaussian, LearnedGaussian, RowGaussian)
    stored_form: ClassVar[Mapping[str, Form]] = _form(*members)


@dataclass(frozen=True)
class MultiStudentT(SeveralTargets):
    """Student's t noise of each target, with its own degrees of freedom."""

    members: ClassVar[tuple[type[Family], ...]] = (StudentT, RowStudentT)
    stored_form: ClassVar[Mapping[str, Form]] = _form(*members)


def _targets(y: Array) -> Array:
    """Y, after checking that there are several columns."""
    if y.ndim != 2:
        raise InputError(
            f"this likelihood is for several targets per row, (n_rows, n_targets); got y of shape "
            f"{y.shape}. Leave {PREFIX!r} out of its name."
        )
    return y


def _each(units: Units) -> list[Units]:
    """The units of each target."""
    pairs = zip(np.ravel(units.offset), np.ravel(units.scale), strict=True)
    return [Units(float(offset), float(scale)) for offset, scale in pairs]

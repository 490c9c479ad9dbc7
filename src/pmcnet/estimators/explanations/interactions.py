"""How far two columns act together: the part of their joint effect that is no sum of two.

The partial dependence of a pair is S_ab on the grids of both. Less its averages over each grid, the
interaction is I_ab = S_ab - S_a. - S_.b + S_.., zero where the prediction is additive in the pair.
The share var(I) / var(S) is Friedman and Popescu's H squared, on grids weighted by the rows.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pmcnet.estimators.explanations.effect_grids import Grid
from pmcnet.estimators.explanations.shapley import Predict
from pmcnet.estimators.explanations.spread import Spread
from pmcnet.estimators.predictions import Array

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


class Axis(NamedTuple):
    """A column of a pair.

    Args:
        feature: its name.
        grid: its points.
        own: which inputs are its own (n_inputs,).
        points: inputs that hold them for each point (m, n_inputs).
    """

    feature: str
    grid: Grid
    own: Tensor
    points: Tensor


@dataclass(frozen=True, eq=False)
class Interaction:
    """The joint effect of two columns.

    Args:
        features: names of both.
        grids: of both (a, b).
        surface: partial dependence by network (R, a, b, K).
    """

    features: tuple[str, str]
    grids: tuple[Grid, Grid]
    surface: Array

    @property
    def joint(self) -> Array:
        """What no sum of two effects explains (R, a, b, K)."""
        first, second = (grid.share / grid.share.sum() for grid in self.grids)
        by_second = np.einsum("a,rabk->rbk", first, self.surface)[:, None]
        by_first = np.einsum("b,rabk->rak", second, self.surface)[:, :, None]
        centre = np.einsum("b,rabk->rak", second, by_second)[:, :, None]
        return np.asarray(self.surface - by_second - by_first + centre)

    @property
    def strength(self) -> Array:
        """Standard deviation of the joint part over the rows, of all classes together (R,)."""
        return np.sqrt(self._variance(self.joint))

    @property
    def share(self) -> Array:
        """H squared: of the variance of the surface, that of the joint part (R,)."""
        whole = self._variance(self.surface)
        joint = self._variance(self.joint)
        return np.divide(joint, whole, out=np.zeros_like(joint), where=whole > 0)

    @property
    def mean_strength(self) -> float:
        """Of the averaged networks, by which pairs are ranked."""
        return float(np.sqrt(self._variance(self.joint.mean(0, keepdims=True))[0]))

    @property
    def frame(self) -> "DataFrame":
        """One line for each point of the surface: mean over networks, and of the joint part."""
        from pandas import DataFrame

        first, second = (grid.values for grid in self.grids)
        (a, b), (_, _, _, n_outputs) = self.features, self.surface.shape
        mean, joint = self.surface.mean(0), self.joint.mean(0)
        table = {
            a: np.repeat(np.array(first, dtype=object), len(second) * n_outputs),
            b: np.tile(np.repeat(np.array(second, dtype=object), n_outputs), len(first)),
            "output": np.tile(np.arange(n_outputs), len(first) * len(second)),
            "prediction": mean.ravel(),
            "joint": joint.ravel(),
        }
        return DataFrame(table)

    def _variance(self, surface: Array) -> Array:
        first, second = (grid.share / grid.share.sum() for grid in self.grids)
        mean = np.einsum("a,b,rabk->rk", first, second, surface)[:, None, None]
        return np.asarray(np.einsum("a,b,rabk->r", first, second, np.square(surface - mean)))


def interaction(predict: Predict, inputs: Tensor, first: Axis, second: Axis) -> Interaction:
    """The joint effect of two columns on the predictions of rows (N, n_inputs)."""
    found = []
    for point in first.points:
        there = torch.where(first.own, point, inputs)  # (N, n_inputs)
        rows = torch.where(second.own, second.points[:, None], there)  # (b, N, n_inputs)
        each = predict(rows.flatten(0, 1))  # (R, b N, K)
        found.append(each.reshape(len(each), len(rows), len(inputs), -1).mean(2))
    surface = np.stack(found, axis=1)
    return Interaction((first.feature, second.feature), (first.grid, second.grid), surface)


def ranked(found: list[Interaction]) -> list[Interaction]:
    """The strongest first."""
    return sorted(found, key=lambda each: -each.mean_strength)


def pair_table(found: list[Interaction]) -> "DataFrame":
    """One line for each pair: strength in units of the prediction, and share, with intervals."""
    from pandas import DataFrame

    names = {"first": [f.features[0] for f in found], "second": [f.features[1] for f in found]}
    table: dict[str, object] = dict(names)
    for name in ("strength", "share"):
        each = np.array([getattr(one, name) for one in found]).reshape(len(found), -1)
        spread = Spread.of(each.T) if len(found) else None
        for key, values in spread.columns("mean").items() if spread else ():
            table[name if key == "mean" else f"{name}_{key}"] = values
    return DataFrame(table)

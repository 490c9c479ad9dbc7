"""What the tables of the control data share: the true networks, sizes, rows of the table."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import torch

from pmcnet import metrics
from pmcnet.bnn import ParticlePosterior
from pmcnet.data import ControlData
from pmcnet.estimators.evaluation.figure_data import Record, roc_bands
from pmcnet.paper import result_table
from pmcnet.paper.experiment import Session, Settings
from pmcnet.paper.problem import Problem
from pmcnet.paper.published import Cells

PRIOR_VARIANCE = 4.0
"""The one the true network is drawn from."""

COLUMNS = ("auc", "accuracy", "f1")


@dataclass(frozen=True, kw_only=True)
class ControlSettings(Settings):
    """How the control experiments run.

    Args:
        networks: seeds of the true networks, whose own test accuracy is 0.8 to 0.92 with both
            classes common; the paper's is not known.
    """

    n_steps: int = 20
    n_epochs: int = 100
    networks: tuple[int, ...] = (44, 53)

    def quick(self) -> Self:
        """Sizes that finish in seconds."""
        return replace(
            self,
            n_proposals=5,
            n_draws=20,
            n_steps=3,
            n_seeds=1,
            n_epochs=3,
            networks=self.networks[:1],
        )


def true_accuracy(problem: Problem, made: ControlData) -> float:
    """Test accuracy of the network that drew the labels: the best that can be expected."""
    probability = torch.as_tensor(made.probability_test)
    both = torch.stack([1 - probability, probability], -1)
    return float(metrics.accuracy(both, problem.test[1].long().cpu()))


def curves(posterior: ParticlePosterior, problem: Problem, n_passes: int) -> list[Record]:
    """ROC curves of the test rows with their bands."""
    x, y = problem.test
    return roc_bands(posterior.draws(x, n_passes=n_passes), y.long())


def grouped(runs: Sequence[Record], *keys: str) -> dict[tuple[Any, ...], list[Record]]:
    """Runs that differ in nothing but the seed, together."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for run in runs:
        groups.setdefault(tuple(run[key] for key in keys), []).append(run)
    return groups


def control_row(label: str, runs: list[Record], published: Cells) -> Record:
    """A row of the table; its note begins with the true network's accuracy."""
    row = result_table.row(label, runs, COLUMNS, published)
    return row | {"note": f"true network {runs[0]['true_accuracy']:.4f}; {row['note']}"}


def recorded(settings: ControlSettings, session: Session) -> Record:
    """Settings as they are written with the results."""
    known = {"device": session.device.type, "prior_variance": PRIOR_VARIANCE}
    return asdict(settings) | known

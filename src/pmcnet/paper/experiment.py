"""What every experiment of the paper has: sizes, a run that gives plain data, and a session."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, NamedTuple, Self, TypeVar

import torch

from pmcnet import ais
from pmcnet.errors import InputError
from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.methods import PMCMethod, Start

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes that every experiment has; (M, K, T) are the paper's where it gives them.

    Args:
        n_proposals: M.
        n_draws: K.
        n_steps: T.
        sigma: standard deviation of the first proposals, which the paper does not give.
        n_epochs: of the training before PMCnet.
        n_passes: R, draws used for prediction.
        n_seeds: repetitions.
    """

    n_proposals: int = 50
    n_draws: int = 100
    n_steps: int = 50
    sigma: float = 0.1
    n_epochs: int = 500
    n_passes: int = 100
    n_seeds: int = 5

    def quick(self) -> Self:
        """Sizes that finish in seconds and whose numbers mean nothing."""
        raise NotImplementedError

    def pmc(self, algorithm: ais.PMC, start: Start) -> PMCMethod:
        """A variant of PMCnet with these sizes."""
        return PMCMethod(
            algorithm=replace(algorithm, n_draws=self.n_draws),
            n_proposals=self.n_proposals,
            n_steps=self.n_steps,
            sigma=self.sigma,
            start=start,
        )


class Session(NamedTuple):
    """Where an experiment runs, who hears of its progress, and the folder of its checkpoints."""

    device: torch.device
    say: Say
    folder: Path | None = None


SettingsT = TypeVar("SettingsT", bound=Settings)


@dataclass(frozen=True)
class Experiment(Generic[SettingsT]):
    """One table of the paper with its figures.

    Args:
        description: one line.
        settings: the sizes at which it is reported.
        run: the whole experiment, as plain data.
        keeps_checkpoints: whether it is so large that an interrupted run goes on.
    """

    description: str
    settings: SettingsT
    run: Callable[[SettingsT, Session], Record]
    keeps_checkpoints: bool = False

    def reproduce(self, session: Session, *, quick: bool, n_seeds: int | None) -> Record:
        """Run it with its own settings or tiny ones, over its own number of seeds or another."""
        settings = self.settings.quick() if quick else self.settings
        if n_seeds is not None:
            settings = replace(settings, n_seeds=n_seeds)
        return self.run(settings, session)


def device_of(name: str) -> torch.device:
    """The device of that name, if there is one."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device {name!r} cannot be used here; use cpu, or cuda where torch finds a GPU."
        ) from error
    return device

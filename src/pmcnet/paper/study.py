"""What the parts of a study of a deep network's posterior share: sizes, rows, and the average of draws on test rows."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from pmcnet.ais.tiling import even_size
from pmcnet.bnn import BayesianTarget
from pmcnet.bnn.networks.precision import Precision
from pmcnet.errors import InputError
from pmcnet.methods import Adam, Restarts
from pmcnet.paper.averaging import Average
from pmcnet.paper.deep_settings import Settings as DeepSettings
from pmcnet.paper.paper_scores import Say
from pmcnet.paper.problem import Problem
from pmcnet.paper.stages import Stages
from pmcnet.runs.figure_data import Record
from pmcnet.runs.signals import Stopping

PARTS = ("chains", "ensemble", "others")
MOST_SEED = 999
"""Of a study; larger ones are those of networks that are trained beside its chains."""
_AT_ONCE = 2000  # test rows, at most
_LEARNING_EPOCHS = 6


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the experiments run.

    Args:
        seed: of the chains and all networks beside them; runs with several can be joined.
        n_chains: P.
        prior_variance: of every parameter.
        label_count: how often each label counts; see `Problem`.
        start: file of the networks that chains go on from, as an earlier study left them; none:
            networks are trained.
        n_epochs: of the starting networks.
        batch_size: rows per step of their training.
        learning_rate: of Adam, with a cosine schedule.
        sampler: "hmc": after a walk on mini-batches, trajectories on all images with a Metropolis
            test; or "sghmc": mini-batches throughout, an approximation.
        walk_epochs: of the walk, in which there are no draws; noise grows over half of them.
        walk_step: its first step.
        cold_step: share of it that "sghmc" begins with; it grows with the noise.
        metric: of the steps of "sghmc".
        information: likewise.
        friction: likewise.
        cycle_epochs: over which the step of "sghmc" falls before it is the first again; 0: it
            stays.
        walk_batch: its rows per step; a tenth of all, since batches of an epoch that share no rows
            cancel their noise.
        drawn_every: epochs from one draw of "sghmc" to the next; in cycles only in the last
            quarter, up to the end.
        n_warmup: trajectories that tune themselves and are thrown away.
        max_leapfrog: longest trajectory.
        budget: seconds in all, those of the start and the warm-up included.
        marks: seconds at which the averaged prediction is scored on the way.
        rival_epochs: of the methods beside it, which the budget does not concern.
        light_draws: K of PMCnet-light.
        light_steps: T of PMCnet-light.
        parts: what runs: "chains"; "ensemble", the budget spent again on training more networks;
            "others".
        precision: of gradients; values that decide are more accurate where need be.
        compiled: whether networks are compiled, on a GPU.
        memory: bytes for temporaries at most.
        limits: at most so many training, validation and test images.
    """

    seed: int = 0
    n_chains: int = 20
    prior_variance: float = 0.03
    label_count: float = 4.0
    start: str = ""
    n_epochs: int = 15
    batch_size: int = 500
    learning_rate: float = 3e-3
    sampler: Literal["hmc", "sghmc"] = "hmc"
    walk_epochs: int = 240
    walk_step: float = 1e-3
    cold_step: float = 1.0
    metric: Literal["fisher", "prior", "kronecker"] = "fisher"
    information: float = 1.0
    friction: float = 0.1
    cycle_epochs: int = 0
    walk_batch: int = 4500
    drawn_every: int = 5
    n_warmup: int = 10
    max_leapfrog: int = 60
    budget: float = 1500.0
    marks: tuple[float, ...] = (600.0,)
    rival_epochs: int = 60
    light_draws: int = 20
    light_steps: int = 20
    parts: tuple[str, ...] = PARTS
    precision: Precision = "tf32"
    compiled: bool = True
    memory: int = 16 << 30
    limits: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= MOST_SEED:
            raise InputError(f"seed must be a whole number from 0 to {MOST_SEED}; got {self.seed}.")
        if not self.parts or not set(self.parts) <= set(PARTS):
            raise InputError(f"parts must be some of {', '.join(PARTS)}; got {self.parts}.")
        if self.start and set(self.parts) != {"chains"}:
            raise InputError(
                "only chains go on from networks of another run; the others begin with trained "
                "ones."
            )

    def quick(self) -> "Settings":
        """Sizes that finish in seconds on two cores, with ResNet-20 in minutes."""
        sizes = replace(
            self, n_chains=2, n_epochs=1, batch_size=25, walk_epochs=2, walk_batch=25, n_warmup=2
        )
        sizes = replace(sizes, max_leapfrog=2, budget=4.0, marks=(), limits=(50, 10, 20))
        sizes = replace(sizes, rival_epochs=1, light_draws=2, light_steps=1)
        sizes = replace(sizes, cycle_epochs=min(2, self.cycle_epochs), drawn_every=1)
        return replace(sizes, compiled=False, memory=1 << 31, precision="float32")

    def going_on(self, start: str) -> "Settings":
        """Of chains that go on from the networks in a file: no walk, but epochs in which they learn their steps."""
        return replace(self, start=start, walk_epochs=_LEARNING_EPOCHS)

    def draws_at(self, epoch: int) -> bool:
        """Whether the networks of "sghmc" after so many epochs count."""
        if epoch < self.walk_epochs:
            return False
        if self.cycle_epochs == 0:
            return (epoch - self.walk_epochs) % self.drawn_every == 0
        left = -epoch % self.cycle_epochs
        return 4 * left < self.cycle_epochs and left % self.drawn_every == 0

    @property
    def adam(self) -> Restarts:
        """The training of the starting networks."""
        adam = Adam(
            objective="map",
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            schedule="cosine",
        )
        return Restarts(adam)

    @property
    def others(self) -> DeepSettings:
        """Of the methods beside it."""
        return DeepSettings(
            n_proposals=self.n_chains,
            n_draws=self.light_draws,
            n_steps=self.light_steps,
            prior_std=self.prior_variance**0.5,
            n_epochs=self.rival_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            augmented=False,
        )


@dataclass(frozen=True)
class Study:
    """One study: rows and network, the posterior, sizes, checkpoints, who is told, and who may ask it to stop."""

    problem: Problem
    target: BayesianTarget
    settings: Settings
    stages: Stages
    say: Say
    stop: Stopping

    @property
    def device(self) -> torch.device:
        """Where networks are."""
        return self.target.device

    @property
    def label(self) -> Tensor:
        """Classes of the test rows."""
        return self.problem.test[1].long()

    @property
    def rows(self) -> Tensor:
        """The test rows, and after them those of another kind, if any."""
        x, outliers = self.problem.test[0], self.problem.outliers
        return x if outliers is None else torch.cat([x, outliers])

    def nothing(self) -> Average:
        """The average of no network."""
        return Average.nothing(len(self.rows), len(self.problem.classes), self.device)

    def added(self, average: Average, theta: Tensor) -> Average:
        """The average with these networks (P, D)."""
        (weights, extra), target = self.target.parts(theta), self.target
        parts = torch.split(self.rows, even_size(len(self.rows), _AT_ONCE))
        with torch.no_grad():
            drawn = [target.likelihood.mean(target.network(weights, rows), extra) for rows in parts]
        return average.plus(torch.cat(drawn, dim=1), self.label)

    def scores(self, average: Average) -> Record:
        """What the average is worth."""
        return average.scores(self.label)

    def told(self, text: str) -> None:
        """Say it, with the experiment's name."""
        self.say(f"{self.problem.name}, {text}")


def said(scores: Record) -> str:
    """Scores in a line."""
    single = f"one network {scores['single_accuracy']:.4f}"
    nll = "infinite" if scores["nll"] is None else f"{scores['nll']:.4f}"
    return f"accuracy {scores['accuracy']:.4f}, NLL {nll}, {single}"

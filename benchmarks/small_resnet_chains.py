"""Which steps suit chains of a small ResNet, in an hour of one core?

10 000 images of CIFAR10 at 16 x 16 pixels, ResNet-20 with filter response normalisation and half
the channels, one chain on mini-batches from a network that Adam has trained. The rate h N / (a n)
is how far a chain diffuses in an epoch, in units of its metric's variances. Prints and writes,
every ten epochs: the log-likelihood of the training images, at weight 1, accuracy, NLL and
calibration error (ECE) of the network on 4000 other images of the training set, and those of the
average of draws so far: of every second epoch from 22 on, or, where the step falls to its fiftieth,
of every second in the last quarter. With --temperature, from 40 epochs before the end on, also what
the virial theorem says of groups of parameters: under the posterior the mean of -(theta - E theta)
score is 1 for each of them. Beside it stands what noise of batches makes of it at most by linear
theory.

    python benchmarks/small_resnet_chains.py --rate .3 --weight 3 --epochs 120 --json chains.json
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pmcnet import data, metrics
from pmcnet.bnn import BayesianTarget, Categorical, GaussianPrior, ModuleNetwork, at_prior_length
from pmcnet.bnn.networks.resnet import FRNBlock, Normed
from pmcnet.methods import Adam, Restarts
from pmcnet.methods.sae import prior_scale
from pmcnet.methods.sgmcmc.sghmc import SGHMC
from pmcnet.methods.training.state import EpochInfo, TrainingState

N_TRAIN, N_OTHERS, VARIANCE = 10_000, 4_000, 0.2
WATCHED = 40  # epochs, whose temperatures are measured
WIDTHS = ((8, 8), (8, 8), (8, 8), (8, 16), (16, 16), (16, 16), (16, 32), (32, 32), (32, 32))


def network() -> nn.Module:
    """ResNet-20 for 16 x 16 pixels, with half the channels."""
    blocks = [FRNBlock(a, b, stride=1 if a == b else 2) for a, b in WIDTHS]
    return nn.Sequential(
        Normed(3, 8, 3, 1, fused=False), *blocks, nn.AvgPool2d(4), nn.Flatten(), nn.Linear(32, 10)
    )


def problem(weight: float) -> tuple[BayesianTarget, Tensor, Tensor]:
    """The posterior at a likelihood weight; other images and their classes."""
    images = data.load_images("cifar10")
    pixels = nn.functional.avg_pool2d(
        torch.as_tensor(images.x_train[: N_TRAIN + N_OTHERS]).float(), 2
    )
    x = pixels[:N_TRAIN]
    pixels = (pixels - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True)
    x, others = pixels.split((N_TRAIN, N_OTHERS))
    y, classes = (
        torch.as_tensor(images.y_train[: N_TRAIN + N_OTHERS]).long().split((N_TRAIN, N_OTHERS))
    )
    module = ModuleNetwork(
        network(), example=x[:1], numbers_per_input=200_000, compiled=True
    )  # channels last
    target = BayesianTarget(
        module,
        Categorical(10),
        x,
        y,
        prior=GaussianPrior(VARIANCE**0.5),
        weight=torch.full((N_TRAIN,), weight),
    )
    return target, others, classes


def temperatures(
    target: BayesianTarget, theta: list[Tensor], score: list[Tensor]
) -> dict[str, list[float]]:
    """Mean and standard error, by groups, of what the virial theorem says is 1.

    From S points (D,) and their scores. Errors are as if the points were independent.
    """
    points = torch.stack(theta)
    products = (
        -(points - points.mean(0)) * torch.stack(score) * len(theta) / (len(theta) - 1)
    )  # (S, D)
    groups: dict[str, list[Tensor]] = {}
    for p in target.network.layout:
        stage = f"filters of {p.shape[0]} channels" if len(p.shape) == 4 else "vectors"
        kind = (
            "last layer" if p.shape[0] == 10 else "first filters" if p.shape[1:2] == (3,) else stage
        )
        groups.setdefault(kind, []).append(products[:, p.start : p.stop])
    each = {kind: torch.cat(parts, dim=1).mean(1) for kind, parts in groups.items()}
    return {kind: [float(e.mean()), float(e.std()) / len(e) ** 0.5] for kind, e in each.items()}


def most_by_theory(arguments: argparse.Namespace) -> float:
    """The highest temperature at the end of an epoch, by linear theory.

    It is that of the directions which batches inform most. There h C f = h / k: batches drive a
    damped oscillator, and since they share no rows, the sum of their noise is zero.
    """
    n_batches = N_TRAIN // arguments.batch
    stiffness = arguments.rate * arguments.friction / n_batches / arguments.information
    position, velocity, response = 0.0, 1.0, []
    for _ in range(200 * n_batches):
        position += velocity
        response.append(position)
        velocity = (1 - arguments.friction) * velocity - stiffness * position
    epochs = torch.tensor(response, dtype=torch.float64).reshape(-1, n_batches)
    left = 1 - epochs.sum(1).square().sum() / n_batches / epochs.square().sum()
    return 1 + arguments.weight * arguments.rate / (2 * arguments.information) * float(left)


class Watcher:
    """Averages draws and says how good they are."""

    def __init__(
        self, target: BayesianTarget, x: Tensor, y: Tensor, arguments: argparse.Namespace
    ) -> None:
        self._target, self._x, self._y, self._arguments = target, x, y, arguments
        self._total, self._n, self._begun = torch.zeros(()).double(), 0, time.monotonic()
        self._theta: list[Tensor] = []
        self._score: list[Tensor] = []
        self.lines: list[dict[str, Any]] = []

    def scores(self, probability: Tensor) -> list[float]:
        """Accuracy, NLL and calibration error (N, C)."""
        return [
            float(score(probability, self._y))
            for score in (metrics.accuracy, metrics.nll, metrics.ece)
        ]

    def probability(self, theta: Tensor) -> Tensor:
        """Of the other images (N, C)."""
        weights, extra = self._target.parts(theta)
        with torch.no_grad():
            parts = [
                self._target.likelihood.mean(self._target.network(weights, x), extra)
                for x in torch.split(self._x, 500)
            ]
        return torch.cat(parts, dim=1)[0].double()

    def __call__(self, state: TrainingState, info: EpochInfo) -> None:
        """After each epoch."""
        epoch, theta, last = state.epoch, state.tensors["theta"], self._arguments.epochs
        if self._arguments.temperature and last - epoch < WATCHED:
            self._theta.append(theta[0].double())
            self._score.append(self._target.value_and_score(theta).score[0].double())
        if epoch % 2:
            return
        counts = 4 * (last - epoch) < last if self._arguments.falls else epoch > 20
        if not counts and epoch % 10:
            return
        drawn = self.probability(theta)
        if counts:
            self._total, self._n = self._total + drawn, self._n + 1
        if epoch % 10 == 0:
            line = {
                "epoch": epoch,
                "seconds": time.monotonic() - self._begun,
                "network": self.scores(drawn),
            }
            line["log_likelihood"] = (
                float(self._target.log_likelihood(theta)) / self._arguments.weight
            )
            line["average"] = self.scores(self._total / self._n) if self._n else None
            if epoch == last and self._theta:
                line["temperature"] = temperatures(self._target, self._theta, self._score)
                if self._arguments.metric == "kronecker":
                    line["most_by_linear_theory"] = most_by_theory(self._arguments)
            print(json.dumps(line), flush=True)
            self.lines.append(line)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--metric", choices=("prior", "fisher", "kronecker"), default="kronecker")
    parser.add_argument("--information", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--friction", type=float, default=0.02)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--weight", type=float, default=1.0, help="of the likelihood")
    parser.add_argument("--temperature", action="store_true", help="measure it")
    parser.add_argument("--epochs", type=int, default=240, help="a multiple of ten")
    parser.add_argument("--falls", action="store_true", help="the step, once, by a cosine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    target, others, classes = problem(arguments.weight)
    watcher = Watcher(target, others, classes, arguments)
    adam = Adam(objective="map", learning_rate=3e-3, batch_size=100, n_epochs=25, schedule="cosine")
    start = Restarts(adam)(target, 1, seed=arguments.seed)
    found: dict[str, Any] = {
        name: value for name, value in vars(arguments).items() if name != "json"
    }
    found |= {"start": watcher.scores(watcher.probability(start)), "history": watcher.lines}
    print(json.dumps(found), flush=True)
    assert isinstance(target.network, ModuleNetwork)
    method = SGHMC(
        n_cycles=1,
        exploration=0.0,
        heating=min(0.5, 10 / arguments.epochs),
        last_step=0.02 if arguments.falls else 1.0,
        step=arguments.rate * arguments.friction * arguments.batch / N_TRAIN,
        metric=arguments.metric,
        information=arguments.information,
        friction=arguments.friction,
        batch_size=arguments.batch,
        n_epochs=arguments.epochs,
    )
    start = at_prior_length(target.network, start, prior_scale(target))
    method.run(target, start, seed=arguments.seed, observers=[watcher], keep=False)
    if arguments.json:
        arguments.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

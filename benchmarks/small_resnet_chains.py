"""Which steps suit chains of a small ResNet, in an hour of one core?

10 000 images of CIFAR10 at 16 x 16 pixels, ResNet-20 with filter response normalisation and half the channels, one
chain on mini-batches from a network that Adam has trained. The rate h N / (a n) is how far a chain diffuses in an
epoch, in units of its metric's variances. Prints and writes, every ten epochs: the log-likelihood of the training
images, the accuracy and NLL of the network on 4000 test images, and those of the average of draws so far: of every
second epoch from 22 on, or, where the step falls to its fiftieth, of every second in the last quarter.

    python benchmarks/small_resnet_chains.py --metric kronecker --information .1 --rate .1 --epochs 240 --falls
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
from pmcnet.bnn.nets import FRNBlock, Normed
from pmcnet.methods import Adam, Restarts
from pmcnet.methods.sae import prior_scale
from pmcnet.methods.sghmc import SGHMC
from pmcnet.methods.training_state import TrainingState

N_TRAIN, N_TEST, VARIANCE = 10_000, 4_000, 0.2
WIDTHS = ((8, 8), (8, 8), (8, 8), (8, 16), (16, 16), (16, 16), (16, 32), (32, 32), (32, 32))


def network() -> nn.Module:
    """ResNet-20 for 16 x 16 pixels, with half the channels."""
    blocks = [FRNBlock(a, b, stride=1 if a == b else 2) for a, b in WIDTHS]
    return nn.Sequential(Normed(3, 8, 3, 1, fused=False), *blocks, nn.AvgPool2d(4), nn.Flatten(), nn.Linear(32, 10))


def problem() -> tuple[BayesianTarget, Tensor, Tensor]:
    """The posterior of training images; test images and their classes."""
    images = data.load_images("cifar10")
    train, test = (
        nn.functional.avg_pool2d(torch.as_tensor(x[:n]).float(), 2)
        for x, n in ((images.x_train, 2 * N_TRAIN), (images.x_test, N_TEST))
    )
    mean, deviation = train.mean((0, 2, 3), keepdim=True), train.std((0, 2, 3), keepdim=True)
    x, x_test = ((part - mean) / deviation for part in (train[:N_TRAIN], test))
    module = ModuleNetwork(network(), example=x[:1], numbers_per_input=200_000, compiled=True)  # channels last
    y = torch.as_tensor(images.y_train[:N_TRAIN]).long()
    target = BayesianTarget(module, Categorical(10), x, y, prior=GaussianPrior(VARIANCE**0.5))
    return target, x_test, torch.as_tensor(images.y_test[:N_TEST]).long()


class Watcher:
    """Averages draws and says how good they are."""

    def __init__(self, target: BayesianTarget, x: Tensor, y: Tensor, arguments: argparse.Namespace) -> None:
        self._target, self._x, self._y, self._arguments = target, x, y, arguments
        self._total, self._n, self._begun = torch.zeros(()).double(), 0, time.monotonic()
        self.lines: list[dict[str, Any]] = []

    def scores(self, probability: Tensor) -> list[float]:
        """Accuracy and NLL (N, C)."""
        return [float(score(probability, self._y)) for score in (metrics.accuracy, metrics.nll)]

    def probability(self, theta: Tensor) -> Tensor:
        """Of the test images (N, C)."""
        with torch.no_grad():
            parts = [self._target.likelihood.mean(self._target.network(theta, x)) for x in torch.split(self._x, 500)]
        return torch.cat(parts, dim=1)[0].double()

    def __call__(self, state: TrainingState) -> None:
        """After each epoch."""
        epoch, theta, last = state.epoch, state.tensors["theta"], self._arguments.epochs
        if epoch % 2:
            return
        counts = 4 * (last - epoch) < last if self._arguments.falls else epoch > 20
        if not counts and epoch % 10:
            return
        drawn = self.probability(theta)
        if counts:
            self._total, self._n = self._total + drawn, self._n + 1
        if epoch % 10 == 0:
            line = {"epoch": epoch, "seconds": time.monotonic() - self._begun, "network": self.scores(drawn)}
            line["log_likelihood"] = float(self._target.log_likelihood(theta))
            line["average"] = self.scores(self._total / self._n) if self._n else None
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
    parser.add_argument("--epochs", type=int, default=240)
    parser.add_argument("--falls", action="store_true", help="the step, once, by a cosine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    target, x_test, y_test = problem()
    watcher = Watcher(target, x_test, y_test, arguments)
    adam = Adam(objective="map", learning_rate=3e-3, batch_size=100, n_epochs=25, schedule="cosine")
    start = Restarts(adam)(target, 1, seed=arguments.seed)
    found: dict[str, Any] = {name: value for name, value in vars(arguments).items() if name != "json"}
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
    method.walk(target, start, seed=arguments.seed, observers=[watcher], keep=False)
    if arguments.json:
        arguments.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

r"""Which steps bring chains of ResNet-20 on CIFAR10 furthest in a few minutes of one GPU?

Chains start at one network and see the same mini-batches, each with its own settings, given as
metric:weight:rate:friction:temperature. The weight is that of the likelihood; the rate h N / (a n)
is how far a chain diffuses in an epoch, in units of its metric's variances. With --cycle the step
falls by a cosine within so many epochs, again and again. Prints and writes, for each chain: the
log-likelihood of the training images, summed over an epoch's batches; the accuracy of its network
on test images; accuracy and NLL of its own average, of draws in the last quarter of each cycle, or
every second epoch from --first on.

    python benchmarks/deep_posterior/resnet_chains.py --seconds 300 --json chains.json \
        --chains prior:1:.01:.1:1 fisher:1:.1:.1:1
"""

import argparse
import json
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from problem import Problem
from study import STUDIES, Study
from torch import Tensor

from pmcnet import metrics
from pmcnet.bnn import ModuleNetwork, at_prior_length
from pmcnet.methods import Restarts
from pmcnet.methods.sae import prior_scale
from pmcnet.methods.training.loop import batches

FORGET = 0.998
LAST = 0.02  # of a cycle's first step


@dataclass
class Chains:
    """Networks (P, D), and the settings of each (P, 1)."""

    theta: Tensor
    in_prior: Tensor
    weight: Tensor
    rate: Tensor
    friction: Tensor
    temperature: Tensor

    @classmethod
    def of(cls, texts: list[str], problem: Problem, start: Tensor) -> "Chains":
        """As the texts say, all from one network (1, D)."""
        rows = [text.split(":") for text in texts]
        network = problem.target.network
        assert isinstance(network, ModuleNetwork)
        theta = at_prior_length(network, start, prior_scale(problem.target)).repeat(len(rows), 1)
        numbers = torch.tensor(
            [[float(value) for value in row[1:]] for row in rows], device=start.device
        )
        in_prior = torch.tensor([row[0] == "prior" for row in rows], device=start.device)
        return cls(theta, in_prior[:, None], *(column[:, None] for column in numbers.T))

    def run(self, problem: Problem, arguments: argparse.Namespace) -> list[dict[str, Any]]:
        """Epochs until the time is over, a line for each."""
        target, begun, history = problem.target, time.monotonic(), []
        share, prior = len(target.x) / arguments.batch, prior_scale(target).square().reciprocal()
        velocity, square = torch.zeros_like(self.theta), torch.zeros_like(self.theta)
        total, n_draws, n_steps = (
            torch.zeros(1, dtype=torch.float64, device=self.theta.device),
            0,
            0,
        )
        source = torch.Generator(self.theta.device).manual_seed(0)
        while time.monotonic() - begun < arguments.seconds:
            value = torch.zeros(len(self.theta), dtype=torch.float64, device=self.theta.device)
            for batch in batches(target, arguments.batch, seed=0, epoch=len(history)):
                found = target.batch_likelihood_and_score(self.theta, batch)
                value += found.value
                square.lerp_(found.score.square(), max(1 - FORGET, 1 / (n_steps + 1)))
                curvature = torch.where(self.in_prior, prior, self.weight * share * square + prior)
                epoch = n_steps / share
                within = epoch % arguments.cycle / arguments.cycle if arguments.cycle else 0.0
                height = LAST + 0.5 * (1 - LAST) * (1 + math.cos(math.pi * within))
                scale = height * self.rate * self.friction / share / curvature  # h C
                temperature = self.temperature * min(1.0, epoch / arguments.heating)
                gradient = self.weight * share * found.score - prior * self.theta
                noise = torch.randn(self.theta.shape, device=self.theta.device, generator=source)
                velocity.mul_(1 - self.friction).addcmul_(gradient, scale)
                velocity.addcmul_((2 * self.friction * temperature * scale).sqrt(), noise)
                self.theta += velocity
                n_steps += 1
            line: dict[str, Any] = {"epoch": len(history) + 1, "seconds": time.monotonic() - begun}
            line["log_likelihood"] = value.tolist()
            if len(history) % 2 == 1:
                drawn = probabilities(problem, self.theta)
                line["accuracy"] = metrics.accuracy(drawn, problem.label).tolist()
                if draws_at(len(history) + 1, arguments):
                    total, n_draws = total + drawn, n_draws + 1
                    line["average"] = metrics.accuracy(total / n_draws, problem.label).tolist()
                    line["average_nll"] = metrics.nll(total / n_draws, problem.label).tolist()
                print(json.dumps(line), flush=True)
            history.append(line)
        return history


def draws_at(epoch: int, arguments: argparse.Namespace) -> bool:
    """Whether the networks after so many epochs are draws."""
    if not arguments.cycle:
        return epoch >= arguments.first and (epoch - arguments.first) % 2 == 0
    left = -epoch % arguments.cycle
    return epoch >= arguments.cycle and 4 * left < arguments.cycle and left % 2 == 0


def probabilities(problem: Problem, theta: Tensor) -> Tensor:
    """Of the test images' classes (P, N, C); a network that diverged has equal ones."""
    target = problem.target
    with torch.no_grad():
        parts = [
            target.likelihood.mean(target.network(theta, rows), theta[:, target.n_parameters :])
            for rows in problem.x_test[: len(problem.label)].split(2000)
        ]
    found = torch.cat(parts, dim=1).double()
    return torch.where(found.isnan(), 1 / found.shape[-1], found)


def study_of(arguments: argparse.Namespace) -> Study:
    """The study of CIFAR10 at likelihood weight 1, which each chain multiplies by its own."""
    study = STUDIES["cifar10"]
    adam = replace(study.adam, n_epochs=arguments.start_epochs, batch_size=arguments.batch)
    limits = tuple(arguments.limits) if arguments.limits else None
    return replace(study, likelihood_weight=1.0, adam=adam, limits=limits)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", nargs="+", default=["prior:1:.01:.1:1", "fisher:1:.1:.1:1"])
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="of the chains, with compiling"
    )
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--start-epochs", type=int, default=25)
    parser.add_argument("--heating", type=float, default=8.0, help="epochs over which noise grows")
    parser.add_argument(
        "--cycle", type=int, default=0, help="epochs, an even number; 0: steps stay"
    )
    parser.add_argument(
        "--first",
        type=int,
        default=20,
        help="epoch of the first draw without cycles, an even number",
    )
    parser.add_argument("--device", type=torch.device, default=torch.device("cuda"))
    parser.add_argument("--limits", type=int, nargs=3, help="images at most, to try it")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    study = study_of(arguments)
    problem = Problem.of(study, arguments.device)
    begun = time.monotonic()
    start = Restarts(study.adam)(problem.target, 1, seed=0)
    found: dict[str, Any] = {
        "chains": arguments.chains,
        "batch": arguments.batch,
        "cycle": arguments.cycle,
    }
    found["start"] = {"seconds": time.monotonic() - begun, "epochs": arguments.start_epochs}
    found["start"]["accuracy"] = float(
        metrics.accuracy(probabilities(problem, start)[0], problem.label)
    )
    print(found, flush=True)
    found["history"] = Chains.of(arguments.chains, problem, start).run(problem, arguments)
    if arguments.device.type == "cuda":
        found["device"] = torch.cuda.get_device_name()
    if arguments.json:
        arguments.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

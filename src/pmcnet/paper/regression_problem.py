"""The paper's large regressions, inputs and response in units of the training rows."""

from dataclasses import dataclass

import numpy as np
import torch

from pmcnet import data
from pmcnet.bnn import MLP, LearnedGaussian
from pmcnet.paper.deep_settings import DeepSettings
from pmcnet.paper.problem import Problem, Rows, rows

REGRESSION = DeepSettings(
    n_steps=5, n_epochs=100, batch_size=200, learning_rate=1e-2, weight_decay=0.0, n_seeds=3
)
"""Settings that both of them have."""


@dataclass(frozen=True)
class RegressionProblem:
    """A network of these layer sizes on the paper's rows; sigma is learned."""

    name: str
    sizes: tuple[int, ...]

    def __call__(self, settings: DeepSettings, device: torch.device) -> Problem:
        """With at most as many rows as the settings allow, on the device."""
        split = data.standardise(data.paper_split(self.name))
        centre, unit = float(np.mean(split.y_train)), float(np.std(split.y_train))
        n_train, n_validation, n_test = settings.limits or (
            len(split.y_train),
            len(split.y_val),
            len(split.y_test),
        )

        def part(x: data.Features, y: data.Labels, n: int) -> Rows:
            return rows(x[:n], (y[:n] - centre) / unit, device, torch.float32)

        return Problem(
            name=self.name,
            network=MLP(self.sizes, "relu"),
            likelihood=LearnedGaussian(),
            train=part(split.x_train, split.y_train, n_train),
            validation=part(split.x_val, split.y_val, n_validation),
            test=part(split.x_test, split.y_test, n_test),
            classes=(),
            unit=unit,
            memory=settings.memory_on(device),
        )

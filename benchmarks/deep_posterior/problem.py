"""Rows, network and posterior of a study, and the average of networks on its test rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from average import Average
from study import Study
from torch import Tensor

from pmcnet import data
from pmcnet.bnn import BayesianTarget, Categorical, GaussianPrior, ModuleNetwork, ParticlePosterior

Rows = tuple[Tensor, Tensor]
N_CLASSES = 10
_AT_ONCE = 2000  # test rows


@dataclass(frozen=True)
class Problem:
    """The tempered posterior of the training images, validation rows, test rows with outliers."""

    target: BayesianTarget
    validation: Rows | None
    x_test: Tensor
    label: Tensor

    @classmethod
    def of(cls, study: Study, device: torch.device) -> "Problem":
        """Images in units of the training images, without augmentation."""
        images = data.load_images(study.images)
        n_validation = min(study.n_validation, len(images.y_train) // 4)
        split = data.image_split(images, n_validation, seed=0)
        n_train, n_val, n_test = study.limits or (
            len(split.y_train),
            n_validation,
            len(images.y_test),
        )
        axes, x_train = (0, 2, 3), split.x_train[:n_train]
        centre, spread = x_train.mean(axes, keepdims=True), x_train.std(axes, keepdims=True)

        def scaled(x: np.ndarray, n: int) -> Tensor:
            return torch.as_tensor((x[:n] - centre) / spread).to(device, torch.float32)

        def classes(y: np.ndarray, n: int) -> Tensor:
            return torch.as_tensor(y[:n]).to(device, torch.float32)

        x, y = scaled(split.x_train, n_train), classes(split.y_train, n_train)
        x_test = scaled(split.x_test, n_test)
        crops = data.svhn_crops() if study.has_outliers else None
        if crops is not None:
            x_test = torch.cat([x_test, scaled(crops, n_test)])
        on_gpu = device.type == "cuda"
        network = ModuleNetwork(
            study.module(),
            example=x[:1].cpu(),
            compiled=on_gpu and study.limits is None,
            precision=study.precision if on_gpu else "float32",
        )
        target = BayesianTarget(
            network,
            Categorical(N_CLASSES),
            x,
            y,
            prior=GaussianPrior(study.prior_variance**0.5),
            weight=torch.full_like(y, study.likelihood_weight),
            memory=study.memory if on_gpu else 1 << 30,
        )
        validation = (scaled(split.x_val, n_val), classes(split.y_val, n_val))
        label = classes(split.y_test, n_test).long()
        return cls(target, validation if n_validation else None, x_test, label)

    @property
    def device(self) -> torch.device:
        """Where networks are."""
        return self.target.device

    @property
    def n_outliers(self) -> int:
        """How many rows behind the test rows are of another kind."""
        return len(self.x_test) - len(self.label)

    def held_out(self) -> tuple[BayesianTarget, Rows]:
        """Training and validation rows for choices: the last tenth is held out where none are."""
        if self.validation is not None:
            return self.target, self.validation
        x, y, weight = self.target.x, self.target.y, self.target.weight
        assert weight is not None
        n = len(y) - max(1, len(y) // 10)
        return replace(self.target, x=x[:n], y=y[:n], weight=weight[:n]), (x[n:], y[n:])

    def average(self) -> Average:
        """The average of no network."""
        return Average.empty(len(self.x_test), N_CLASSES, self.device)

    def added(self, average: Average, theta: Tensor) -> Average:
        """The average with these networks (P, D)."""
        target = self.target
        with torch.no_grad():
            drawn = [
                target.likelihood.mean(target.network(theta, rows), theta[:, target.n_parameters :])
                for rows in self.x_test.split(_AT_ONCE)
            ]
        return average.plus(torch.cat(drawn, dim=1), self.label)

    def posterior_scores(self, posterior: ParticlePosterior, n_passes: int) -> dict[str, Any]:
        """Scores of draws of a weighted posterior."""
        draws = posterior.draws(self.x_test, n_passes=n_passes)
        return self.average().plus(draws, self.label).scores(self.label)

"""scikit-learn's Gaussian process, with a length scale for each input."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pmcnet.competitors.base import Array, CompetingModel, FittedModel, Rows, fitted_classifier
from pmcnet.competitors.gaussians import Gaussians

_MODULES = ("sklearn.gaussian_process", "sklearn.pipeline", "sklearn.preprocessing")


@dataclass(frozen=True)
class GaussianProcessNumbers(CompetingModel):
    """`GaussianProcessRegressor`, constant * RBF + white noise, without restarts.

    Args:
        most_rows: of the training rows, at random: time grows with their cube.
    """

    most_rows: int = 2000

    modules: ClassVar[tuple[str, ...]] = _MODULES
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs are scaled, and `normalize_y` scales y."""
        from sklearn.gaussian_process import (  # type: ignore[import-untyped]
            GaussianProcessRegressor,
            kernels,
        )
        from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

        chosen = _at_most(self.most_rows, len(y), seed)
        scaler = StandardScaler().fit(rows.values[chosen])
        smooth = kernels.ConstantKernel() * kernels.RBF(np.ones(rows.values.shape[1]))
        model = GaussianProcessRegressor(
            smooth + kernels.WhiteKernel(), normalize_y=True, random_state=seed
        )
        model.fit(scaler.transform(rows.values[chosen]), y[chosen])

        def predict(rows: Rows) -> Gaussians:
            # the white kernel makes the deviation one of y, noise included
            mean, deviation = model.predict(scaler.transform(rows.values), return_std=True)
            return Gaussians(mean[None], deviation[None])

        return FittedModel(predict, f"{len(chosen)} rows; {model.kernel_}")


@dataclass(frozen=True)
class GaussianProcessClasses(CompetingModel):
    """`GaussianProcessClassifier`, constant * RBF, of more classes one against the others.

    Args:
        most_rows: of the training rows, at random: time grows with their cube.
    """

    most_rows: int = 1000

    modules: ClassVar[tuple[str, ...]] = _MODULES
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs are scaled; a row of each class is among those that are taken."""
        from sklearn.gaussian_process import GaussianProcessClassifier, kernels
        from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
        from sklearn.preprocessing import StandardScaler

        chosen = _at_most(self.most_rows, len(y), seed)
        chosen = np.union1d(chosen, np.unique(y, return_index=True)[1])
        kernel = kernels.ConstantKernel() * kernels.RBF(np.ones(rows.values.shape[1]))
        model = GaussianProcessClassifier(kernel, random_state=seed)
        scaled = make_pipeline(StandardScaler(), model)
        scaled.fit(rows.values[chosen], y[chosen])
        return fitted_classifier(scaled)._replace(note=f"{len(chosen)} rows")


def _at_most(n: int, n_rows: int, seed: int) -> Array:
    """Positions of so many rows at random, or of all."""
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[:n])

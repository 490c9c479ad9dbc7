"""scikit-learn's Gaussian process, with a length scale for each input."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pmcnet.competitors.base import Array, CompetingModel, FittedModel, Rows, fitted_classifier
from pmcnet.competitors.gaussians import Gaussians


@dataclass(frozen=True)
class GaussianProcessModel(CompetingModel):
    """Knobs of both, and the smooth part of their kernel.

    Args:
        most_rows: of the training rows, at random: time grows with their cube.
    """

    most_rows: int = 2000

    modules: ClassVar[tuple[str, ...]] = (
        "sklearn.gaussian_process",
        "sklearn.pipeline",
        "sklearn.preprocessing",
    )
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def smooth(self, rows: Rows) -> Any:
        """Constant * RBF."""
        from sklearn.gaussian_process import kernels  # type: ignore[import-untyped]

        return kernels.ConstantKernel() * kernels.RBF(np.ones(rows.values.shape[1]))

    def chosen(self, n_rows: int, seed: int) -> NDArray[np.int64]:
        """Positions of the rows that are taken, in order."""
        return np.sort(np.random.default_rng(seed).permutation(n_rows)[: self.most_rows])


@dataclass(frozen=True)
class GaussianProcessNumbers(GaussianProcessModel):
    """`GaussianProcessRegressor`, the smooth kernel + white noise, without restarts."""

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs are scaled, and `normalize_y` scales y."""
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import (  # type: ignore[import-untyped]
            WhiteKernel,
        )
        from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

        chosen = self.chosen(len(y), seed)
        scaler = StandardScaler().fit(rows.values[chosen])
        kernel = self.smooth(rows) + WhiteKernel()
        model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
        model.fit(scaler.transform(rows.values[chosen]), y[chosen])

        def predict(rows: Rows) -> Gaussians:
            # the white kernel makes the deviation one of y, noise included
            mean, deviation = model.predict(scaler.transform(rows.values), return_std=True)
            return Gaussians(mean[None], deviation[None])

        return FittedModel(predict, f"{len(chosen)} rows; {model.kernel_}")


@dataclass(frozen=True)
class GaussianProcessClasses(GaussianProcessModel):
    """`GaussianProcessClassifier`, the smooth kernel, of more classes one against the others."""

    most_rows: int = 1000

    def fit(self, rows: Rows, y: Array, seed: int) -> FittedModel:
        """Inputs are scaled; a row of each class is among those that are taken."""
        from sklearn.gaussian_process import GaussianProcessClassifier
        from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
        from sklearn.preprocessing import StandardScaler

        chosen = np.union1d(self.chosen(len(y), seed), np.unique(y, return_index=True)[1])
        model = GaussianProcessClassifier(self.smooth(rows), random_state=seed)
        scaled = make_pipeline(StandardScaler(), model)
        scaled.fit(rows.values[chosen], y[chosen])
        return fitted_classifier(scaled)._replace(note=f"{len(chosen)} rows")

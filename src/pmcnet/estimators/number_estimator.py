"""What a model of numbers predicts: means, intervals, quantiles, draws and scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin  # type: ignore[import-untyped]
from sklearn.metrics import r2_score  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.bnn.likelihoods.base import Task
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.bnn.likelihoods.response import Units
from pmcnet.errors import InputError
from pmcnet.estimators.base import PMCNetEstimator
from pmcnet.estimators.conformal.calibration_rows import GivenRows
from pmcnet.estimators.conformal.intervals import LEVELS, STATED, CalibratedIntervals, Intervals
from pmcnet.estimators.exposure import with_exposure
from pmcnet.estimators.predictions import Array, AveragedPrediction, EncodedRows, Uncertainty
from pmcnet.estimators.two_columns import as_numbers, scored_values


class NumberEstimator(RegressorMixin, PMCNetEstimator):  # type: ignore[misc]
    """The predictions of `PMCNetRegressor`, in units of y.

    Rows of counts may have an exposure, positive: a number, or one for each row (N,); it is 1 where
    it is absent. Means are proportional to it.
    """

    y_mean_: float
    y_std_: float
    calibration_: CalibratedIntervals | None

    _task: Task = "regression"

    def encoded(self, X: Any, exposure: ArrayLike | None = None) -> EncodedRows:
        """Rows, with their exposure, that every method takes for X without encoding them again."""
        rows = super().encoded(X)
        return rows if exposure is None else with_exposure(rows, exposure, self.likelihood_)

    def uncertainty(self, X: Any, exposure: ArrayLike | None = None) -> Uncertainty:
        """How uncertain each row is: by noise in the data, or as networks disagree."""
        return super().uncertainty(self.encoded(X, exposure))

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        *,
        return_error: bool = False,
        exposure: ArrayLike | None = None,
    ) -> Any:
        """The mean of y (N,).

        Args:
            X: rows.
            return_std: whether the standard deviation of y, with noise, follows (N,).
            return_error: whether the Monte Carlo standard error of the mean follows (N,): how far
                it may be from that of the exact posterior, from the disagreement of islands.
            exposure: of counts, as the other methods take it too.
        """
        rows = self.encoded(X, exposure)
        found = self._with_errors(rows) if return_error else self.predictive(rows)
        parts = [found.mean[:, 0]]
        parts += [np.sqrt(found.total)] if return_std else []
        parts += [found.error[:, 0]] if return_error else []
        return tuple(parts) if len(parts) > 1 else parts[0]

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, exposure: ArrayLike | None = None
    ) -> Array:
        """The central interval (N, 2) that holds y with probability `coverage`, noise included.

        Its ends are quantiles of the mixture of all weighted networks, not of a Gaussian with its
        moments. Of a model fitted with `conformal=True` they are calibrated: for rows like those of
        training y is inside with at least the probability `coverage`, on average over rows, not for
        each one.

        Args:
            X: rows.
            coverage: between 0 and 1; with n calibration rows at most n / (n + 1).
            exposure: of counts; calibrated intervals have none.
        """
        return self.predictive_interval(self.encoded(X, exposure), coverage)[1]

    def predictive_interval(
        self, X: Any, coverage: float = 0.95
    ) -> tuple[AveragedPrediction, Array]:
        """`predictive` and `predict_interval` from one pass over the posterior."""
        rows = self.encoded(X)
        intervals = self._intervals(rows)
        posterior, x = self._question(rows)
        found, levels = posterior.predict_with_quantiles(x, intervals.levels(coverage))
        quantiles = self._units().values(levels.mT.double().cpu().numpy())
        support = family(self.likelihood_, self._task).support
        return AveragedPrediction.of(found, self._units()), intervals.ends(
            quantiles, coverage, support
        )

    def predict_quantiles(
        self,
        X: Any,
        alpha: Sequence[float] = (0.05, 0.5, 0.95),
        *,
        exposure: ArrayLike | None = None,
    ) -> Array:
        """The quantiles `alpha` of y for each row, noise included: (N, len(alpha)).

        They are those of the posterior, and never calibrated.
        """
        levels = [float(level) for level in np.atleast_1d(np.asarray(alpha, dtype=np.float64))]
        posterior, x = self._question(self.encoded(X, exposure))
        found = posterior.quantiles(x, levels)  # (Q, N)
        return self._units().values(found.mT.double().cpu().numpy())

    def predict_draws(
        self,
        X: Any,
        n_passes: int = 100,
        random_state: int = 0,
        *,
        exposure: ArrayLike | None = None,
    ) -> Array:
        """The mean of y by each of `n_passes` networks drawn from the posterior: (R, N)."""
        draws = self._draws(self.encoded(X, exposure), n_passes, random_state)[..., 0]
        return self._units().values(draws)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int = 0,
        *,
        exposure: ArrayLike | None = None,
    ) -> Array:
        """Draws of y, noise included, each from a network drawn by its weight: (N, n_samples)."""
        posterior, x = self._question(self.encoded(X, exposure))
        drawn = posterior.sample(x, n_samples, random_state)  # (S, N)
        return self._units().values(drawn.cpu().numpy().T)

    def log_predictive(self, X: Any, y: ArrayLike, *, exposure: ArrayLike | None = None) -> Array:
        """Log-density of each y under its predictive distribution, in units of y (N,).

        Args:
            X: rows.
            y: their responses (N,); times and events (N, 2), where a censored row has the logarithm
                of the probability that its event comes later.
            exposure: of counts.
        """
        posterior, x = self._question(self.encoded(X, exposure))
        found = posterior.log_predictive(x, self._targets(y).to(x.device))
        return self._units().log_density(found.cpu().numpy())

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> float:
        """R squared of the mean of y, at most 1; of times only where no row is censored."""
        check_is_fitted(self)
        values = scored_values(y, self.likelihood_)
        mean = self.predict(X, exposure=exposure)
        return float(r2_score(values, mean, sample_weight=sample_weight))

    def _intervals(self, rows: EncodedRows) -> Intervals:
        """How these rows get their intervals."""
        if self.calibration_ is None:
            return STATED
        if rows.log_exposure is not None:
            raise InputError(
                "calibrated intervals are for counts without an exposure. Leave it out, or use "
                "predict_quantiles, which is not calibrated."
            )
        return self.calibration_

    def _calibrated(self, unseen: GivenRows) -> CalibratedIntervals:
        rows, y = self._calibration_rows(unseen)
        return CalibratedIntervals.of(self.predict_quantiles(rows, LEVELS), y)

    def _targets(self, y: Any) -> Tensor:
        members = family(self.likelihood_, self._task)
        return torch.as_tensor(members.targets(as_numbers(y), self._units()))

    def _units(self) -> Units:
        return Units(self.y_mean_, self.y_std_)

    def _set_units(self, units: Units) -> None:
        self.y_mean_, self.y_std_ = units

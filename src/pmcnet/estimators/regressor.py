"""Bayesian regression with a neural network, the scikit-learn way."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin  # type: ignore[import-untyped]
from sklearn.utils.validation import check_array, column_or_1d  # type: ignore[import-untyped]

from pmcnet.bnn.likelihoods.base import Task
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.errors import InputError
from pmcnet.estimators.base import PMCNetEstimator
from pmcnet.estimators.columns import are_dates
from pmcnet.estimators.encoding import Scaling
from pmcnet.estimators.formulation import NOISES, AskedNoise, PriorStd
from pmcnet.estimators.networks import ModuleSource
from pmcnet.estimators.predictions import Array, AveragedPrediction
from pmcnet.estimators.training_rows import checked_weight
from pmcnet.estimators.two_columns import (
    TIMES,
    as_numbers,
    is_by_row,
    times_and_events,
    with_noise,
)
from pmcnet.methods.settings import Value


class PMCNetRegressor(RegressorMixin, PMCNetEstimator):  # type: ignore[misc]
    """A Bayesian neural network that predicts a number with an interval, and says when to trust it.

    X and y are scaled inside, so raw values of any size work.

    Args:
        hidden_layer_sizes: units of each hidden layer.
        activation: "tanh", "relu", "sigmoid" or "silu".
        module: instead of hidden layers, any `nn.Module` with one output, or a function of (number
            of inputs or shape of an image, 1) that makes one.
        likelihood: how y is distributed given the network: a name (docs/estimators.md), or "auto"
            for the one with the largest evidence among those that fit the kind of number.
        noise: "learn" one standard deviation with the weights; "by-row": another output of the
            network says how it varies; a standard deviation in units of y, one number or one per
            training row (N,), whose root mean square rows to predict have; "auto": by the evidence.
        method: "auto" takes "annealed" where its cost fits the budget, else "hmc", else
            "pmcnet-light"; `method_reason_` says which and why. Or any name of
            `methods.registry.METHODS` (docs/estimators.md).
        method_options: settings of the method, e.g. {"n_particles": 1000}; see docs/estimators.md.
        prior: "gaussian" N(0, prior_std^2) on every weight and bias; "layer" the same divided by
            the root of the fan-in for weights; "laplace".
        prior_std: a number; "layer" or "ard": scales by layer, or by input too, are sampled with
            the weights; "hierarchical" takes one of these two by the evidence; "evidence" or
            "validation" search a number; "auto": a number or sampled scales by the evidence, for
            methods without evidence a search on validation rows.
        feature_scaling: "columns" standardises each number column; "common" all of them together;
            "none".
        budget: what may be spent: seconds, or like "3min". "auto" chooses by it. "annealed" ends
            earlier once predictions are known; sizes of hmc, sghmc and pmcnet-light that are not
            given follow from it by estimated times.
        random_state: an int for the same answer each time, as long as the budget does not end the
            fit; `method_options={"n_islands": 8}` fixes the number of islands.
        device: "auto", "cpu", "cuda", ...
        verbose: 1 shows progress on standard error.
    """

    y_mean_: float
    y_std_: float

    _task: Task = "regression"

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (16,),
        activation: Literal["tanh", "relu", "sigmoid", "silu"] = "tanh",
        *,
        module: ModuleSource = None,
        likelihood: str = "auto",
        noise: AskedNoise | ArrayLike = "auto",
        method: str = "auto",
        method_options: Mapping[str, Value] | None = None,
        prior: str = "gaussian",
        prior_std: PriorStd = "auto",
        feature_scaling: Scaling = "columns",
        budget: float | str = "3min",
        random_state: Any = None,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            activation,
            module=module,
            likelihood=likelihood,
            method=method,
            method_options=method_options,
            prior=prior,
            prior_std=prior_std,
            feature_scaling=feature_scaling,
            budget=budget,
            random_state=random_state,
            device=device,
            verbose=verbose,
        )
        self.noise = noise

    def _response_of(self, y: Any, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """The numbers (N,) or (N, 2), and weights."""
        noise = self._asked_noise()
        word = isinstance(noise, str) and noise in NOISES
        if not word and not (isinstance(noise, Real) and 0 < noise < np.inf):
            raise InputError(
                f"noise must be one of {', '.join(NOISES)}, or a positive standard deviation in "
                f"units of y; got {self.noise!r}."
            )
        response = _response(y, two_columns=self.likelihood.startswith(TIMES))
        if noise is not self.noise:
            response = with_noise(response, self.noise, self.likelihood)
        if self.likelihood != "auto":  # refuses rows by their numbers, which merging changes
            family(self.likelihood, self._task).targets(response, Units())
        return response, checked_weight(sample_weight, response)

    def predict(self, X: Any, return_std: bool = False, *, return_error: bool = False) -> Any:
        """The mean of y (N,).

        Args:
            X: rows.
            return_std: whether the standard deviation of y, with noise, follows (N,).
            return_error: whether the Monte Carlo standard error of the mean follows (N,): how far
                it may be from that of the exact posterior, from the disagreement of islands.
        """
        found = self._with_errors(X) if return_error else self.predictive(X)
        parts = [found.mean[:, 0]]
        parts += [np.sqrt(found.total)] if return_std else []
        parts += [found.error[:, 0]] if return_error else []
        return tuple(parts) if len(parts) > 1 else parts[0]

    def predict_interval(self, X: Any, coverage: float = 0.95) -> Array:
        """The central interval (N, 2) that holds y with probability `coverage`, noise included.

        Its ends are quantiles of the mixture of all weighted networks, not of a Gaussian with its
        moments.

        Args:
            X: rows.
            coverage: between 0 and 1.
        """
        return self.predict_quantiles(X, _ends(coverage))

    def predictive_interval(
        self, X: Any, coverage: float = 0.95
    ) -> tuple[AveragedPrediction, Array]:
        """`predictive` and `predict_interval` from one pass over the posterior."""
        found, quantiles = self._posterior().predict_with_quantiles(
            self._inputs(X), _ends(coverage)
        )
        interval = self._units().values(quantiles.mT.double().cpu().numpy())
        return AveragedPrediction.of(found, self._units()), interval

    def predict_quantiles(self, X: Any, alpha: Sequence[float] = (0.05, 0.5, 0.95)) -> Array:
        """The quantiles `alpha` of y for each row, noise included: (N, len(alpha))."""
        levels = [float(level) for level in np.atleast_1d(np.asarray(alpha, dtype=np.float64))]
        found = self._posterior().quantiles(self._inputs(X), levels)  # (Q, N)
        return self._units().values(found.mT.double().cpu().numpy())

    def predict_draws(self, X: Any, n_passes: int = 100, random_state: int = 0) -> Array:
        """The mean of y by each of `n_passes` networks drawn from the posterior: (R, N)."""
        draws = self._draws(X, n_passes, random_state)[..., 0]
        return self._units().values(draws)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: int = 0) -> Array:
        """Draws of y, noise included, each from a network drawn by its weight: (N, n_samples)."""
        drawn = self._posterior().sample(self._inputs(X), n_samples, random_state)  # (S, N)
        return self._units().values(drawn.cpu().numpy().T)

    def log_predictive(self, X: Any, y: ArrayLike) -> Array:
        """Log-density of each y under its predictive distribution, in units of y (N,)."""
        x, units = self._inputs(X), self._units()
        members = family(self.likelihood_, self._task)
        scaled = torch.as_tensor(members.targets(as_numbers(y), units))
        found = self._posterior().log_predictive(x, scaled.to(x.device))
        return units.log_density(found.cpu().numpy())

    def _response(self, y: Array, weight: Array) -> Response:
        return Response(y, weight)

    def _asked_noise(self) -> AskedNoise:
        noise: Any = self.noise
        return "learn" if is_by_row(noise) else noise

    def _units(self) -> Units:
        return Units(self.y_mean_, self.y_std_)

    def _set_units(self, units: Units) -> None:
        self.y_mean_, self.y_std_ = units


def _ends(coverage: float) -> list[float]:
    """The levels between which a central interval lies."""
    if not 0 < coverage < 1:
        raise InputError(f"coverage must lie between 0 and 1; got {coverage}. Use 0.95 for 95 %.")
    return [(1 - coverage) / 2, (1 + coverage) / 2]


def _response(y: Any, *, two_columns: bool) -> Array:
    """Y as finite numbers (N,), or (N, 2) where there may be two columns."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    y = times_and_events(y) if two_columns else y
    if are_dates(np.asarray(y).ravel()):
        raise InputError(
            "y holds dates; it must hold numbers. Turn them into numbers, e.g. days since the "
            "first."
        )
    try:
        # it looks for infinities by a sum, which may overflow
        with np.errstate(over="ignore", invalid="ignore"):
            array = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    except OverflowError as error:
        raise InputError(
            f"y holds a number too large for double precision ({error}). Scale y."
        ) from error
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise InputError(
            f"y must be numbers ({error}). For classes use PMCNetClassifier."
        ) from error
    if two_columns and array.ndim > 1 and array.shape[1] == 2:
        return np.asarray(array, dtype=np.float64)
    if array.ndim > 1 and array.shape[1] > 1:
        raise InputError(
            f"y must be one number per row, (N,); got {array.shape}. Fit one model for each column "
            "of y."
        )
    return np.asarray(column_or_1d(array, warn=True), dtype=np.float64)

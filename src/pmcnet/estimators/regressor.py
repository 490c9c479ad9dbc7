"""Bayesian regression with a neural network, the scikit-learn way."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn.likelihoods.exposed_counts import COUNT_FAMILIES
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.errors import InputError
from pmcnet.estimators.encoding import Scaling
from pmcnet.estimators.exposure import (
    Counted,
    check_family,
    checked_exposure,
    likelihood_of_counts,
)
from pmcnet.estimators.formulation import COUNTS, NOISES, AskedNoise, PriorStd
from pmcnet.estimators.formulation_search import Asked
from pmcnet.estimators.input_rows import Unseen
from pmcnet.estimators.networks import ModuleSource
from pmcnet.estimators.number_estimator import NumberEstimator
from pmcnet.estimators.observer import FitObserver
from pmcnet.estimators.predictions import Array
from pmcnet.estimators.response_numbers import checked_numbers
from pmcnet.estimators.several_targets import are_several, check_several, likelihood_of_several
from pmcnet.estimators.training_rows import checked_weight
from pmcnet.estimators.two_columns import is_by_row, with_noise
from pmcnet.methods.settings import Value


class PMCNetRegressor(NumberEstimator):
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
        method: "auto" takes "annealed" where it should be quick enough, else "hmc", else
            "pmcnet-light"; and "hmc" where the rows are informative, most of all with noise by
            row. `method_reason_` says which and why. Or any name of `methods.registry.METHODS`
            (docs/estimators.md).
        method_options: settings of the method, e.g. {"n_particles": 1000}; see docs/estimators.md.
        prior: "gaussian" N(0, prior_std^2) on every weight and bias; "layer" the same divided by
            the root of the fan-in for weights; "laplace".
        prior_std: a number; "layer" or "ard": scales by layer, or by input too, are sampled with
            the weights; "hierarchical" takes one of these two by the evidence; "evidence" or
            "validation" search a number; "auto": a number or sampled scales by the evidence, for
            methods without evidence a search on validation rows.
        feature_scaling: "columns" standardises each number column; "common" all of them together;
            "none".
        column_types: kinds of columns by name, where they are not to be inferred: "number",
            "log-number", "category", "many-levels", "date", "duration", "text", or "drop".
        keep: names of columns that are never left out as constant, repeated or identifiers.
        unseen: cells unlike those of training (new levels, words among numbers) count as "missing",
            with a warning, or are an "error".
        conformal: whether intervals are calibrated, on a fifth of the rows that is held out of the
            fit (docs/estimators.md).
        budget: what may be spent: seconds, or like "3min". "auto" chooses by it. "annealed" and
            "hmc" keep it by the clock and end earlier once predictions are known; sizes of sghmc
            and pmcnet-light that are not given follow from it by estimated times.
        random_state: an int for the same answer each time, as long as the budget does not end the
            fit; `method_options={"n_islands": 8}` fixes the number of islands, and with
            method="hmc" {"n_draws": 100} that of the draws.
        device: "auto", "cpu", "cuda", ...
        verbose: 1 shows progress on standard error.
    """

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (50,),
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
        column_types: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
        unseen: Unseen = "missing",
        conformal: bool = False,
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
            column_types=column_types,
            keep=keep,
            unseen=unseen,
            conformal=conformal,
            budget=budget,
            random_state=random_state,
            device=device,
            verbose=verbose,
        )
        self.noise = noise

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Sample the posterior of the network's weights.

        Args:
            X: rows (N, d): an array, or a table of pandas, polars or pyarrow; with a module also
                images (N, C, H, W).
            y: one number per row (N,), or several targets (N, T), which are independent given the
                network; for times until an event, likelihood "censored", (N, 2), the time and
                whether the event was observed then (1) or the row is censored (0), or a structured
                array.
            sample_weight: how often each row counts (N,).
            exposure: of counts, the time, area or number at risk of each row (N,), positive; the
                mean count is proportional to it. Likelihood "auto" then compares the families of
                counts.
        """
        return super().fit(X, _with_exposure(y, exposure), sample_weight)

    def fit_with(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        state: Any = None,
        observers: Sequence[FitObserver] = (),
        comm: Communicator = SERIAL,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Fit as `fit` does: watched, from a state, or shared between processes."""
        y = _with_exposure(y, exposure)
        if self.conformal and isinstance(y, Counted):
            raise InputError(
                "conformal intervals are for counts without an exposure: one offset cannot suit "
                "rows at risk for different times. Leave conformal or exposure out."
            )
        return super().fit_with(X, y, sample_weight, state=state, observers=observers, comm=comm)

    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Take in more rows, for which the units of y stay too; see `PMCNetClassifier.update`.

        Args:
            X: rows that the model has not seen.
            y: their numbers, or times and events.
            sample_weight: how often each counts.
            exposure: of counts.
        """
        return super().update(X, _with_exposure(y, exposure), sample_weight)

    def update_with(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        observers: Sequence[FitObserver] = (),
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Update as `update` does, watched by `observers`, whatever `verbose` says."""
        return super().update_with(
            X, _with_exposure(y, exposure), sample_weight, observers=observers
        )

    def restore_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Give a loaded model the rows of its fit again, so that it can be updated."""
        return super().restore_rows(X, _with_exposure(y, exposure), sample_weight)

    def _response_of(self, y: Any, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """The numbers (N,), (N, 2) or (N, T), and weights."""
        asked, exposure = self._asked(y), None
        if isinstance(y, Counted):
            y, exposure = y
        noise = asked.noise
        word = isinstance(noise, str) and noise in NOISES
        if not word and not (isinstance(noise, Real) and 0 < noise < np.inf):
            raise InputError(
                f"noise must be one of {', '.join(NOISES)}, or a positive standard deviation in "
                f"units of y; got {self.noise!r}."
            )
        response = checked_numbers(y, asked.likelihood)
        check_several(response, self.likelihood, asked.likelihood, self.conformal)
        if noise is not self.noise:
            response = with_noise(response, self.noise, asked.likelihood)
        if exposure is not None:
            response = np.column_stack([response, checked_exposure(exposure, len(response))])
        name = COUNT_FAMILIES[0] if asked.likelihood == COUNTS else asked.likelihood
        if name != "auto":  # refuses rows by their numbers, which merging changes
            family(name, self._task).targets(response, Units())
        return response, checked_weight(sample_weight, response)

    def _more_of(self, y: Any, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """The numbers of the fitted likelihood, and weights."""
        if is_by_row(self.noise):
            raise InputError(
                "the noise of each training row was given, and that of other rows is not known. "
                "Fit again on all rows with their noise."
            )
        exposure = None
        if isinstance(y, Counted):
            y, exposure = y
            check_family(self.likelihood_)
        response = checked_numbers(y, self.likelihood_)
        if exposure is not None:
            response = np.column_stack([response, checked_exposure(exposure, len(response))])
        family(self.likelihood_, self._task).targets(response, self._units())
        return response, checked_weight(sample_weight, response)

    def _response(self, y: Array, weight: Array) -> Response:
        return Response(y, weight)

    def _asked(self, y: Any) -> Asked:
        noise: Any = "learn" if is_by_row(self.noise) else self.noise
        return Asked(_likelihood_of(y, self.likelihood), noise, self.prior_std)


def _with_exposure(y: Any, exposure: ArrayLike | None) -> Any:
    return y if exposure is None else Counted(y, exposure)


def _likelihood_of(y: Any, likelihood: str) -> str:
    """What an estimator's likelihood means for y as it was given."""
    if isinstance(y, Counted):
        return likelihood_of_counts(likelihood)
    return likelihood_of_several(likelihood) if are_several(y, likelihood) else likelihood

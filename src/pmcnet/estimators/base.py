"""What both estimators share: settings, rows in and out, the fit, and what can be read off it."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils import check_random_state  # type: ignore[import-untyped]
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_consistent_length,
    check_is_fitted,
)
from torch import Tensor

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.ais.verdict import Verdict
from pmcnet.bnn import Network, ParticlePosterior
from pmcnet.bnn.likelihoods.base import Task
from pmcnet.bnn.likelihoods.response import Noise, Response, Units
from pmcnet.errors import InputError
from pmcnet.estimators import model_file
from pmcnet.estimators.cached_network import CachedNetwork
from pmcnet.estimators.encoding import Encoder, Scaling
from pmcnet.estimators.exposure import predicting
from pmcnet.estimators.fit import fit_posterior
from pmcnet.estimators.formulation import SEARCHES, Formulation, FoundPrior, PriorStd
from pmcnet.estimators.formulation_search import Asked, first
from pmcnet.estimators.input_rows import checked_rows
from pmcnet.estimators.model_rows import ModelRows
from pmcnet.estimators.networks import ModuleSource, network_for
from pmcnet.estimators.observer import FitObserver
from pmcnet.estimators.plan import plan, resolve_device
from pmcnet.estimators.predictions import Array, AveragedPrediction, EncodedRows, Uncertainty
from pmcnet.estimators.progress_display import displayed
from pmcnet.estimators.relevance import relevance_of
from pmcnet.estimators.setting_checks import check_settings
from pmcnet.estimators.training_rows import fitted_encoder
from pmcnet.methods.settings import Value
from pmcnet.threads import coarse

_CPU_MEMORY, _GPU_MEMORY = 1 << 28, 1 << 32


class PMCNetEstimator(BaseEstimator):  # type: ignore[misc]
    """Shared by `PMCNetClassifier` and `PMCNetRegressor`."""

    posterior_: ParticlePosterior
    verdict_: Verdict
    history_: list[dict[str, Any]]
    method_: str
    method_reason_: str
    method_options_: dict[str, Value]
    likelihood_: str
    noise_: Noise
    prior_std_: FoundPrior
    formulation_reason_: str
    comparisons_: list[dict[str, Any]]
    prior_trials_: list[dict[str, float]]
    prior_seconds_: float
    encoder_: Encoder
    n_features_in_: int

    _task: Task

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (50,),
        activation: Literal["tanh", "relu", "sigmoid", "silu"] = "tanh",
        *,
        module: ModuleSource = None,
        likelihood: str = "auto",
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
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.module = module
        self.likelihood = likelihood
        self.method = method
        self.method_options = method_options
        self.prior = prior
        self.prior_std = prior_std
        self.feature_scaling = feature_scaling
        self.budget = budget
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Sample the posterior of the network's weights.

        Args:
            X: rows (N, d): an array or a DataFrame of pandas or polars; with a module also images
                (N, C, H, W).
            y: classes of any type, or one number per row (N,).
            sample_weight: how often each row counts (N,).
        """
        with displayed(self.verbose) as observers:
            return self.fit_with(X, y, sample_weight, observers=observers)

    def fit_with(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        state: Any = None,
        observers: Sequence[FitObserver] = (),
        comm: Communicator = SERIAL,
    ) -> Self:
        """Fit as `fit` does: watched, from a state, or shared between processes.

        `state` is of a fit of the same rows with the same settings, from which this one goes on;
        `observers` watch the fit, whatever `verbose` says; `comm` are processes that share it, each
        of which calls this method.
        """
        response, weight = self._response_of(y, sample_weight)
        self.check_settings()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        device = resolve_device(self.device)
        rows = self._rows(X, response, weight, seed, device)
        asked = self._asked(y)
        target = rows.target(first(asked, rows))
        chosen = plan(
            target,
            self.method,
            self.method_options or {},
            budget=self.budget,
            searching=self.prior_std in SEARCHES,
            compared=rows.can_sample_scales() and self.prior_std in ("auto", "hierarchical"),
        )
        with coarse(target.least_piece is not None):
            settings = {"seed": seed, "state": state, "observers": observers, "comm": comm}
            outcome = fit_posterior(rows, chosen, asked, **settings)
        memory = model_file.PREDICTION_MEMORY if device.type == "cpu" else _GPU_MEMORY
        self.posterior_, self.history_ = replace(outcome.posterior, memory=memory), outcome.history
        self.likelihood_, noise, self.prior_std_ = outcome.formulation
        self.noise_ = noise if isinstance(noise, str) else float(noise)
        self.formulation_reason_, self.comparisons_ = outcome.reason, outcome.comparisons
        self.prior_seconds_, self.prior_trials_ = outcome.search_seconds, outcome.trials
        self._set_units(rows.units(outcome.formulation))
        self.verdict_ = outcome.posterior.verdict
        self.method_, self.method_reason_ = chosen.name, chosen.reason
        self.method_options_ = dict(vars(chosen.options))
        return self

    @property
    def formulation_(self) -> Formulation:
        """Likelihood, noise and prior as they were settled."""
        return Formulation(self.likelihood_, self.noise_, self.prior_std_)

    @property
    def feature_relevance_(self) -> Any:
        """Columns by the scale of their weights, with credible intervals; of scales by input.

        The prior's median is 1.
        """
        check_is_fitted(self)
        return relevance_of(self.posterior_, self.encoder_)

    def predictive(self, X: Any) -> AveragedPrediction:
        """The averaged prediction with its uncertainty, from one pass over the posterior."""
        posterior, x = self._question(X)
        return AveragedPrediction.of(posterior.predict(x), self._units())

    def _with_errors(self, X: Any) -> AveragedPrediction:
        """`predictive`, refused where nothing tells the Monte Carlo error."""
        found = self.predictive(X)
        if not self.posterior_.n_islands:
            raise InputError(
                "return_error needs independent islands or chains, and this model has none (method "
                f"{self.method_}). Fit with method='annealed' or 'hmc'."
            )
        return found

    def uncertainty(self, X: Any) -> Uncertainty:
        """How uncertain each row is: by noise in the data, or as networks disagree."""
        return Uncertainty(*self.predictive(X)[1:4])

    def thinned(self, n_passes: int, random_state: int = 0) -> Self:
        """The same model with `n_passes` networks drawn by their weights: faster, noisier."""
        check_is_fitted(self)
        other = copy(self)
        other.posterior_ = self.posterior_.thinned(n_passes, random_state)
        return other

    def encoded(self, X: Any) -> EncodedRows:
        """Rows that every method takes for X without encoding them again."""
        check_is_fitted(self)
        if isinstance(X, EncodedRows):
            return X
        encoded = self.encoder_.encode(self.encoder_.rows(checked_rows(self, X, reset=False)))
        return EncodedRows(torch.as_tensor(encoded).to(self.posterior_.samples.theta))

    def cached(self) -> Self:
        """The same model; questions about the same encoded rows share one pass of the networks."""
        check_is_fitted(self)
        network = cast(Network, CachedNetwork(self.posterior_.network))
        other = copy(self)
        other.posterior_ = replace(self.posterior_, network=network)
        return other

    def save(self, path: str | Path) -> Path:
        """Write the fitted model as a folder of safetensors and JSON; see `docs/estimators.md`."""
        check_is_fitted(self)
        return model_file.save(self, path)

    @classmethod
    def load(cls, path: str | Path, *, module: ModuleSource = None, device: str = "auto") -> Self:
        """The model that was saved there; nothing in the files is executed.

        Args:
            path: what `save` returned.
            module: for a model of your own network: the same module or factory again.
            device: where to predict.
        """
        return model_file.load(cls, path, module=module, device=device)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _response(self, y: Array, weight: Array) -> Response:
        """What is known of y of the merged rows."""
        raise NotImplementedError

    def _units(self) -> Units:
        """The units in which the network predicts y."""
        return Units()

    def _set_units(self, units: Units) -> None:
        """Keep the units that the likelihood chose, where they are not those of y."""

    def _response_of(self, y: Any, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """Checked y as numbers (N,), and how often each row counts (N,)."""
        raise NotImplementedError

    def _asked(self, y: Any) -> Asked:
        """What is said of likelihood, noise and prior for y as it was given."""
        return Asked(self.likelihood, "learn", self.prior_std)

    def _rows(self, X: Any, y: Array, weight: Array, seed: int, device: torch.device) -> ModelRows:
        """Checked, merged and encoded rows."""
        raw = checked_rows(self, X, reset=True)
        check_consistent_length(raw, y)
        self.encoder_, rows = fitted_encoder(raw, y, weight, seed, self.feature_scaling)
        return ModelRows(
            torch.as_tensor(self.encoder_.encode(rows.x)).to(device, torch.float32),
            self._response(rows.y, rows.weight),
            self._task,
            self._network,
            self.module is None,
            self.prior,
            _CPU_MEMORY if device.type == "cpu" else _GPU_MEMORY,
        )

    def _network(self, n_outputs: int) -> Network:
        """The network without scales of its own."""
        return network_for(
            self.module,
            self.encoder_.input_shape,
            self.hidden_layer_sizes,
            self.activation,
            n_outputs,
        )

    def _question(self, X: Any) -> tuple[ParticlePosterior, Tensor]:
        """What predicts these rows, and the network's inputs."""
        rows = self.encoded(X)  # refuses to go on without a fit
        return predicting(self.posterior_, rows)

    def _draws(self, X: Any, n_passes: int, seed: int) -> Array:
        posterior, x = self._question(X)
        draws = posterior.draws(x, n_passes=n_passes, seed=seed)
        return np.asarray(draws.double().cpu().numpy())

    def check_settings(self) -> None:
        """Raise where a setting cannot work, whatever the rows."""
        check_settings(self, self._task)

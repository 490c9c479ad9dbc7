"""What both estimators share: settings, rows in and out, the fit, and what can be read off it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_consistent_length,
)

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn import Network
from pmcnet.bnn.likelihoods.base import Task
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.estimators import model_file
from pmcnet.estimators.columns import ColumnsAsked
from pmcnet.estimators.conformal.calibration_rows import GivenRows, SplitRows, split
from pmcnet.estimators.conformal.stored_calibration import Calibration
from pmcnet.estimators.encoding import Scaling
from pmcnet.estimators.exposure import log_exposure_of
from pmcnet.estimators.fit import fit_posterior
from pmcnet.estimators.fit_log import log_columns, log_verdict, logged
from pmcnet.estimators.formulation import SEARCHES, PriorStd
from pmcnet.estimators.formulation_search import Asked, first
from pmcnet.estimators.input_rows import Unseen, checked_rows
from pmcnet.estimators.kept_rows import KeptRows
from pmcnet.estimators.model_rows import ModelRows
from pmcnet.estimators.networks import ModuleSource, network_for
from pmcnet.estimators.novelty import NoveltyScale, learned_scale
from pmcnet.estimators.observer import FitObserver
from pmcnet.estimators.plan import plan, resolve_device
from pmcnet.estimators.predictions import Array, EncodedRows
from pmcnet.estimators.progress_display import displayed
from pmcnet.estimators.reference_rows import ReferenceRows
from pmcnet.estimators.setting_checks import check_settings
from pmcnet.estimators.several_targets import n_targets_of
from pmcnet.estimators.training_rows import (
    encoded_training,
    read_columns,
)
from pmcnet.estimators.updatable_model import UpdatableModel
from pmcnet.estimators.update import islands_of, seed_of
from pmcnet.methods.settings import Value
from pmcnet.threads import coarse

_CPU_MEMORY, _GPU_MEMORY = 1 << 28, 1 << 32


class PMCNetEstimator(UpdatableModel):
    """Shared by `PMCNetClassifier` and `PMCNetRegressor`."""

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
        column_types: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
        unseen: Unseen = "missing",
        conformal: bool = False,
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
        self.column_types = column_types
        self.keep = keep
        self.unseen = unseen
        self.conformal = conformal
        self.budget = budget
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Sample the posterior of the network's weights.

        Args:
            X: rows (N, d): an array, or a table of pandas, polars or pyarrow; with a module also
                images (N, C, H, W).
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
        seed = seed_of(self, 0)
        device = resolve_device(self.device)
        asked = self._asked(y)
        given, held_out, trained = self._given(X, response, weight, seed)
        rows = self._rows(given, n_targets_of(response, asked.likelihood), seed, device)
        watching = logged(observers, comm)
        log_columns(self, comm)
        if self.reference_rows_ is not None and trained is not None:
            self.reference_rows_ = self.reference_rows_.numbered(trained + 1)
        unseen = None if held_out is None else self._unseen_rows(held_out)
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
            settings = {"seed": seed, "state": state, "observers": watching, "comm": comm}
            outcome = fit_posterior(rows, chosen, asked, **settings)
        memory = model_file.PREDICTION_MEMORY if device.type == "cpu" else _GPU_MEMORY
        self.posterior_, self.history_ = replace(outcome.posterior, memory=memory), outcome.history
        self.likelihood_, noise, self.prior_std_ = outcome.formulation
        self.noise_ = noise if isinstance(noise, str) else float(noise)
        self.formulation_reason_, self.comparisons_ = outcome.reason, outcome.comparisons
        self.prior_seconds_, self.prior_trials_ = outcome.search_seconds, outcome.trials
        self._set_units(rows.units(outcome.formulation))
        self.verdict_, chosen = outcome.posterior.verdict, outcome.plan
        self.method_, self.method_reason_ = chosen.name, chosen.reason
        self.method_options_ = dict(vars(chosen.options))
        self.calibration_ = None if unseen is None else self._calibrated(unseen)
        self.update_ = None
        self.novelty_scale_ = self._learned_novelty(rows, seed)
        self.training_rows_ = None if islands_of(self) is None else KeptRows.of(outcome.target)
        log_verdict(self.verdict_, comm)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    @property
    def _n_classes(self) -> int | None:
        """Of a classification."""
        return None

    def _response(self, y: Array, weight: Array) -> Response:
        """What is known of y of the merged rows."""
        raise NotImplementedError

    def _set_units(self, units: Units) -> None:
        """Keep the units that the likelihood chose, where they are not those of y."""

    def _response_of(self, y: Any, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """Checked y as numbers (N,), and how often each row counts (N,)."""
        raise NotImplementedError

    def _calibrated(self, unseen: GivenRows) -> Calibration:
        """What rows that the fit has not seen teach."""
        raise NotImplementedError

    def _asked_of_columns(self) -> ColumnsAsked:
        """What is said of columns."""
        return ColumnsAsked(dict(self.column_types or {}), tuple(self.keep))

    def _asked(self, y: Any) -> Asked:
        """What is said of likelihood, noise and prior for y as it was given."""
        return Asked(self.likelihood, "learn", self.prior_std)

    def _given(self, X: Any, y: Array, weight: Array, seed: int) -> SplitRows:
        """Checked rows, and those of them that are held out."""
        raw = checked_rows(self, X, reset=True)
        check_consistent_length(raw, y)
        given = GivenRows(raw, y, weight)
        if not self.conformal:
            return SplitRows(given, None)
        _, numbers = read_columns(raw, self._asked_of_columns())
        return split(given, numbers, seed)

    def _rows(self, given: GivenRows, n_targets: int, seed: int, device: torch.device) -> ModelRows:
        """Merged and encoded rows."""
        asked, n_classes = self._asked_of_columns(), self._n_classes
        self.encoder_, rows, inputs = encoded_training(
            *given, seed, self.feature_scaling, asked, n_classes, n_targets
        )
        self.reference_rows_ = ReferenceRows.of(self.encoder_, rows, seed)
        return ModelRows(
            torch.as_tensor(inputs).to(device, torch.float32),
            self._response(rows.y, rows.weight),
            self._task,
            self._network,
            self.module is None,
            self.prior,
            _CPU_MEMORY if device.type == "cpu" else _GPU_MEMORY,
        )

    def _learned_novelty(self, rows: ModelRows, seed: int) -> NoveltyScale | None:
        """How unlike one another training rows are; None of images and of several targets."""
        if self.reference_rows_ is None or self.posterior_.likelihood.n_targets > 1:
            return None
        y, weight = rows.response.y, rows.response.weight
        known = EncodedRows(rows.x, log_exposure_of(y, self.likelihood_))
        members, units = family(self.likelihood_, self._task), self._units()
        targets = torch.as_tensor(members.targets(y, units))
        asked = (self.reference_rows_, known, targets, weight, seed)
        return learned_scale(self.posterior_, units, *asked)

    def _network(self, n_outputs: int) -> Network:
        """The network without scales of its own."""
        return network_for(
            self.module,
            self.encoder_.input_shape,
            self.hidden_layer_sizes,
            self.activation,
            n_outputs,
        )

    def check_settings(self) -> None:
        """Raise where a setting cannot work, whatever the rows."""
        check_settings(self, self._task)

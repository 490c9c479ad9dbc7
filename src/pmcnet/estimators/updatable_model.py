"""Fitted models that take in more rows."""

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_consistent_length,
    check_is_fitted,
)

from pmcnet.ais.comm import SERIAL
from pmcnet.errors import DriftWarning, InputError
from pmcnet.estimators.checked_model import CheckedModel
from pmcnet.estimators.explained_model import ExplainedModel
from pmcnet.estimators.exposure import log_exposure_of
from pmcnet.estimators.fit_log import log_verdict
from pmcnet.estimators.input_rows import check_seen, checked_rows
from pmcnet.estimators.novelty import learned_scale
from pmcnet.estimators.observer import FitObserver
from pmcnet.estimators.predictions import Array, EncodedRows
from pmcnet.estimators.progress_display import displayed
from pmcnet.estimators.reported_model import ReportedModel
from pmcnet.estimators.several_targets import n_targets_of
from pmcnet.estimators.training_rows import TrainingRows, encoded_again
from pmcnet.estimators.update import Updated, kept, seed_of, updatable, updated


class UpdatableModel(ExplainedModel, CheckedModel, ReportedModel):
    """What every fitted model does with rows that come after its fit."""

    def update(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Take in more rows: the islands go on from the posterior so far to that of all rows.

        It costs a fraction of a fit to all rows. What the fit has settled stays: network,
        likelihood, prior, the encoding of columns, the units of y. `update_` says what the new rows
        were to the model, and a `DriftWarning` is given where they are far less probable than it
        expected. If it fails or is stopped, the model is as before.

        Args:
            X: new rows (N, d), none of those that the model has seen.
            y: their responses, as `fit` takes them.
            sample_weight: how often each row counts (N,).
        """
        with displayed(self.verbose) as observers:
            return self.update_with(X, y, sample_weight, observers=observers)

    def update_with(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        observers: Sequence[FitObserver] = (),
    ) -> Self:
        """Update as `update` does, watched by `observers`, whatever `verbose` says."""
        check_is_fitted(self)
        updatable(self)
        response, weight = self._more_of(y, sample_weight)
        raw = checked_rows(self, X, reset=False)
        check_consistent_length(raw, response)
        numbers = self.encoder_.rows(raw)
        check_seen(self.encoder_, numbers, self.unseen)
        counted = np.flatnonzero(weight > 0)
        rows = TrainingRows(numbers[counted], response[counted], weight[counted], counted + 1)
        found = updated(self, rows, observers)
        if found.update.drift:
            warnings.warn(DriftWarning(found.update.described), stacklevel=3)
        parts = {"posterior_": found.posterior, "verdict_": found.posterior.verdict}
        parts |= {"history_": found.history, "training_rows_": found.rows}
        parts |= self._more_reference(found)
        self.__dict__.update(parts, update_=found.update)  # at once: a signal comes before or after
        log_verdict(self.verdict_, SERIAL)
        return self

    def _more_reference(self, found: Updated) -> dict[str, Any]:
        """The reference rows with some of the new ones, and what is novel beside them."""
        if self.reference_rows_ is None or self.novelty_scale_ is None:
            return {}
        number = found.update.number
        seed, weight = seed_of(self, number), found.rows.weight.double().numpy()
        reference = self.reference_rows_.joined(
            self.encoder_, found.different, weight, number, seed
        )
        targets = found.rows.targets
        exposure = log_exposure_of(targets.double().numpy(), self.likelihood_)
        known = EncodedRows(found.rows.inputs, exposure)
        asked = (reference, known, targets, weight, seed)
        scale = learned_scale(found.posterior, self._units(), *asked)
        return {"reference_rows_": reference, "novelty_scale_": scale}

    def restore_rows(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Give a loaded model the rows of its fit again, so that it can be updated.

        Args:
            X: the rows of the fit, all of them and no others.
            y: their responses.
            sample_weight: how often each row counts (N,).
        """
        check_is_fitted(self)
        if not isinstance(self.random_state, Integral):
            raise InputError(
                "restore_rows needs a model with a whole number for random_state, which says in "
                f"what order the fit took its rows; this one has {self.random_state!r:.40}. Save "
                "with save(path, training_rows=True)."
            )
        if self.update_ is not None:
            raise InputError(
                "this model was updated since its fit, so the rows of the fit are not all that it "
                "has seen. Save with save(path, training_rows=True)."
            )
        response, weight = self._more_of(y, sample_weight)
        raw = checked_rows(self, X, reset=False)
        check_consistent_length(raw, response)
        known = encoded_again(
            self.encoder_,
            raw,
            response,
            weight,
            seed_of(self, 0),
            self._n_classes,
            n_targets_of(response, self.likelihood_),
        )
        self.training_rows_ = kept(self, known.rows, known.inputs)
        return self

    def _more_of(self, y: Any, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """`_response_of` rows that come after the fit, which has settled what y is."""
        raise NotImplementedError

"""Checks of a fitted model on rows whose response is known, and its export to ArviZ."""

from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from pmcnet.errors import InputError
from pmcnet.estimators.checks.arviz_groups import each_once, exported, row_names
from pmcnet.estimators.checks.check_rows import MOST_ROWS, CheckRows
from pmcnet.estimators.checks.leave_one_out import LeaveOneOut, leave_one_out
from pmcnet.estimators.checks.predictive_checks import (
    N_REPLICATES,
    PredictiveCheck,
    predictive_check,
)
from pmcnet.estimators.checks.prior_predictive import N_PRIOR, PriorCheck, prior_check
from pmcnet.estimators.checks.residual_trends import Residuals, residuals
from pmcnet.estimators.fitted_model import FittedModel

if TYPE_CHECKING:
    from xarray import DataTree

    from pmcnet.estimators.base import PMCNetEstimator


class CheckedModel(FittedModel):
    """What every fitted model can be checked by."""

    def loo(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
        n_rows: int = MOST_ROWS,
        n_draws: int = 1000,
        random_state: int = 0,
    ) -> LeaveOneOut:
        """How well the model predicts each training row without having seen it, from this fit.

        Args:
            X: the rows of the fit; absent, those that the model has kept, equal ones merged.
            y: their responses, as `fit` takes them.
            sample_weight: how often each counts (N,).
            exposure: of counts.
            n_rows: rows to leave out at most, drawn at random; the sum is that of all rows.
            n_draws: networks at most.
            random_state: of the choice of rows.
        """
        model = self._checkable()
        rows = CheckRows.of(model, X, y, sample_weight, exposure)
        return leave_one_out(model, rows, n_rows=n_rows, n_draws=n_draws, seed=random_state)

    def predictive_check(
        self,
        X: Any = None,
        y: Any = None,
        *,
        exposure: ArrayLike | None = None,
        n_draws: int = N_REPLICATES,
        n_rows: int = MOST_ROWS,
        random_state: int = 0,
    ) -> PredictiveCheck:
        """Observed responses beside replicates of them that the fitted model draws.

        Args:
            X: rows that the model has not seen, at best; absent, those that it has kept.
            y: their responses, as `fit` takes them.
            exposure: of counts.
            n_draws: replicates.
            n_rows: rows at most, drawn at random.
            random_state: of all draws.
        """
        model = self._checkable()
        rows = CheckRows.of(model, X, y, exposure=exposure).sampled(n_rows, random_state)
        return predictive_check(model, rows, n_draws=n_draws, seed=random_state)

    def residuals(
        self,
        X: Any,
        y: Any,
        *,
        exposure: ArrayLike | None = None,
        n_rows: int = MOST_ROWS,
        random_state: int = 0,
    ) -> Residuals:
        """Residuals in standard deviations of the prediction, and whether they follow a feature.

        Args:
            X: rows that the model has not seen, at best.
            y: their responses, as `fit` takes them; censored ones are left out.
            exposure: of counts.
            n_rows: rows at most, drawn at random.
            random_state: of that choice.
        """
        model = self._checkable()
        if model._task == "classification":
            raise InputError(
                "residuals are of numbers, and this model predicts classes. Use predictive_check."
            )
        rows = CheckRows.of(model, X, y, exposure=exposure).sampled(n_rows, random_state)
        return residuals(model, rows, X, seed=random_state)

    def prior_predictive(
        self,
        X: Any = None,
        y: Any = None,
        *,
        exposure: ArrayLike | None = None,
        n_draws: int = N_PRIOR,
        n_rows: int = MOST_ROWS,
        random_state: int = 0,
    ) -> PriorCheck:
        """What the model held for possible before it saw data, beside the responses observed.

        Args:
            X: rows; absent, those that the model has kept.
            y: their responses, as `fit` takes them.
            exposure: of counts.
            n_draws: networks of the prior.
            n_rows: rows at most, drawn at random.
            random_state: of all draws.
        """
        model = self._checkable()
        rows = CheckRows.of(model, X, y, exposure=exposure).sampled(n_rows, random_state)
        return prior_check(model, rows, n_draws=n_draws, seed=random_state)

    def to_arviz(
        self,
        X: Any = None,
        y: Any = None,
        *,
        exposure: ArrayLike | None = None,
        n: int | None = None,
        random_state: int = 0,
    ) -> "DataTree":
        """The posterior for ArviZ, and what it and the prior say of rows that are known.

        Groups: posterior, posterior_predictive, log_likelihood, observed_data, constant_data,
        prior, prior_predictive. Islands and parallel chains are chains; other draws are resampled
        by their weights, as one chain.

        Args:
            X: rows, those of the fit for `az.loo`; absent, those that the model has kept, if any.
            y: their responses, as `fit` takes them.
            exposure: of counts.
            n: draws, 4000 at most when absent.
            random_state: of all draws.
        """
        model = self._checkable()
        if X is None and y is None and model.training_rows_ is None:
            return exported(model, None, None, n=n, seed=random_state)
        rows = each_once(CheckRows.of(model, X, y, exposure=exposure))
        return exported(model, rows, row_names(X, rows), n=n, seed=random_state)

    def _checkable(self) -> "PMCNetEstimator":
        """This model, if it is fitted."""
        check_is_fitted(self)
        return cast("PMCNetEstimator", self)

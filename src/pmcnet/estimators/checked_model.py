"""Checks of a fitted model on rows whose response is known, and its export to ArviZ."""

from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike

from pmcnet.estimators.checks.check_rows import MOST_ROWS, CheckRows
from pmcnet.estimators.checks.leave_one_out import LeaveOneOut, leave_one_out
from pmcnet.estimators.fitted_model import FittedModel

if TYPE_CHECKING:
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

    def _checkable(self) -> "PMCNetEstimator":
        """This model, if it is fitted."""
        from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

        check_is_fitted(self)
        return cast("PMCNetEstimator", self)

"""Bayesian classification with a neural network, the scikit-learn way."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin  # type: ignore[import-untyped]
from sklearn.utils import assert_all_finite  # type: ignore[import-untyped]
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
from sklearn.utils.validation import column_or_1d  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.bnn.likelihoods.base import Task
from pmcnet.bnn.likelihoods.response import Response
from pmcnet.errors import InputError
from pmcnet.estimators.base import PMCNetEstimator
from pmcnet.estimators.conformal.calibration_rows import GivenRows
from pmcnet.estimators.conformal.class_sets import CalibratedSets
from pmcnet.estimators.predictions import Array
from pmcnet.estimators.training_rows import checked_weight


class PMCNetClassifier(ClassifierMixin, PMCNetEstimator):  # type: ignore[misc]
    """A Bayesian neural network that predicts probabilities of classes and says when to trust it.

    Features are scaled and encoded inside: numbers are standardised, strings become one column per
    level, missing values stand at the average with a column that says so.

    Args:
        hidden_layer_sizes: units of each hidden layer.
        activation: "tanh", "relu", "sigmoid" or "silu".
        module: instead of hidden layers, any `nn.Module` with one output per class (one for two
            classes and for ordinal ones), or a function of (number of inputs or shape of an image,
            number of outputs) that makes one.
        likelihood: "categorical", which is "auto": two classes are predicted from one logit, more
            by softmax. "ordinal": classes in an order, from one output and cuts that are learned;
            that of numbers, or of the categories where y is an ordered Categorical of pandas.
        method: "auto" takes "annealed" where it should be quick enough, else "hmc", else
            "pmcnet-light"; `method_reason_` says which and why. Or any name of
            `methods.registry.METHODS` (docs/estimators.md).
        method_options: settings of the method, e.g. {"n_particles": 1000}; see docs/estimators.md.
        prior: "gaussian" N(0, prior_std^2) on every weight and bias; "layer" the same divided by
            the root of the fan-in for weights; "laplace".
        prior_std: a number; "layer" or "ard": scales by layer, or by input too, are sampled with
            the weights; "hierarchical" takes one of these two by the evidence; "evidence" or
            "validation" search a number; "auto": a number or sampled scales by the evidence, for
            methods without evidence a search on validation rows.
        feature_scaling: "columns" standardises each number column; "common" all of them together,
            for columns of one unit such as pixels; "none".
        column_types: kinds of columns by name, where they are not to be inferred: "number",
            "log-number", "category", "many-levels", "date", "duration", "text", or "drop".
        keep: names of columns that are never left out as constant, repeated or identifiers.
        unseen: cells unlike those of training (new levels, words among numbers) count as "missing",
            with a warning, or are an "error".
        conformal: whether sets of classes are calibrated, for `predict_set`, on a fifth of the rows
            that is held out of the fit (docs/estimators.md).
        budget: what may be spent: seconds, or like "3min". "auto" chooses by it. "annealed" and
            "hmc" keep it by the clock and end earlier once predictions are known; sizes of sghmc
            and pmcnet-light that are not given follow from it by estimated times.
        random_state: an int for the same answer each time, as long as the budget does not end the
            fit; `method_options={"n_islands": 8}` fixes the number of islands, and with
            method="hmc" {"n_draws": 100} that of the draws.
        device: "auto", "cpu", "cuda", ...
        verbose: 1 shows progress on standard error.
    """

    classes_: NDArray[Any]
    calibration_: CalibratedSets | None

    _task: Task = "classification"

    def _response_of(self, y: Any, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """Codes of the classes (N,), and weights."""
        labels = _labels(y)
        try:
            check_classification_targets(labels)
        except ValueError as error:
            raise InputError(
                f"{error} Give classes as strings or whole numbers, or use PMCNetRegressor."
            ) from error
        weight = checked_weight(sample_weight, labels)
        self.classes_ = np.unique(labels[weight > 0])
        if self.likelihood == "ordinal":
            self.classes_ = _in_order(self.classes_, y)
        if len(self.classes_) < 2:
            what = repr(self.classes_.tolist()[0]) if len(self.classes_) else "none"
            raise InputError(
                f"y holds one class only ({what}); a classifier needs at least 2 classes. Give "
                "rows of another class."
            )
        return _codes(labels, self.classes_), weight

    def _more_of(self, y: Any, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """Codes of the classes of the fit (N,), and weights."""
        labels = _labels(y)
        weight = checked_weight(sample_weight, labels)
        strange = np.setdiff1d(labels[weight > 0], self.classes_)
        if len(strange):
            row = int(np.flatnonzero(labels == strange[0])[0]) + 1
            raise InputError(
                f"y has the class {str(strange[0])!r:.60} in row {row}, which the fit had not. "
                "Correct or drop that row, or fit again on all rows."
            )
        return _codes(labels, self.classes_), weight

    def predict_proba(self, X: Any, *, return_error: bool = False) -> Any:
        """Probability of each class (N, C), averaged over the posterior.

        Args:
            X: rows.
            return_error: whether their Monte Carlo standard errors follow (N, C).
        """
        found = self._with_errors(X) if return_error else self.predictive(X)
        return (found.probability, found.error) if return_error else found.probability

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of `predict_proba` (N, C), finite where a probability underflows."""
        posterior, x = self._question(X)
        each = [
            posterior.log_predictive(x, x.new_full((len(x),), code))
            for code in range(len(self.classes_))
        ]
        return np.asarray(torch.stack(each, dim=-1).log_softmax(-1).cpu().numpy())

    def predict(self, X: Any, *, return_error: bool = False) -> Any:
        """The most probable class of each row (N,).

        Args:
            X: rows.
            return_error: whether the Monte Carlo error of each row's probabilities follows (N,):
                the expected total variation between them and those of the exact posterior.
        """
        found = self._with_errors(X) if return_error else self.predictive(X)
        classes = np.asarray(self.classes_[found.probability.argmax(1)])
        return (classes, found.monte_carlo_error) if return_error else classes

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Whether each class is in the set of each row (N, C), in the order of `classes_`.

        Of a model fitted with `conformal=True`. For rows like those of training a set holds the
        true class with at least the probability `coverage`: on average over rows, not for each one.
        A set holds the most probable class in any case.

        Args:
            X: rows.
            coverage: between 0 and 1; at most n / (n + 1) with n calibration rows.
        """
        probability = self.predictive(X).probability
        if self.calibration_ is None:
            raise InputError(
                "predict_set needs a model fitted with conformal=True. Use predict_proba, or fit "
                "again."
            )
        return self.calibration_.inside(probability, coverage)

    def predict_draws(self, X: Any, n_passes: int = 100, random_state: int = 0) -> Array:
        """Class probabilities of each of `n_passes` networks from the posterior: (R, N, C)."""
        return self._draws(X, n_passes, random_state)

    @property
    def _n_classes(self) -> int:
        """Of the training rows."""
        return len(self.classes_)

    def _targets(self, y: Any) -> Tensor:
        return torch.as_tensor(self._more_of(y, None)[0])

    def _calibrated(self, unseen: GivenRows) -> CalibratedSets:
        rows, codes = self._calibration_rows(unseen)
        return CalibratedSets.of(self.predictive(rows).probability, codes.astype(np.int64))

    def _response(self, y: Array, weight: Array) -> Response:
        return Response(y, weight, n_classes=self._n_classes)


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> Array:
    """The place of each label among the classes (N,)."""
    order = np.argsort(classes)
    places = np.searchsorted(classes, labels, sorter=order)
    codes: Array = order[np.minimum(places, len(order) - 1)].astype(np.float64)
    return codes


def _in_order(classes: NDArray[Any], y: Any) -> NDArray[Any]:
    """Sorted classes in the order of an ordered Categorical; without one they must be numbers."""
    dtype: Any = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", False):
        known = set(classes.tolist())
        return np.array([each for each in dtype.categories if each in known], dtype=classes.dtype)
    if any(isinstance(each, str) for each in classes.tolist()):
        raise InputError(
            f"likelihood ordinal needs an order of the classes, and y holds strings such as "
            f"{classes.tolist()[0]!r:.60}. Give whole numbers, or an ordered Categorical of pandas."
        )
    return classes


def _labels(y: Any) -> NDArray[Any]:
    """Y as an array of one type (N,) without missing values."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    given = y.to_numpy() if hasattr(y, "to_numpy") else y
    labels: NDArray[Any] = column_or_1d(given, warn=True)
    if labels.dtype.kind == "U" and not isinstance(given, np.ndarray):
        objects = column_or_1d(np.array(given, dtype=object))
        if not all(isinstance(label, str) for label in objects):  # numpy writes 1 as "1"
            labels = objects
    if labels.dtype != object:
        assert_all_finite(labels, input_name="y")
        return labels
    from pandas import isna  # type: ignore[import-untyped]  # slow to import

    missing = np.flatnonzero(isna(labels))
    if len(missing):
        raise InputError(
            f"Input y contains NaN or another missing value in {len(missing)} of {len(labels)} "
            f"rows, first in row {missing[0] + 1}. Fill those rows in or drop them."
        )
    if len({isinstance(label, str) for label in labels}) > 1:
        raise InputError(
            "y mixes strings with other labels; classes must be of one type. Turn all of them into "
            "strings."
        )
    return labels

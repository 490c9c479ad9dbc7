"""The settings of an estimator that can be judged before any row is seen."""

from typing import TYPE_CHECKING, get_args

from pmcnet.bnn.likelihoods.base import Task
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.bnn.priors.registry import PRIORS
from pmcnet.errors import InputError
from pmcnet.estimators.conformal.calibration_rows import check_conformal
from pmcnet.estimators.encoding import SCALINGS
from pmcnet.estimators.formulation import check_prior_std
from pmcnet.estimators.input_rows import Unseen
from pmcnet.estimators.networks import check_sizes
from pmcnet.methods.registry import check_name

if TYPE_CHECKING:
    from pmcnet.estimators.base import PMCNetEstimator


def check_settings(model: "PMCNetEstimator", task: Task) -> None:
    """Raise where a setting cannot work, whatever the rows."""
    if model.likelihood != "auto":
        family(model.likelihood, task)
    if model.method != "auto":
        check_name(model.method)
    check_prior_std(model.prior_std)
    if model.prior not in PRIORS:
        raise InputError(f"prior must be one of {', '.join(PRIORS)}; got {model.prior!r}.")
    if (scaling := model.feature_scaling) not in SCALINGS:
        allowed = ", ".join(SCALINGS)
        raise InputError(f"feature_scaling must be one of {allowed}; got {scaling!r}.")
    if (unseen := model.unseen) not in get_args(Unseen):
        allowed = " or ".join(get_args(Unseen))
        raise InputError(f"unseen must be {allowed}; got {unseen!r:.60}.")
    check_conformal(model.conformal, model.likelihood)
    check_sizes(model.hidden_layer_sizes)

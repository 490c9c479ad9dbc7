"""The estimator of a run's settings, which are checked before anything is written."""

from typing import Any

from pmcnet.errors import InputError
from pmcnet.estimators import PMCNetClassifier, PMCNetRegressor
from pmcnet.estimators.evaluation.scores import Model
from pmcnet.estimators.plan import resolve_device
from pmcnet.methods.base import Method
from pmcnet.methods.registry import METHODS, check_name, options
from pmcnet.runs.config import RunSettings, Task
from pmcnet.runs.exposures_and_events import likelihood_of


def unfitted(settings: RunSettings, task: Task) -> Model:
    """The estimator of these settings, after a look at them."""
    common: dict[str, Any] = {
        "hidden_layer_sizes": settings.hidden,
        "activation": settings.activation,
        "method": settings.method,
        "method_options": dict(settings.method_options) or None,
        "likelihood": likelihood_of(settings),
        "prior": settings.prior,
        "prior_std": settings.prior_std,
        "feature_scaling": settings.feature_scaling,
        "column_types": dict(settings.column_types) or None,
        "keep": settings.keep,
        "conformal": settings.conformal,
        "budget": settings.budget,
        "random_state": settings.seed,
        "device": settings.device,
    }
    model = (
        PMCNetClassifier(**common)
        if task == "classification"
        else PMCNetRegressor(**common, noise=settings.noise)
    )
    model.check_settings()
    method_of(settings)
    resolve_device(settings.device)
    return model


def method_of(settings: RunSettings) -> Method:
    """The method of these settings; "auto" may still come to mean another than the annealed one."""
    name = "annealed" if settings.method == "auto" else settings.method
    search = METHODS[check_name(name)].method(name).prior_search
    if settings.prior_std == "evidence" and search != "evidence":
        raise InputError(
            "prior_std evidence needs the annealed method, whose evidence can be trusted; got "
            f"method {name}. Use --prior-std validation or a number, or --method annealed."
        )
    return options(name, settings.method_options, 2).method(name)

"""The estimator of a run's settings; settings that cannot work are refused before anything is written."""

from dataclasses import fields
from typing import Any, get_type_hints

from pmcnet.errors import InputError
from pmcnet.estimators import PMCNetClassifier, PMCNetRegressor
from pmcnet.estimators.planning import resolve_device
from pmcnet.methods.registry import UNSET, options
from pmcnet.runs.scoring import Model
from pmcnet.runs.settings import RunSettings, Task


def unfitted(settings: RunSettings, task: Task) -> Model:
    """The estimator of these settings, after a look at them."""
    common: dict[str, Any] = {
        "hidden_layer_sizes": settings.hidden,
        "activation": settings.activation,
        "method": settings.method,
        "method_options": dict(settings.method_options) or None,
        "prior": settings.prior,
        "prior_std": settings.prior_std,
        "feature_scaling": settings.feature_scaling,
        "budget": settings.budget,
        "random_state": settings.seed,
        "device": settings.device,
    }
    model = PMCNetClassifier(**common) if task == "classification" else PMCNetRegressor(**common, noise=settings.noise)
    model._check_settings()
    _check_method(settings)
    resolve_device(settings.device)
    return model


def _check_method(settings: RunSettings) -> None:
    name = "annealed" if settings.method == "auto" else settings.method
    if settings.prior_std == "evidence" and name != "annealed":
        raise InputError(
            f"prior_std evidence needs the annealed method, whose evidence can be trusted; got method {name}. Use "
            "--prior-std validation or a number, or --method annealed."
        )
    known = options(name, {}, 2)
    kinds = get_type_hints(type(known))
    for key, value in settings.method_options.items():
        if key in kinds and value is not None and value != UNSET:
            _check_option(key, value, kinds[key])
    chosen = options(name, settings.method_options, 2)
    for field in fields(chosen):
        if field.name.startswith("n_") and field.name != "n_moves" and not getattr(chosen, field.name) >= 1:
            raise InputError(f"{field.name} must be at least 1; got {getattr(chosen, field.name)}.")
    chosen.method(name)


def _check_option(name: str, value: Any, kind: Any) -> None:
    """Refuse a text for a number and a fraction for a whole number."""
    whole, real = kind in (int, int | None), kind is float
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if (whole and not (number and isinstance(value, int))) or (real and not number):
        raise InputError(f"{name} must be a {'whole ' * whole}number; got {value!r}. Correct --option {name}=NUMBER.")

"""Every setting of a run, as `config.toml` holds it."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self

import tomli_w

from pmcnet.bnn.networks.mlp import ACTIVATIONS
from pmcnet.bnn.priors.registry import PRIORS
from pmcnet.data import ReadOptions
from pmcnet.errors import InputError
from pmcnet.estimators.encoding import SCALINGS
from pmcnet.estimators.formulation import NOISES, SCALES, SEARCHES, AskedNoise, PriorStd
from pmcnet.estimators.plan import seconds_of
from pmcnet.io.files import one_line, read_file
from pmcnet.methods.settings import UNSET, Value

Task = Literal["regression", "classification"]

READING = tuple(item.name for item in fields(ReadOptions))
"""The settings that say how the table is read."""

MOST_LAYERS, MOST_UNITS = 100, 100_000
MOST_PASSES = 1 << 20
MOST_BYTES = 1 << 19
"""Of a config file: a table of 5000 columns, all of them dropped by name, needs half."""
MOST_DOTS = 1000
"""In a line of a config file: reading a name takes time that grows with the square of its dots."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What decides a run: on the same data and kind of device, the same settings give its numbers.

    Args:
        data: a file, "-" for standard input, the URL of a database, or the name of a built-in
            dataset.
        delimiter: see `ReadOptions`, as for the next four; what is empty is found out.
        decimal: the decimal mark of numbers in text.
        encoding: of text.
        sheet: of a workbook.
        sql: the query of a database.
        target: the column to predict; for a built-in dataset its own when empty.
        task: "auto" takes strings, booleans and few whole numbers for classes.
        exposure: the column of exposures, where the target is counts; it is no feature.
        event: the column that says whether a time's event was observed, where the target is times.
        drop: columns to leave out.
        keep: columns that are never left out as constant, repeated or identifiers.
        column_types: kinds of columns by name, where they are not to be inferred.
        conformal: whether intervals or sets of classes are calibrated, on rows held out of the fit.
        min_class_rows: rows that a class must have; rows of smaller ones are left out.
        hidden: units of each hidden layer.
        activation: of the hidden layers.
        method: see `PMCNetClassifier`.
        method_options: settings of the method.
        prior: "gaussian", "layer" or "laplace".
        prior_std: see `PMCNetRegressor`.
        likelihood: of the target, by its name, or "auto".
        noise: of a regression: "auto", "learn", "by-row" or a number in units of the target.
        feature_scaling: "columns", "common" or "none".
        budget: what may be spent, in seconds or like "3min".
        test_share: share of the rows kept for testing; 0 for none.
        n_passes: draws behind the credible intervals of metrics and the bands of figures.
        what_if: whether the page holds networks that predict what its reader asks.
        seed: decides everything random.
        device: "auto", "cpu", "cuda", ...
    """

    data: str
    delimiter: str = ""
    decimal: str = ""
    encoding: str = ""
    sheet: str = ""
    sql: str = ""
    target: str = ""
    task: Literal["auto", "regression", "classification"] = "auto"
    exposure: str = ""
    event: str = ""
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    column_types: Mapping[str, str] = field(default_factory=dict)
    min_class_rows: int = 1
    conformal: bool = False
    hidden: tuple[int, ...] = (50,)
    activation: Literal["tanh", "relu", "sigmoid", "silu"] = "tanh"
    method: str = "auto"
    method_options: Mapping[str, Value] = field(default_factory=dict)
    prior: str = "gaussian"
    prior_std: PriorStd = "auto"
    likelihood: str = "auto"
    noise: AskedNoise = "auto"
    feature_scaling: Literal["columns", "common", "none"] = "columns"
    budget: float | str = "3min"
    test_share: float = 0.2
    n_passes: int = 100
    what_if: bool = True
    seed: int = 0
    device: str = "auto"

    @property
    def reading(self) -> ReadOptions:
        """How the table is to be read."""
        return ReadOptions(**{name: getattr(self, name) for name in READING})

    def __post_init__(self) -> None:
        _ = self.reading  # its own checks
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r:.60}."
                )
        if (
            not all(0 < size <= MOST_UNITS for size in self.hidden)
            or len(self.hidden) > MOST_LAYERS
        ):
            given = ",".join(map(str, self.hidden))
            raise InputError(
                f"hidden must be positive whole numbers like 16 or 50,50, up to {MOST_LAYERS} "
                f"layers of {MOST_UNITS} units; got {given:.60}. Use --hidden 16."
            )
        for name, words in (("prior_std", SEARCHES + SCALES), ("noise", NOISES)):
            value = getattr(self, name)
            if not (value in words if isinstance(value, str) else 0 < value < math.inf):
                shown = value if isinstance(value, float) else _name(str(value))
                raise InputError(
                    f"{name} must be {', '.join(words)} or a positive number; got {shown}. Use "
                    f"e.g. {name} = 1."
                )
        if self.exposure and self.event:
            raise InputError(
                f"exposure is for counts and event for times; got both, {_name(self.exposure)} and "
                f"{_name(self.event)}. Leave one out."
            )
        if self.conformal and (self.exposure or self.event):
            raise InputError(
                "conformal intervals are for counts without an exposure, and not for times that "
                f"may be censored; got {_name(self.exposure or self.event)}. Leave one out."
            )
        seconds_of(self.budget)
        if not 0 <= self.test_share < 1:
            raise InputError(
                f"test_share must lie in [0, 1), the share of test rows; got {self.test_share}. "
                "Use --test-share 0.2."
            )
        if not 0 <= self.seed < 1 << 32:
            raise InputError(
                f"seed must be a whole number from 0 to 2**32 - 1; got {self.seed}. Use --seed 0."
            )
        if self.min_class_rows < 1:
            raise InputError(
                f"min_class_rows must be at least 1; got {self.min_class_rows}. Use "
                "--min-class-rows 2."
            )
        if not 1 <= self.n_passes <= MOST_PASSES:
            raise InputError(
                f"n_passes must be at least 1, at most {MOST_PASSES}; got {self.n_passes}. Use "
                "--passes 100."
            )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Settings from plain data, with the defaults for what is not given."""
        known = {item.name: item for item in fields(cls)}
        unknown = sorted(set(given) - set(known))
        if unknown:
            names = ", ".join(map(_name, unknown[:10]))
            raise InputError(
                f"there is no setting {names}; there are {', '.join(known)}. Correct or remove it."
            )
        values = {name: _typed(name, value) for name, value in given.items()}
        if not values.get("data"):
            raise InputError(
                "data must be the path of a table or the name of a built-in dataset; none was "
                "given."
            )
        return cls(**values)


CHOICES = {
    "task": ("auto", "regression", "classification"),
    "activation": tuple(ACTIVATIONS),
    "prior": tuple(PRIORS),
    "feature_scaling": SCALINGS,
}
_NUMBERS = {"test_share": float, "n_passes": int, "seed": int, "min_class_rows": int}
_LISTS = {"drop": str, "keep": str, "hidden": int}
_EITHER = ("prior_std", "noise", "budget")
_SWITCHES = ("conformal", "what_if")


def _typed(name: str, value: Any) -> Any:
    """A value of TOML as the type its setting has."""
    if name in _LISTS:
        if not isinstance(value, list | tuple) or not all(
            type(item) is _LISTS[name] for item in value
        ):
            what = "strings" if _LISTS[name] is str else "whole numbers"
            raise _wrong(name, value, f"a list of {what}")
        return tuple(value)
    if name in _SWITCHES:
        if not isinstance(value, bool):
            raise _wrong(name, value, "true or false")
        return value
    if name in _NUMBERS:
        whole = _NUMBERS[name] is int
        if not _is_number(value) or (whole and not float(value).is_integer()):
            raise _wrong(name, value, "a whole number" if whole else "a number")
        return _NUMBERS[name](value)
    if name == "column_types":
        return _words(name, value)
    if name == "method_options":
        return _scalars(name, value)
    if name in _EITHER and _is_number(value):
        return float(value)
    if not isinstance(value, str) or (name in _EITHER and len(value) > 40):
        raise _wrong(name, value, "a number or a string" if name in _EITHER else "a string")
    return value


def _is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    return isinstance(value, float) or (type(value) is int and value.bit_length() < 1024)


def _scalars(name: str, value: Any) -> dict[str, Any]:
    """A table of strings, numbers and booleans."""
    if not isinstance(value, Mapping):
        raise _wrong(name, value, "a table of NAME = VALUE")
    for key, item in value.items():
        if not (item is None or isinstance(item, str | bool) or _is_number(item)):
            raise _wrong(f"{name}.{_name(key)}", item, "a number, a string, or true or false")
    return dict(value)


def _words(name: str, value: Any) -> dict[str, str]:
    """A table of strings."""
    if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
        raise _wrong(name, value, 'a table of COLUMN = "KIND"')
    return dict(value)


def _name(name: str) -> str:
    """A name for an error message."""
    return name if re.fullmatch(r"[\w-]{1,40}", name) else f"{name!r:.40}"


def _wrong(name: str, value: Any, allowed: str) -> InputError:
    try:
        given = f"{value!r:.60}"
    except (RecursionError, ValueError):  # nested deeply, or a number of thousands of digits
        given = type(value).__name__
    return InputError(f"the setting {name} must be {allowed}; got {given}. Correct it.")


def read_config(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file; `[provenance]` is what a finished run adds."""
    try:
        text = read_file(path, most=MOST_BYTES).decode("utf-8")
        if max(line.count(".") for line in text.split("\n")) > MOST_DOTS:
            raise ValueError(f"a line has more than {MOST_DOTS} dots; spread it over several")
        config = tomllib.loads(text)
    except FileNotFoundError as error:
        raise InputError(
            f"there is no config file {path}. Give the config.toml of a run, or write one."
        ) from error
    except (OSError, RecursionError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else one_line(error)
        raise InputError(f"{path} is not a readable TOML file ({why}). Correct it.") from error
    _scalars("provenance", config.get("provenance", {}))
    for item in fields(RunSettings):
        if item.name in config:
            _typed(item.name, config[item.name])
    return config


def config_text(settings: RunSettings, provenance: Mapping[str, Any]) -> str:
    """The TOML of a run: settings first, then where it comes from."""
    values = {item.name: getattr(settings, item.name) for item in fields(settings)}
    options = {k: UNSET if v is None else v for k, v in values.pop("method_options").items()}
    plain = {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
    plain["column_types"] = dict(settings.column_types)
    return tomli_w.dumps({**plain, "method_options": options, "provenance": dict(provenance)})

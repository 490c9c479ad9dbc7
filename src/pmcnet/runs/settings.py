"""Every setting of a run, as `config.toml` holds it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self

import tomli_w

from pmcnet.errors import InputError
from pmcnet.methods.registry import UNSET, Value

Task = Literal["regression", "classification"]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What decides a run. The same settings on the same data and kind of device give the same numbers.

    Args:
        data: a file or the name of a built-in dataset.
        target: the column to predict; for a built-in dataset its own when empty.
        task: "auto" takes classes for texts, truth values and few whole numbers.
        drop: columns to leave out.
        hidden: units of each hidden layer.
        activation: of the hidden layers.
        method: see `PMCNetClassifier`.
        method_options: settings of the method.
        prior: "gaussian", "layer" or "laplace".
        prior_std: "auto", "evidence", "validation" or a number.
        noise: of a regression: "learn" or a number in units of the target.
        feature_scaling: "columns", "common" or "none".
        budget: what "auto" may spend.
        test_share: share of the rows kept for testing; 0 for none.
        n_passes: draws behind the credible intervals of metrics and the bands of figures.
        seed: decides everything random.
        device: "auto", "cpu", "cuda", ...
    """

    data: str
    target: str = ""
    task: Literal["auto", "regression", "classification"] = "auto"
    drop: tuple[str, ...] = ()
    hidden: tuple[int, ...] = (16,)
    activation: Literal["tanh", "relu", "sigmoid", "silu"] = "tanh"
    method: str = "auto"
    method_options: Mapping[str, Value] = field(default_factory=dict)
    prior: str = "gaussian"
    prior_std: float | Literal["auto", "evidence", "validation"] = "auto"
    noise: float | Literal["learn"] = "learn"
    feature_scaling: Literal["columns", "common", "none"] = "columns"
    budget: float | str = "3min"
    test_share: float = 0.2
    n_passes: int = 100
    seed: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.task not in ("auto", "regression", "classification"):
            raise InputError(f"task must be auto, regression or classification; got {self.task!r}.")
        if not 0 <= self.test_share < 1:
            raise InputError(f"test_share must lie in [0, 1), the share of test rows; got {self.test_share}.")
        if not 0 <= self.seed < 1 << 32:
            raise InputError(f"seed must be a whole number from 0 to 2**32 - 1; got {self.seed}.")
        if self.n_passes < 1:
            raise InputError(f"n_passes must be at least 1; got {self.n_passes}.")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Settings from plain data, with the defaults for what is not given."""
        known = {item.name: item for item in fields(cls)}
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise InputError(f"there is no setting {', '.join(unknown)}; there are {', '.join(known)}.")
        values = {name: _typed(name, value) for name, value in given.items()}
        if not values.get("data"):
            raise InputError("data must be the path of a table or the name of a built-in dataset; none was given.")
        return cls(**values)


_NUMBERS = {"test_share": float, "n_passes": int, "seed": int}
_LISTS = {"drop": str, "hidden": int}
_EITHER = ("prior_std", "noise", "budget")


def _typed(name: str, value: Any) -> Any:
    """A value of TOML as the type its setting has."""
    wrong = InputError(f"the setting {name} cannot be {value!r}. See docs/cli.md for what it may be.")
    if isinstance(value, bool):
        raise wrong
    if name in _LISTS:
        if not isinstance(value, list | tuple) or not all(type(item) is _LISTS[name] for item in value):
            raise wrong
        return tuple(value)
    if name in _NUMBERS:
        if not isinstance(value, int | float) or (_NUMBERS[name] is int and value != int(value)):
            raise wrong
        return _NUMBERS[name](value)
    if name == "method_options":
        if not isinstance(value, Mapping):
            raise wrong
        return dict(value)
    if name in _EITHER and isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        raise wrong
    return value


def read_config(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file; `[provenance]` is what a finished run adds."""
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError as error:
        raise InputError(f"there is no config file {path}.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} is not a readable TOML file: {error}.") from error


def config_text(settings: RunSettings, provenance: Mapping[str, Any]) -> str:
    """The TOML of a run: settings first, then where it comes from."""
    values = {item.name: getattr(settings, item.name) for item in fields(settings)}
    options = {k: UNSET if v is None else v for k, v in values.pop("method_options").items()}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return tomli_w.dumps({**plain, "method_options": options, "provenance": dict(provenance)})

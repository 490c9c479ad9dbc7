"""The settings of a method as plain data: what may be given, and what follows where it is not."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, ClassVar, Self, get_args, get_type_hints

from pmcnet.errors import InputError
from pmcnet.methods.base import Method
from pmcnet.methods.cost import Cost
from pmcnet.requirements import Library

Value = int | float | str | None
Choice = Mapping[str, Value]
"""Settings of a method, and the prior's standard deviation under "prior_std"."""

UNSET = "auto"
"""How plain data say None, "as many as needed", which TOML has no word for."""
N_CHOICES = 6
"""Choices among which a baseline is tuned: as many for every one."""
PRIORS = (0.5, 1.0, 3.0)
"""Standard deviations of the prior among these choices."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a method. Each method's own class adds them as fields.

    Class attributes:
        may_be_zero: settings for which 0 is a number as good as others.
        library: what must be installed for the method.
        largest: sizes beyond which a larger budget makes them no larger.
        remedies: what else to try where the posterior cannot be trusted, after a longer run.
    """

    may_be_zero: ClassVar[frozenset[str]] = frozenset()
    library: ClassVar[Library | None] = None
    largest: ClassVar[Mapping[str, int]] = {}
    remedies: ClassVar[tuple[str, ...]] = ()

    @property
    def grid(self) -> tuple[Choice, ...]:
        """The choices among which the method is tuned; none where it finds its prior in a fit."""
        return ()

    def summary(self, name: str) -> str:
        """The method of that name in a few words."""
        raise NotImplementedError

    def method(self, name: str) -> Method:
        """The method of that name with these settings."""
        raise NotImplementedError

    def sized(self, n_rows: int) -> Self:
        """The defaults for that many training rows."""
        return self

    def within(self, cost: Cost, seconds: float) -> Mapping[str, Value]:
        """Sizes with which a fit, and the search of its prior, should take so many seconds."""
        return {}

    def seconds(self, cost: Cost) -> float | None:
        """About how long a fit should take, with the search of its prior; None where unknown."""
        return None

    def longer(self) -> Mapping[str, Value]:
        """Settings of a longer run; none where more time is no remedy."""
        return {}

    def given(self, name: str, values: Mapping[str, Value]) -> Self:
        """These settings with others in their place.

        Args:
            name: of the method.
            values: of some of its settings.
        """
        allowed = [field.name for field in fields(self)]
        if unknown := sorted(set(values) - set(allowed)):
            raise InputError(
                f"{name} has no setting {', '.join(unknown)}; it has {', '.join(allowed)}."
            )
        kinds = get_type_hints(type(self))
        for key, value in values.items():
            if value is not None and value != UNSET:
                _check(key, value, kinds[key], may_be_zero=key in self.may_be_zero)
        changed: dict[str, Any] = {
            key: None if value == UNSET else value for key, value in values.items()
        }
        return replace(self, **changed)


def _check(name: str, value: Any, kind: Any, *, may_be_zero: bool) -> None:
    """Raise unless a value is of its setting's type, not too small, and one of the known words."""
    if words := [word for word in get_args(kind) if isinstance(word, str)]:
        if value not in words:
            raise InputError(f"{name} must be one of {', '.join(words)}; got {value!r}.")
        return
    if kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"{name} must be true or false; got {value!r}.")
        return
    whole = kind in (int, int | None)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise InputError(f"{name} must be a {'whole ' * whole}number; got {value!r}.")
    least = 0 if may_be_zero else 1 if whole else math.nextafter(0, 1)
    if not least <= value < math.inf:
        allowed = f"at least {least}" if whole or least == 0 else "positive"
        raise InputError(f"{name} must be {allowed}; got {value}.")


def choices(**settings: tuple[Value, ...]) -> tuple[Choice, ...]:
    """Every combination."""
    return tuple(dict(zip(settings, values, strict=True)) for values in product(*settings.values()))


def parts(choice: Choice) -> tuple[dict[str, Value], float]:
    """The method's own settings of a choice, and the prior's scale."""
    own = dict(choice)
    sigma = own.pop("prior_std")
    assert isinstance(sigma, int | float)
    return own, float(sigma)


def adam_batch(n_rows: int) -> int:
    """Rows of a mini-batch of Adam, which grow with all rows from 10 to 200."""
    return min(max(10, n_rows // 50), 200)


def epochs(batch_size: int, n_rows: int, *, most: int) -> int:
    """Epochs that make about 10 000 steps, at least 20."""
    return min(max(20, 10_000 * batch_size // max(1, n_rows)), most)

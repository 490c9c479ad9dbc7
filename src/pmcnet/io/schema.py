"""The form that plain data must have, made of small checks.

    table(name=text(), sizes=listing(whole(1)))

A `Form` takes a value and its place, and says in a `ValueError` which place is wrong:
"model.sizes[1] must be ...".
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

Form = Callable[[Any, str], None]


def _check(fine: bool, place: str, wanted: str, value: Any) -> None:
    if not fine:
        raise ValueError(f"{place} must be {wanted}; got {value!r:.60}")


def text(*allowed: str) -> Form:
    """A string, one of the allowed if any are named."""

    def check(value: Any, place: str) -> None:
        fine = isinstance(value, str) and (not allowed or value in allowed)
        _check(fine, place, f"one of {', '.join(allowed)}" if allowed else "a string", value)

    return check


def number(least: float = -math.inf, most: float = math.inf) -> Form:
    """A finite number within bounds."""

    def check(value: Any, place: str) -> None:
        fine = type(value) in (int, float) and math.isfinite(value) and least <= value <= most
        _check(fine, place, f"a finite number from {least:g} to {most:g}", value)

    return check


def whole(least: int = 0, most: int = 1 << 62) -> Form:
    """A whole number within bounds."""

    def check(value: Any, place: str) -> None:
        fine = type(value) is int and least <= value <= most
        _check(fine, place, f"a whole number from {least} to {most}", value)

    return check


def flag(value: Any, place: str) -> None:
    """True or false."""
    _check(isinstance(value, bool), place, "true or false", value)


def nothing(value: Any, place: str) -> None:
    """Null."""
    _check(value is None, place, "null", value)


def either(*forms: Form) -> Form:
    """The first form that fits; what the last one says if none does."""

    def check(value: Any, place: str) -> None:
        for form in forms[:-1]:
            try:
                return form(value, place)
            except ValueError:
                continue
        return forms[-1](value, place)

    return check


def listing(item: Form, least: int = 0) -> Form:
    """A list of things of one form."""

    def check(value: Any, place: str) -> None:
        fine = isinstance(value, list) and len(value) >= least
        _check(fine, place, f"a list of {least} or more", value)
        for i, one in enumerate(value):
            item(one, f"{place}[{i}]")

    return check


def row(*items: Form) -> Form:
    """A list of as many things, each of its own form."""

    def check(value: Any, place: str) -> None:
        fine = isinstance(value, list) and len(value) == len(items)
        _check(fine, place, f"a list of {len(items)}", value)
        for i, (one, form) in enumerate(zip(value, items, strict=True)):
            form(one, f"{place}[{i}]")

    return check


def mapping(item: Form) -> Form:
    """A table with any names, of things of one form."""

    def check(value: Any, place: str) -> None:
        _check(isinstance(value, Mapping), place, "a table", value)
        for key, one in value.items():
            item(one, f"{place}.{key:.60}")

    return check


def table(**parts: Form) -> Form:
    """A table with exactly these names."""

    def check(value: Any, place: str) -> None:
        _check(isinstance(value, Mapping), place, "a table", value)
        missing = next((name for name in parts if name not in value), None)
        if missing is not None:
            raise ValueError(f"{place} has no {missing}")
        extra = next((name for name in value if name not in parts), None)
        if extra is not None:
            raise ValueError(f"{place} has {extra!r:.60}, which does not belong there")
        for name, form in parts.items():
            form(value[name], f"{place}.{name}")

    return check


def by_kind(what: str, forms: Mapping[str, Form]) -> Form:
    """A table whose `kind` determines its form."""

    def check(value: Any, place: str) -> None:
        _check(isinstance(value, Mapping), place, "a table", value)
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in forms:
            raise ValueError(f"no {what} is called {kind!r:.60}; there are {', '.join(forms)}")
        forms[kind](value, place)

    return check

"""The first card of the page: verdict, error, the three numbers that matter, and what to do."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pmcnet.ais.agreement import Agreement, Quantity
from pmcnet.ais.verdict import STATUSES, stated
from pmcnet.reports.advice import MEANING, advice
from pmcnet.reports.card_numbers import CardNumber, three_numbers
from pmcnet.reports.html import MISSING, Markup, count, joined, real, setting, tag

_SIGNS = {"trustworthy": "✓", "doubtful": "?", "degenerate": "✕"}


class Card(NamedTuple):
    """What the card says, in words."""

    status: str
    meaning: str
    reason: str
    error: str | None
    numbers: tuple[CardNumber, ...]
    advice: str
    made: str


def card_of(record: Mapping[str, Any]) -> Card:
    """Return the card of a record, the same for page, command line and notebook."""
    status, error = str(record["verdict"]["status"]), error_words(record)
    why = str(record["verdict"].get("reason") or "")
    return Card(
        status,
        MEANING[status],
        why[:1].upper() + why[1:],
        None if error and error.lower() in why.lower() else error,
        three_numbers(record),
        advice(record)[0],
        _made(record),
    )


def error_words(record: Mapping[str, Any]) -> str | None:
    """Return how far predictions may be from those of the posterior, in the verdict's words."""
    found = record["diagnostics"]
    error, upper = found.get("error"), found.get("error_upper")
    if not (real(error) and real(upper)):
        return None
    quantity: Quantity = "probabilities" if found.get("quantity") == "probabilities" else "values"
    n = found.get("n_islands") or 0
    rest = (math.nan, math.nan, 0.0, math.nan)
    words = stated(Agreement(quantity, n, float(error), float(upper), *rest))
    return words[0].upper() + words[1:]


def first_card(record: Mapping[str, Any]) -> Markup:
    """Return the card of a record as HTML."""
    return card_markup(card_of(record))


def card_markup(card: Card) -> Markup:
    """Return a card as HTML."""
    reason = tag("p", card.reason, class_="reason") if card.reason else None
    error = tag("p", f"{card.error}.", class_="reason") if card.error else None
    numbers = tag("dl", *map(_number, card.numbers), class_="numbers") if card.numbers else None
    label = tag("strong", "What to do: ")
    return joined(
        [
            tag("p", badge(card.status), " ", card.meaning, class_="meaning"),
            reason,
            error,
            numbers,
            tag("p", label, card.advice, class_="advice"),
            tag("p", card.made, class_="made") if card.made else None,
        ]
    )


def badge(status: str) -> Markup:
    """Return a verdict as a word with a sign before it; the colour only repeats it."""
    if status not in STATUSES:
        return joined([status])
    sign = tag("span", _SIGNS[status], class_="sign", aria_hidden="true")
    return tag("span", sign, status, class_=f"badge {status}")


def _made(record: Mapping[str, Any]) -> str:
    """Return what was fitted to how many rows, as far as it is known."""
    summary = record["summary"]
    parts = [
        setting(summary.get("method")),
        setting(summary.get("model")),
        f"network {setting(summary.get('network'))}",
        _counted(summary.get("n_train"), "training row"),
        _counted(summary.get("n_features"), "feature"),
    ]
    return " · ".join(part for part in parts if MISSING not in part.split(" "))


def _counted(n: Any, noun: str) -> str:
    return f"{count(n)} {noun}{'s' if n != 1 else ''}"


def _number(number: CardNumber) -> Markup:
    return tag(
        "div",
        tag("dt", number.label),
        tag("dd", number.value, class_="value"),
        tag("dd", number.beside, class_="beside") if number.beside else None,
    )

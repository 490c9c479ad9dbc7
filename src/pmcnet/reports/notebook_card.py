"""The first card alone, with its style, for notebooks."""

from pmcnet.reports.first_card import Card, card_markup
from pmcnet.reports.html import Markup, joined, tag
from pmcnet.reports.style_sheets import card_style


def notebook_card(card: Card, name: str) -> Markup:
    """Return a card as HTML that needs nothing else and styles nothing else.

    Args:
        card: what it says.
        name: of the model, above it.
    """
    heading = tag("p", name, class_="name")
    body = tag("div", heading, card_markup(card), class_=f"first-card {card.status}")
    return tag("div", joined([tag("style", Markup(card_style())), body]), class_="pmcnet")

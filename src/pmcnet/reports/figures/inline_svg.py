"""A matplotlib figure as SVG inside a page: its colours are the page's, nothing is fetched."""

import re

from matplotlib.figure import Figure

from pmcnet.reports.figures import canvas
from pmcnet.reports.html import Markup, attributes, tag

VARIABLES = {
    canvas.ACCENT: "--accent",
    canvas.INK: "--ink",
    canvas.GREY: "--grey",
    canvas.PALE: "--pale",
    canvas.BARS: "--bars",
    **{colour: f"--tint-{level}" for level, colour in canvas.TINTS.items()},
}

_HEAD = re.compile(r".*?<svg[^>]*viewBox=\"([^\"]*)\"[^>]*>", re.DOTALL)
_LEFT_OUT = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", re.DOTALL)
_FONT = re.compile(r"font-family: [^;]*; ")
_ID = re.compile(r' id="([^"]*)"')
_USED = re.compile(r"(?:xlink:href=\"|url\()#([^\")]*)")
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_TAG = re.compile(r"<[^>]*>")
_LONG = re.compile(r"(\.\d\d)\d+")
_SPACE = re.compile(r"\s+")
_NO_TURN = re.compile(r' transform="rotate\(-0 [^)]*\)"')
_EMPTY = re.compile(r"<defs>\s*</defs>")


def inline_svg(figure: Figure, key: str, label: str) -> Markup:
    """Return `figure` as an `<svg>` that says `label`, and whose ids start with `key`."""
    text = canvas.svg(figure)
    head = _HEAD.match(text)
    assert head is not None, "matplotlib writes a viewBox"
    body = _drawing(text[head.end() : text.rindex("</svg>")], key)
    words = attributes(class_="drawing", role="img", aria_label=label, viewBox=head[1])
    return Markup(f"<svg{words}>{tag('title', label)}{body}</svg>")


def _drawing(body: str, key: str) -> str:
    """Return what lies inside `<svg>`, shorter and free of whatever would reach beyond it."""
    used = set(_USED.findall(body))
    body = _LEFT_OUT.sub("", body)
    body = _ID.sub(lambda found: f' id="{key}-{found[1]}"' if found[1] in used else "", body)
    body = body.replace('xlink:href="#', f'href="#{key}-').replace("url(#", f"url(#{key}-")
    body = _COLOUR.sub(
        lambda found: f"var({VARIABLES[found[0]]})" if found[0] in VARIABLES else found[0], body
    )
    for pattern in (_FONT, _NO_TURN, _EMPTY):
        body = pattern.sub("", body)
    # coordinates only, never the words
    body = _TAG.sub(lambda found: _LONG.sub(r"\1", found[0]), body)
    return _SPACE.sub(" ", body).replace("> <", "><").strip()

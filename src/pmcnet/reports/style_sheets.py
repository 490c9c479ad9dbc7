"""The style sheets of the page, and those of its first card anywhere else."""

import re
from importlib.resources import files

_COLOURS = re.compile(r":root \{\n(.*?)\n *\}", re.DOTALL)  # those of light, then those of dark
_RULE = re.compile(r"^\.", re.MULTILINE)  # the style sheets of the card are rules of classes alone
_NOTEBOOKS = {  # what notebooks set on a page of theirs, whatever the system prefers
    "light": ('[data-jp-theme-light="true"]', ".vscode-light"),
    "dark": ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]'),
}


def style_sheet(name: str) -> str:
    """Return a style sheet as text."""
    return files("pmcnet.reports").joinpath("files", name).read_text(encoding="utf-8")


def card_style() -> str:
    """Return the style of a card in `.pmcnet`, with the colours of the page; it styles no more."""
    light, dark = _COLOURS.findall(style_sheet("report.css"))[:2]
    themes = [
        f".pmcnet {{\n{light}\n}}",
        f"@media (prefers-color-scheme: dark) {{ .pmcnet {{\n{dark}\n}} }}",
    ]
    for theme, colours in (("light", light), ("dark", dark)):
        where = ", ".join(f"{sign} .pmcnet" for sign in _NOTEBOOKS[theme])
        themes.append(f"{where} {{ color-scheme: {theme};\n{colours}\n}}")
    rules = style_sheet("first_card.css") + style_sheet("notebook.css")
    return "\n".join([*themes, _RULE.sub(".pmcnet .", rules)])

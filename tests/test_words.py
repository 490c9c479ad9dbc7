"""The words of the field: those that HOUSE.md bans are not in prose, nor in docstrings.

A line of BANNED is a pattern and what to say instead. ALLOWED names the few sentences in which a
word means something else.
"""

import ast
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
)
MODULES = sorted((ROOT / "src" / "pmcnet").rglob("*.py"))

BANNED = {
    r"heated": "with noise, or at an inverse temperature",
    r"walk(s|ed|ing)?": "burn-in, warm-up",
    r"thrown|sent back": "diverged, reset",
    r"rivals?": "baseline, competing method",
    r"labels counted": "likelihood weight",
    r"texts": "strings",
    r"truth values?": "boolean",
    r"slopes?": "gradient, derivative",
    r"pulls?|pulled|push(es|ed)?": "gradient",
    r"lineages?": "genealogy, ancestors",
    r"companions?": "callbacks, observers",
    r"arithmetic": "precision",
    r"dear|dearer|dearest": "expensive",
    r"changed at random": "random crops and flips, augmentation",
    r"told": "reported, distinguished, not compared",
}
WORDS = re.compile(rf"\b({'|'.join(BANNED)})\b", re.IGNORECASE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
INDENTED = re.compile(r"^    .*$", re.MULTILINE)

# (file, words around it): why it may stay.
ALLOWED = {
    ("src/pmcnet/bnn/kernels/cpu/lanewise.py", "Arithmetic of vectors"): "sums and products",
    ("src/pmcnet/bnn/kernels/cpu/simd.py", "has the arithmetic"): "sums and products",
    ("src/pmcnet/ais/hmc/adaptation.py", "a random walk"): "a process",
    ("src/pmcnet/methods/sae.py", "guided walk"): "the name of that Markov chain",
}


def prose(path: Path) -> str:
    """A page without code, or the docstrings of a module."""
    if path.suffix == ".md":
        return INDENTED.sub("", CODE.sub("", path.read_text()))
    strings = [
        node.value.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return CODE.sub("", "\n".join(map(inspect.cleandoc, strings)))


def banned_words(path: Path) -> list[str]:
    """Each banned word with the words around it."""
    text = prose(path)
    name = path.relative_to(ROOT).as_posix()
    found = []
    for word in WORDS.finditer(text):
        around = " ".join(text[max(0, word.start() - 40) : word.end() + 40].split())
        if not any(name == file and words in around for file, words in ALLOWED):
            found.append(f"{name}: ... {around} ...")
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_pages_have_the_words_of_the_field(path):
    assert banned_words(path) == []


def test_docstrings_have_the_words_of_the_field():
    assert [found for path in MODULES for found in banned_words(path)] == []


@pytest.mark.parametrize(("file", "words"), ALLOWED)
def test_exceptions_are_still_needed(file, words):
    assert words in " ".join(prose(ROOT / file).split())


def test_a_banned_word_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("A rival.\n\n```python\nrival = 1\n```\nThe `rival` of `walk_epochs`.\n")
    assert WORDS.findall(prose(page))[0][0] == "rival"
    assert len(WORDS.findall(prose(page))) == 1

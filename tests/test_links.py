"""Links of pages lead to files and headings that are there, and figures say what they show."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The headings of a page, as GitHub and MyST write them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def faults(page: Path) -> list[str]:
    """Links of a page that lead nowhere, and figures without a description."""
    found = []
    for figure, text, goal in LINK.findall(CODE.sub("", page.read_text())):
        if figure and len(text) < 15:
            found.append(f"{goal}: a figure needs alternative text")
        path, _, heading = goal.partition("#")
        if "://" in goal:
            continue
        to = page.parent / path if path else page
        if not to.exists() and "tutorials/" not in path:  # made by the gallery
            found.append(f"{goal}: no such file")
        elif heading and to.suffix == ".md" and heading not in anchors(to):
            found.append(f"{goal}: no such heading")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    assert faults(page) == []


def test_faults_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Here\n\n[a](#there) [b](none.md) ![c](page.md) [d](#here) `[e](gone.md)`\n")
    assert len(faults(page)) == 3

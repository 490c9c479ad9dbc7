"""The site: `make docs` builds it into out/site."""

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs")]
os.environ["PYTHONPATH"] = str(ROOT / "src")

import sphinx_click.ext  # noqa: E402
from numpy.typing import ArrayLike  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from sphinx.ext.autodoc.mock import mock  # noqa: E402
from sphinx_autodoc_typehints import format_annotation  # noqa: E402

import pmcnet  # noqa: E402

# Of sphinx-autodoc-typehints, thousands of times.
warnings.filterwarnings("ignore", message=".*set_application.*")
# sphinx-click takes the module of this name for the function, from Sphinx 9 on.
sphinx_click.ext.mock = mock

project = "pmcnet"
author = "The pmcnet authors"
copyright = "The pmcnet authors"
version = release = pmcnet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_autodoc_typehints",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_static"]
suppress_warnings = [
    "config.cache",
    "ref.python",
    "sphinx_autodoc_typehints.forward_reference",
    "sphinx_autodoc_typehints.guarded_import",
]
default_role = "code"
smartquotes = False  # options begin with two hyphens, and strings can be copied

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
autodoc_default_options = {"members": True, "imported-members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_use_ivar = True
toc_object_entries_show_parents = "hide"
typehints_use_rtype = False
always_use_bars_union = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "tutorials",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"mixture\.py$",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    "image_scrapers": ("matplotlib",),
    "capture_repr": (),  # what is printed, without the last value of a block
    "reset_modules": ("matplotlib",),
    "nested_sections": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "pmcnet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}


def typehints_formatter(annotation: Any, config: Any) -> str | None:
    """What numpy takes for an array is a dozen types, of which readers need one word."""
    parts, arrays = get_args(annotation), get_args(ArrayLike)
    if not all(each in parts for each in arrays):
        return None
    rest = [format_annotation(part, config) for part in parts if part not in arrays]
    return " | ".join([*rest, "array-like"])


LISTED = re.compile(r"```\{toctree\}(.*?)```", re.DOTALL)


def add_guides(app: Sphinx, name: str, source: list[str]) -> None:
    """Put every guide that is in no other list into that of how_to, so that new ones are found."""
    if name != "how_to":
        return
    folder = Path(app.srcdir)
    pages = {page.stem: page.read_text() for page in folder.glob("*.md")}
    words = " ".join(found for text in pages.values() for found in LISTED.findall(text))
    listed = {"index", *re.split(r"[\s<>]+", words)}
    guides = sorted(pages.keys() - listed)
    source[0] = source[0].replace("GUIDES", "\n".join(guides))


def outdated(
    app: Sphinx, env: Any, added: set[str], changed: set[str], gone: set[str]
) -> list[str]:
    """The list of guides is read again in every build."""
    return ["how_to"]


def escaped(
    app: Sphinx, kind: str, name: str, object_: Any, options: Any, lines: list[str]
) -> None:
    """Docstrings are plain English: their bars and stars are no markup."""
    for i, line in enumerate(lines):
        parts = re.split(r"(`[^`]*`)", line)
        lines[i] = "".join(p if p[:1] == "`" else re.sub(r"([|*])", r"\\\1", p) for p in parts)


def left_out(
    app: Sphinx, kind: str, name: str, object_: Any, skipped: bool, options: Any
) -> bool | None:
    """What scikit-learn adds to its estimators is described there."""
    from_sklearn = str(getattr(object_, "__module__", "")).startswith("sklearn")
    routing = name.startswith("set_") and name.endswith("_request")
    return True if from_sklearn or routing else None


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.connect("source-read", add_guides)
    app.connect("env-get-outdated", outdated)
    app.connect("autodoc-process-docstring", escaped, priority=400)
    app.connect("autodoc-skip-member", left_out)

"""The site: `make docs` builds it into out/site."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
os.environ["PYTHONPATH"] = str(ROOT / "src")

import pmcnet  # noqa: E402

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
# A guide that is not written yet may be in a list already.
suppress_warnings = ["toc.empty_glob", "config.cache"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
autodoc_default_options = {"members": True, "imported-members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_use_ivar = True
typehints_use_rtype = False
always_use_bars_union = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "tutorials",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"mixture\.py$",
    "within_subsection_order": "ExplicitOrderKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    "image_scrapers": ("matplotlib",),
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

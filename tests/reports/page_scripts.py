"""A page without the scripts that are ours: what is left must run nothing."""

import re
from importlib.resources import files


def without_scripts(page):
    """The page without our scripts, whole and unchanged, and without their data."""
    for file in files("pmcnet.reports").joinpath("files").iterdir():
        if file.name.endswith(".js"):
            page = page.replace(f"<script>{file.read_text(encoding='utf-8')}</script>", "")
    return re.sub(r'<script type="application/json" id="\w+-data">[^<]*</script>', "", page)

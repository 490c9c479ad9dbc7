"""The folder where a user's programs keep what they can make again."""

import os
from pathlib import Path


def user_cache() -> Path:
    """$XDG_CACHE_HOME/pmcnet, else ~/.cache/pmcnet; it need not exist."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(given) if os.path.isabs(given) else Path("~/.cache")
    return (folder / "pmcnet").expanduser().absolute()

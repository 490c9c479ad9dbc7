"""The paper's published rows and other large files, where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shared():
    """The folder of large files, if it has all that a test needs."""
    folder = Path(os.environ.get("PMCNET_DATA", ROOT.parent / "shared" / "data"))

    def having(*names: str) -> Path:
        for name in names:
            if not (folder / name).is_file():
                pytest.skip(f"{folder / name} is absent: set PMCNET_DATA to the folder that holds {name}")
        return folder

    return having


@pytest.fixture
def published(shared):
    """Arrays of the paper's published split of a dataset, by its name."""

    def read(name: str) -> dict[str, np.ndarray]:
        path = f"paper_splits/{name}.npz"
        with np.load(shared(path) / path) as arrays:
            return dict(arrays)

    return read

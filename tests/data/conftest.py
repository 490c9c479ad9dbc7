"""The paper's published rows, where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def published():
    """Arrays of the paper's published split of a dataset, by its name."""
    folder = Path(os.environ.get("PMCNET_DATA", ROOT.parent / "shared" / "data")) / "paper_splits"

    def read(name: str) -> dict[str, np.ndarray]:
        path = folder / f"{name}.npz"
        if not path.is_file():
            pytest.skip(f"{path} is absent: set PMCNET_DATA to the folder that holds paper_splits/")
        with np.load(path) as arrays:
            return dict(arrays)

    return read

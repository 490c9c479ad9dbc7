"""The paper's published rows, where they are at hand."""

import numpy as np
import pytest


@pytest.fixture
def published(shared):
    """Arrays of the paper's published split of a dataset, by its name."""

    def read(name: str) -> dict[str, np.ndarray]:
        path = f"paper_splits/{name}.npz"
        with np.load(shared(path) / path) as arrays:
            return dict(arrays)

    return read

"""Cells of a published table, at few repetitions; benchmarks/published_ais.py prints the whole."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "published_ais.py"


@pytest.fixture(scope="module")
def published():
    spec = importlib.util.spec_from_file_location("published_ais", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["published_ais"] = module
    spec.loader.exec_module(module)
    return module


def test_tables_are_complete(published):
    assert len(published.cells()) == 6 * 6 + 3 * 3


@pytest.mark.parametrize(
    ("scheme", "n_draws", "sigma"),
    [("local", 20, 5), ("local", 20, 10), ("global", 20, 10), ("local", 100, 20)],
)
def test_five_modes_error_is_the_published_one(published, scheme, n_draws, sigma):
    """Where the published means have no heavy tail: within five standard errors."""
    (cell,) = [
        c
        for c in published.cells()
        if (c.problem, c.scheme, c.n_draws, c.sigma) == ("five modes", scheme, n_draws, sigma)
    ]
    row = published.summary(cell, [published.squared_error(cell, seed) for seed in range(10)])
    assert abs(row["z"]) < 5

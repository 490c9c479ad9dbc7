"""Bands of effects cover true effects: the study of `benchmarks/effect_coverage.py`, reduced."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))


@pytest.mark.slow
def test_bands_cover_the_true_effects():
    import effect_coverage

    lines = [effect_coverage.studied(seed, 150, 8) for seed in range(4)]
    found = effect_coverage.summary(lines)
    for kind in ("partial", "accumulated"):
        assert found[f"{kind} 0.95"]["coverage"] > 0.8
        assert found[f"{kind} 0.8"]["coverage"] < found[f"{kind} 0.95"]["coverage"]


def test_true_effects_of_the_study_have_their_closed_form():
    import effect_coverage

    x, _ = effect_coverage.table(0, 400)
    points = np.linspace(-1, 1, 5)
    average, local = effect_coverage.true_effects(x, 2, points)
    assert np.allclose(np.diff(average), 0.5 * x[:, 3].mean())  # of x_2 x_3
    average, local = effect_coverage.true_effects(x, 0, points)
    assert np.allclose(np.diff(average), np.diff(1.5 * np.sin(2 * points)))
    assert np.allclose(np.diff(local), np.diff(1.5 * np.sin(2 * points)))

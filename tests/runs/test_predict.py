"""Predictions as columns of a file."""

import numpy as np

from pmcnet.runs.predict import written


def columns(offset: float) -> dict[str, np.ndarray]:
    mean, std = offset + np.array([0.25, 0.75]), np.array([0.01, 0.02])
    return {
        "prediction": mean,
        "std": std,
        "lower": mean - std,
        "upper": mean + std,
        "epistemic": std**2,
    }


def test_numbers_far_from_zero_keep_their_interval():
    for offset in (0.0, 1.6e9, 1e12):
        found, given = written(columns(offset)), columns(offset)
        for name in ("prediction", "lower", "upper"):
            np.testing.assert_allclose(
                np.array(found[name], dtype=float), given[name], rtol=0, atol=1e-4
            )


def test_other_numbers_have_eight_digits():
    found = written({"prediction": np.array(["a", "b"]), "probability_a": np.array([1 / 3, 2 / 3])})
    assert found["probability_a"] == ["0.33333333", "0.66666667"]
    assert found["prediction"].tolist() == ["a", "b"]

"""Results that are kept as data agree with what is said of them."""

import json
from pathlib import Path

import numpy as np
import pytest

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture
def probability() -> np.ndarray:
    with np.load(RESULTS / "cifar10_posterior.npz") as stored:
        return stored["probability"]


def test_averages_of_cifar10_are_probabilities(probability):
    assert (probability.shape, probability.dtype) == ((10_000, 10), np.float16)
    np.testing.assert_allclose(probability.astype(float).sum(1), 1, atol=2e-3)


def test_averages_of_cifar10_score_as_the_record_says(probability, shared):
    """In the standard order of the test images."""
    label = np.load(shared("cifar10/labels.npz") / "cifar10" / "labels.npz")["y_test"]
    record = json.loads((RESULTS / "cifar10_posterior.json").read_text())
    scores = record["rows"]["SGHMC chains, approximate"]["scores"]
    likely = np.maximum(probability[np.arange(len(label)), label].astype(float), 1e-7)
    assert np.mean(probability.argmax(1) == label) == pytest.approx(scores["accuracy"], abs=3e-4)
    assert -np.log(likely).mean() == pytest.approx(scores["nll"], abs=2e-3)

"""Results that are kept as data agree with what is said of them."""

import json
from pathlib import Path

import numpy as np
import pytest

RESULTS = Path(__file__).parents[2] / "docs" / "results"
LABELS = {
    "cifar10_posterior": "cifar10/labels.npz",
    "mnist_c_posterior": "mnist_c_rotate_regen.npz",
}


@pytest.fixture(params=LABELS)
def name(request) -> str:
    return request.param


@pytest.fixture
def probability(name) -> np.ndarray:
    with np.load(RESULTS / f"{name}.npz") as stored:
        return stored["probability"]


def test_stored_averages_are_probabilities(probability):
    assert (probability.shape, probability.dtype) == ((10_000, 10), np.float16)
    np.testing.assert_allclose(probability.astype(float).sum(1), 1, atol=2e-3)


def test_stored_averages_score_as_the_record_says(name, probability, shared):
    """In the standard order of the test images."""
    label = np.load(shared(LABELS[name]) / LABELS[name])["y_test"]
    record = json.loads((RESULTS / f"{name}.json").read_text())
    scores = record["rows"]["SGHMC chains, approximate"]["scores"]
    likely = np.maximum(probability[np.arange(len(label)), label].astype(float), 1e-7)
    assert np.mean(probability.argmax(1) == label) == pytest.approx(scores["accuracy"], abs=3e-4)
    assert -np.log(likely).mean() == pytest.approx(scores["nll"], abs=2e-3)

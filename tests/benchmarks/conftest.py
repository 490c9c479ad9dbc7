"""The scripts of `benchmarks/deep_posterior` on small images."""

import sys
from pathlib import Path

import pytest

from paper import small
from pmcnet import data

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "deep_posterior"
sys.path.append(str(SCRIPTS))


@pytest.fixture
def little(monkeypatch):
    """Studies find small images, and no outliers."""
    monkeypatch.setattr(data, "load_images", small.images)
    monkeypatch.setattr(data, "svhn_crops", lambda: None)

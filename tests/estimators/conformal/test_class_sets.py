"""Sets of classes: those of MAPIE, and never empty."""

from itertools import pairwise

import numpy as np
import pytest
from mapie.classification import SplitConformalClassifier

from estimators.conformal.tables import CHEAP, split_of, uneven
from estimators.tables import classes
from pmcnet import PMCNetClassifier
from pmcnet.errors import InputError


@pytest.fixture(scope="module")
def fitted():
    x, y = classes(400, n_classes=4)
    flipped = np.random.default_rng(3).random(400) < 0.3
    y = np.where(flipped, y[::-1], y)
    model = PMCNetClassifier((3,), method="adam-map", prior_std=1.0, conformal=True, random_state=0)
    return model.fit(x, y), x, y


@pytest.mark.parametrize("coverage", [0.2, 0.5, 0.8, 0.9, 0.95])
def test_sets_are_those_of_mapie_with_the_most_probable_class(fitted, coverage):
    model, x, y = fitted
    codes = np.searchsorted(model.classes_, y).astype(float)
    held_out = split_of(x, codes).held_out
    mapie = SplitConformalClassifier(
        model, confidence_level=coverage, conformity_score="lac", prefit=True
    )
    mapie.conformalize(held_out.x, model.classes_[held_out.y.astype(int)])
    new, _ = classes(100, n_classes=4, seed=1)
    expected = mapie.predict_set(new)[1][..., 0].astype(bool)
    best = np.eye(4, dtype=bool)[model.predict_proba(new).argmax(1)]
    found = model.predict_set(new, coverage)
    assert (found == expected | best).all()
    assert found.any(1).all()


def test_sets_grow_with_coverage(fitted):
    model, x, _ = fitted
    sets = [model.predict_set(x, coverage) for coverage in (0.3, 0.6, 0.9, 0.95)]
    for small, large in pairwise(sets):
        assert (large | ~small).all()
    assert sets[0].sum() < sets[-1].sum()


def test_plain_model_has_no_sets():
    x, y = classes(60)
    model = PMCNetClassifier(**CHEAP, random_state=0).fit(x, y)
    with pytest.raises(InputError, match="fitted with conformal=True"):
        model.predict_set(x)


def test_coverage_out_of_reach_is_refused(fitted):
    model, x, _ = fitted
    with pytest.raises(InputError, match="80 calibration rows allow"):
        model.predict_set(x, 0.999)


def test_ordinal_classes_have_sets():
    x, y = uneven(120)
    grades = np.digitize(y, [-1, 1])
    model = PMCNetClassifier(**CHEAP, likelihood="ordinal", conformal=True, random_state=0)
    sets = model.fit(x, grades).predict_set(x, 0.9)
    assert sets[np.arange(120), grades].mean() > 0.8

"""Novelty: about 1 % of rows like those of training are flagged, and nearly all that are far."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import cdist

from estimators.tables import QUICK, classes, numbers
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import InputError
from pmcnet.estimators.model_file import fingerprint
from pmcnet.estimators.neighbours import nearest
from pmcnet.estimators.novelty import (
    MOST,
    NoveltyScale,
    distances,
    epistemic_share,
    log_survival,
)
from pmcnet.estimators.reference_rows import ReferenceRows

N_TRAIN = 1000
CLASSES = QUICK | {"method_options": {"n_islands": 4, "n_particles": 8}}
NUMBERS = CLASSES | {"likelihood": "gaussian", "noise": 0.3}


def table(n, seed):
    """Skewed, bounded and discrete columns, and a response that two of them say."""
    source = np.random.default_rng(seed)
    x = np.column_stack(
        [source.normal(size=n), source.exponential(size=n), source.integers(0, 4, size=n)]
    ).astype(np.float64)
    return x, np.sin(2 * x[:, 0]) + x[:, 1] + 0.3 * source.normal(size=n)


@pytest.fixture(scope="module")
def regressor():
    return PMCNetRegressor(**NUMBERS).fit(*table(N_TRAIN, 0))


@pytest.fixture(scope="module")
def classifier():
    x, y = table(N_TRAIN, 0)
    return PMCNetClassifier(**CLASSES).fit(x, y > 1)


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_rows_like_those_of_training_are_flagged_once_in_a_hundred(kind, request):
    model, (x, _) = request.getfixturevalue(kind), table(20_000, 1)
    found = model.novelty(x)
    # the share is binomial, and its expectation that of a quantile of MOST training rows
    error = np.sqrt(0.01 * 0.99 / len(x) + 0.01 * 0.99 / MOST)
    assert abs(found.is_novel.mean() - 0.01) < 4 * error
    assert np.abs(np.quantile(found.percentile, [0.25, 0.5, 0.75]) - [0.25, 0.5, 0.75]).max() < 0.08


@pytest.mark.parametrize(("n_train", "least"), [(30, 0.003), (300, 0.008), (1000, 0.008)])
def test_about_one_new_row_in_a_hundred_is_flagged_on_average_over_tables(n_train, least):
    flagged = []
    for source in map(np.random.default_rng, range(100)):
        distance, share = source.exponential(size=(2, n_train + 500))
        scale = NoveltyScale.of(distance[:n_train], share[:n_train])
        flagged.append(scale.novelty(distance[n_train:], share[n_train:]).is_novel.mean())
    error = np.std(flagged) / np.sqrt(len(flagged))
    assert least - 3 * error < np.mean(flagged) < 0.01 + 3 * error


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_rows_far_from_the_training_rows_are_flagged(kind, request):
    model, (x, _) = request.getfixturevalue(kind), table(500, 2)
    x[:, 0] += 12
    assert model.novelty(x).is_novel.mean() > 0.99


def test_novelty_grows_without_end_along_a_line(regressor):
    x = np.zeros((60, 3)) + np.array([0.0, 1.0, 2.0])
    x[:, 0] = np.geomspace(3, 1e8, 60)
    found = regressor.novelty(x)
    assert (np.diff(found.distance) > 0).all()
    assert (np.diff(found.farther_than) >= 0).all()
    assert found.percentile[-1] == 1
    assert (found.is_novel == (found.percentile > 0.99)).all()


def test_distance_is_that_to_the_fifth_nearest_reference_row(regressor):
    x, _ = table(50, 3)
    inputs = regressor.encoded(x).inputs.numpy()
    expected = np.sort(cdist(inputs, regressor.reference_rows_.inputs.numpy()), axis=1)[:, 4]
    np.testing.assert_allclose(regressor.novelty(x).distance, expected, rtol=1e-5)


def test_row_itself_is_not_among_its_neighbours():
    reference = torch.tensor([[0.0], [1.0], [3.0]])
    found = distances(reference, reference, torch.tensor([0, 1, -1]))
    assert found.tolist() == [3, 2, 2]  # of two others the second, of three the second


def test_copies_have_no_distance_and_equal_distances_stay_equal():
    source = np.random.default_rng(0)
    rows = torch.as_tensor(100 + source.integers(0, 2, size=(300, 7)), dtype=torch.float32)
    found = distances(rows, torch.cat([rows[:1]] * 5 + [rows[:1] + 90]))
    expected = (rows - rows[0]).square().sum(1).sqrt()
    assert found.tolist() == expected.double().tolist()
    assert (found[0], len(set(found))) == (0, 8)


def test_nearest_rows_are_those_of_all_distances():
    source = np.random.default_rng(0)
    rows, others = source.normal(size=(30, 4)), source.normal(size=(90, 4))
    every = cdist(rows, others)
    found = nearest(torch.as_tensor(rows), torch.as_tensor(others), 3)
    np.testing.assert_array_equal(found.position, np.argsort(every, axis=1)[:, :3])
    np.testing.assert_allclose(found.distance, np.sort(every, axis=1)[:, :3])
    assert nearest(torch.as_tensor(rows), torch.as_tensor(others[:2]), 3).position.shape == (30, 2)


def test_novelty_does_not_depend_on_the_other_rows(regressor):
    x, _ = table(300, 4)
    whole, half = regressor.novelty(x), regressor.novelty(x[150:])
    for one, other in zip(whole, half, strict=True):
        np.testing.assert_allclose(one[150:], other, rtol=1e-5, atol=1e-7)


def test_tail_of_exponential_values_is_exponential():
    values = np.sort(np.random.default_rng(0).exponential(size=MOST))
    at = np.array([0.7, 2.0, 8.0, 15.0])
    # twenty values tell the scale of the tail to 22 %
    np.testing.assert_allclose(log_survival(values, at), -at, rtol=0.5, atol=0.2)


@pytest.mark.parametrize("n", [2, 3, 7, 30])
def test_tail_of_a_few_values_is_finite_and_falls(n):
    values = np.sort(np.random.default_rng(n).exponential(size=n))
    found = log_survival(values, np.linspace(0, 9, 50))
    assert np.isfinite(found).all()
    assert (np.diff(found) <= 0).all()


def test_equal_training_rows_have_a_scale():
    found = NoveltyScale.of(np.ones(9), np.zeros(9)).novelty(np.array([1.0, 9.0]), np.zeros(2))
    assert found.is_novel.tolist() == [False, True]


def test_repeated_rows_are_as_near_as_their_copies():
    """A table of a few different rows: none of them is far from itself."""
    source = np.random.default_rng(0)
    x = source.integers(0, 3, size=(400, 2)).astype(np.float64)
    y = (x.sum(1) + source.integers(0, 2, 400)).astype(np.float64)
    model = PMCNetRegressor(**NUMBERS).fit(x, y)
    assert model.novelty(x).is_novel.mean() < 0.03


def test_calibrated_model_refers_to_rows_of_its_own_table():
    x, y = numbers(80)
    model = PMCNetRegressor(**NUMBERS, conformal=True).fit(x, y)
    own = model.encoded(x[model.reference_rows_.numbers - 1]).inputs
    assert len(own) == 61  # 19 are held out
    assert torch.equal(own, model.reference_rows_.inputs)


def test_numbers_of_reference_rows_skip_rows_of_no_weight():
    x, y = numbers(40)
    model = PMCNetRegressor(**NUMBERS).fit(x, y, sample_weight=np.arange(40) % 2)
    assert (model.reference_rows_.numbers % 2 == 0).all()
    own = model.encoded(x[model.reference_rows_.numbers - 1]).inputs
    assert torch.equal(own, model.reference_rows_.inputs)


def test_counts_have_novelty_with_their_exposure():
    source = np.random.default_rng(0)
    x, exposure = source.normal(size=(120, 2)), source.uniform(1, 50, size=120)
    y = source.poisson(exposure * np.exp(0.3 * x[:, 0]))
    model = PMCNetRegressor(**CLASSES, likelihood="poisson").fit(x, y, exposure=exposure)
    found = model.novelty(model.encoded(x, exposure))
    expected = epistemic_share(model.predictive(model.encoded(x, exposure)))
    assert np.array_equal(found.epistemic_share, expected)
    assert found.is_novel.mean() < 0.1


def test_update_lets_new_rows_join_the_reference():
    x, y = numbers(90)
    model = PMCNetRegressor(**NUMBERS).fit(x[:60], y[:60])
    new = x[60:] + np.array([0.0, 8.0, 0.0])  # a column that says nothing of y
    before = copy.deepcopy(model)
    model.update(new, y[60:])
    reference = model.reference_rows_
    assert len(reference.inputs) == 90
    assert sorted(reference.numbers[reference.updates == 1]) == list(range(1, 31))
    joined = model.encoded(new[reference.numbers[reference.updates == 1] - 1]).inputs
    assert torch.equal(joined, reference.inputs[torch.as_tensor(reference.updates == 1)])
    assert torch.equal(
        model.training_rows_.inputs[torch.as_tensor(reference.places)], reference.inputs
    )
    assert before.novelty(new).is_novel.mean() > 0.9 > 0.1 > model.novelty(new).is_novel.mean()


def test_reference_rows_are_at_most_two_hundred_of_all(regressor):
    reference, (x, _) = regressor.reference_rows_, table(N_TRAIN, 0)
    assert reference.inputs.shape == (200, 3)
    assert len(set(reference.numbers)) == 200
    own = regressor.encoded(x[reference.numbers - 1]).inputs
    assert torch.equal(own, reference.inputs)


def test_images_have_no_novelty():
    images = np.random.default_rng(0).normal(size=(12, 1, 4, 4))

    def module(shape, n_outputs):
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, n_outputs))

    options = {"method": "adam-map", "method_options": {"n_epochs": 2}, "prior_std": 1.0}
    model = PMCNetRegressor(**options, module=module, device="cpu", random_state=0)
    model.fit(images, images.sum((1, 2, 3)))
    with pytest.raises(InputError, match=r"novelty is for tables; .* images"):
        model.novelty(images)


@pytest.mark.parametrize("kept", [True, False])
def test_novelty_is_the_same_after_loading_or_refused(tmp_path, kept):
    x, y = classes()
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(city=np.where(x[:, 1] > 0, "u", "v"))
    model = PMCNetClassifier(**CLASSES).fit(frame, y)
    path = model.save(tmp_path / "m", reference_rows=kept)
    if not kept:  # as files were before
        record = json.loads((path / "model.json").read_text()) | {"version": 6}
        record["fingerprint"] = fingerprint(record)
        (path / "model.json").write_text(json.dumps(record))
    loaded = PMCNetClassifier.load(path)
    if kept:
        for one, other in zip(loaded.novelty(frame), model.novelty(frame), strict=True):
            assert np.array_equal(one, other)
        assert all(map(torch.equal, loaded.reference_rows_, model.reference_rows_))
    else:
        assert loaded.reference_rows_ is None
        with pytest.raises(InputError, match=r"save with reference_rows=True"):
            loaded.novelty(frame)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("reference.inputs", lambda rows: rows[:, :1]),
        ("reference.inputs", lambda rows: rows * torch.nan),
        ("reference.inputs", lambda rows: rows.double()),
        ("reference.inputs", lambda rows: rows.repeat(300, 1)),
        ("reference.origin", lambda rows: rows[:-1]),
        ("reference.origin", lambda rows: rows - 1),
    ],
)
def test_reference_rows_that_are_not_those_of_the_network_are_refused(name, change):
    origin = torch.tensor([[0, 3, 0], [1, 1, 0]])
    tensors = ReferenceRows(torch.ones(2, 3), origin).tensors()
    assert ReferenceRows.from_tensors(tensors, (3,)) is not None
    tensors[name] = change(tensors[name])
    with pytest.raises(ValueError, match="reference rows are not those of its network"):
        ReferenceRows.from_tensors(tensors, (3,))


@pytest.mark.parametrize(
    "change", [lambda s: s[:2], lambda s: -s, lambda s: s.flip(1), lambda s: s[:, :1]]
)
def test_scores_that_cannot_be_are_refused(change):
    tensors = NoveltyScale.of(np.arange(1.0, 9), np.arange(8) / 8).tensors()
    assert NoveltyScale.from_tensors(tensors) is not None
    tensors["reference.scores"] = change(tensors["reference.scores"])
    with pytest.raises(ValueError, match="scores of its training rows"):
        NoveltyScale.from_tensors(tensors)

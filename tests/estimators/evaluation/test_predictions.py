"""The predictions of test rows: encoded once, in one pass, and the numbers of the estimators."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.bnn import MLP
from pmcnet.estimators.conformal.class_sets import CalibratedSets
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.evaluation import drawn_rows, quantile_fan
from pmcnet.estimators.evaluation.known_columns import COVERAGE
from pmcnet.estimators.evaluation.number_predictions import N_SAMPLES, NumberColumns
from pmcnet.estimators.evaluation.row_predictions import predictions_of
from pmcnet.runs.predict import predicted_columns
from pmcnet.runs.prepare import ADDED

N_ROWS, N_NETWORKS = 40, 64
QUICK = {
    "hidden_layer_sizes": (3,),
    "method": "annealed",
    "method_options": {"n_islands": 4, "n_particles": 8},
    "prior_std": 1.0,
    "random_state": 0,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(N_ROWS, 2))


@pytest.fixture(scope="module")
def classes(rows):
    y = np.digitize(rows[:, 0], [-0.5, 0.5])
    return PMCNetClassifier(**QUICK).fit(rows, y), y


@pytest.fixture(scope="module")
def numbers(rows):
    y = 100 + 10 * np.sin(rows[:, 0])
    return PMCNetRegressor(**QUICK).fit(rows, y), y


@pytest.fixture
def spy(monkeypatch):
    """How often rows are encoded, and the number of networks of each call."""
    encodings, calls = [], []
    encode, call = TableEncoder.encode, MLP.__call__

    def encoded(self, rows):
        encodings.append(len(rows))
        return encode(self, rows)

    def called(self, theta, x):
        calls.append(len(theta))
        return call(self, theta, x)

    monkeypatch.setattr(TableEncoder, "encode", encoded)
    monkeypatch.setattr(MLP, "__call__", called)
    return encodings, calls


def n_alive(model):
    return int((model.posterior_.samples.weight > 0).sum())


def n_drawn(model, n_passes):
    return len(model.posterior_.samples.resampled(n_passes, 0).unique())


def in_pieces(model):
    """The same model with memory for a few rows and networks at a time."""
    other = model.thinned(N_NETWORKS)
    other.posterior_ = replace(other.posterior_, memory=1500)
    return other


def test_classes_are_encoded_once_and_pass_once(rows, classes, spy):
    model, y = classes
    made = predictions_of(model, rows, y, n_passes=8, seed=0)
    made.scored()
    made.columns()
    encodings, calls = spy
    assert encodings == [N_ROWS]
    # one network is the reference around which variances are summed
    assert calls == [1, n_alive(model), n_drawn(model, 8)]


def test_numbers_are_encoded_once_and_pass_once(rows, numbers, spy):
    model, y = numbers
    made = predictions_of(model, rows, y, n_passes=8, seed=0)
    made.scored()
    made.columns()
    encodings, calls = spy
    assert encodings == [N_ROWS]
    assert calls[:3] == [1, n_alive(model), n_drawn(model, 8)]
    samples = calls[3:]  # one network at a time; one that is drawn twice in a row passes once
    assert set(samples) == {1}
    assert len(samples) <= N_SAMPLES


@pytest.mark.parametrize("pieces", [False, True])
def test_classes_are_those_of_the_estimator_to_the_bit(rows, classes, pieces):
    model, y = classes
    model = in_pieces(model) if pieces else model
    made = predictions_of(model, rows, y, n_passes=8, seed=3)
    assert np.array_equal(made.averaged.probability, model.predict_proba(rows))
    assert np.array_equal(made.draws.numpy(), model.predict_draws(rows, 8, 3))
    for ours, theirs in zip(made.averaged[1:4], model.uncertainty(rows), strict=True):
        assert np.array_equal(ours, theirs)
    assert_same_columns(made.columns(), predicted_columns(model, rows, coverage=COVERAGE))


@pytest.mark.parametrize("pieces", [False, True])
def test_numbers_are_those_of_the_estimator_to_the_bit(rows, numbers, pieces):
    model, y = numbers
    model = in_pieces(model) if pieces else model
    made = predictions_of(model, rows, y, n_passes=8, seed=3)
    mean, std = model.predict(rows, return_std=True)
    assert np.array_equal(made.averaged.mean[:, 0], mean)
    assert np.array_equal(np.sqrt(made.averaged.total), std)
    assert np.array_equal(made.interval, model.predict_interval(rows, COVERAGE))
    assert np.array_equal(made.log_density, model.log_predictive(rows, y))
    assert np.array_equal(made.draws, model.predict_draws(rows, 8, 3))
    assert np.array_equal(made.samples, model.sample_y(rows, N_SAMPLES, 3))
    assert_same_columns(made.columns(), predicted_columns(model, rows, coverage=COVERAGE))


@pytest.mark.parametrize("most", [200, 7])
def test_fan_has_the_quantiles_of_the_estimator(rows, numbers, most, monkeypatch):
    monkeypatch.setattr(quantile_fan, "MOST_ROWS", most)
    model, y = numbers
    found = predictions_of(model, rows, y, n_passes=8, seed=0).scored().figures["fan"]
    mean = model.predict(rows)
    order = np.argsort(mean)[np.linspace(0, N_ROWS - 1, min(most, N_ROWS)).round().astype(int)]
    assert np.array_equal(found["y"], y[order])
    np.testing.assert_allclose(found["mean"], mean[order])
    for name, coverage in quantile_fan.COVERAGES.items():
        ends = model.predict_quantiles(rows[order], [(1 - coverage) / 2, (1 + coverage) / 2])
        np.testing.assert_allclose(np.transpose(found["bands"][name]), ends, rtol=1e-6)


def test_fan_leaves_censored_rows_out(rows, numbers):
    model, y = numbers
    kept = np.arange(N_ROWS) % 3 == 0
    encoded, mean = model.encoded(rows), model.predict(rows)
    found = quantile_fan.QuantileFan.of(model, encoded, mean, kept).record(y, mean)
    assert sorted(found["y"]) == sorted(y[kept])
    none = quantile_fan.QuantileFan.of(model, encoded, mean, kept & False)
    assert none.record(y, mean) is None


def assert_same_columns(ours, theirs):
    assert list(ours) == list(theirs)
    for name, values in ours.items():
        assert np.array_equal(values, theirs[name]), name


def test_columns_that_a_table_may_not_have_are_those_that_are_added(rows, classes, numbers):
    calibrated = copy(classes[0])
    calibrated.calibration_ = CalibratedSets(np.linspace(0, 1, 40))
    found = list(predicted_columns(calibrated, rows, coverage=COVERAGE))
    assert [name for name in found if not name.startswith("probability_")] == list(
        ADDED["classification"]
    )
    assert tuple(predicted_columns(numbers[0], rows, coverage=COVERAGE)) == NumberColumns._fields
    assert ADDED["regression"] == NumberColumns._fields


def test_cached_model_leaves_the_model_as_it_is(rows, classes):
    model, _ = classes
    other = model.cached()
    assert isinstance(model.posterior_.network, MLP)
    assert np.array_equal(other.predict_proba(rows), model.predict_proba(rows))
    assert np.array_equal(other.predict_proba(rows[:7]), model.predict_proba(rows[:7]))


@pytest.fixture
def few_drawn(monkeypatch):
    monkeypatch.setattr(drawn_rows, "MOST_NUMBERS", 1)
    monkeypatch.setattr(drawn_rows, "LEAST_ROWS", 15)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_single_networks_predict_some_of_very_many_rows(kind, rows, request, few_drawn):
    model, y = request.getfixturevalue(kind)
    some = predictions_of(model, rows, y, n_passes=20, seed=0)
    found = some.scored()
    assert some.draws.shape[1] == found.figures["n_drawn"] == len(set(some.drawn.tolist())) == 15
    assert {each["row"] for each in found.figures["histograms"]} <= set(some.drawn.tolist())
    own = np.asarray(model.predict_draws(rows[some.drawn], 20, 0))
    np.testing.assert_allclose(some.draws, own, rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "of_draws"), [("numbers", {"crps"}), ("classes", set())], ids=["numbers", "classes"]
)
def test_averaged_metrics_are_of_all_rows(kind, of_draws, rows, request, monkeypatch):
    model, y = request.getfixturevalue(kind)
    whole = predictions_of(model, rows, y, n_passes=20, seed=0).scored()
    request.getfixturevalue("few_drawn")
    found = predictions_of(model, rows, y, n_passes=20, seed=0).scored()
    assert "n_drawn" not in whole.figures
    assert {name for name in found.bma if found.bma[name] != whole.bma[name]} == of_draws

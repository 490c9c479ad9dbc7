"""The Monte Carlo error of predictions, as estimators return it."""

import numpy as np
import pytest

from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import InputError

ISLANDS = {"n_islands": 8, "n_particles": 8, "batch": 4}
COMMON = {
    "hidden_layer_sizes": (2,),
    "method": "annealed",
    "method_options": ISLANDS,
    "prior_std": 1.0,
    "random_state": 0,
    "device": "cpu",
}
X = np.random.default_rng(0).normal(size=(60, 2))


@pytest.fixture(scope="module")
def regressor():
    return PMCNetRegressor(**COMMON).fit(X, 1000 + 50 * X[:, 0])


@pytest.fixture(scope="module")
def classifier():
    return PMCNetClassifier(**COMMON).fit(X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 1))


def by_island(model, predicted):
    """Predictions of each island alone (8, N, ...)."""
    posterior, units = model.posterior_, model._units()
    n = posterior.network.layout.dim
    x = model.encoded(X).inputs
    means = []
    for theta in posterior.chains(10_000):
        output = posterior.network(theta[:, :n], x)
        means.append(posterior.likelihood.mean(output, theta[:, n:]).double().mean(0).numpy())
    return units.values(np.array(means)) if predicted else np.array(means)


def test_error_of_numbers_is_the_disagreement_of_islands(regressor):
    mean, std, error = regressor.predict(X, return_std=True, return_error=True)
    alone = by_island(regressor, predicted=True)[..., 0]
    assert regressor.posterior_.n_islands == 8
    np.testing.assert_allclose(alone.mean(0), mean, rtol=1e-6)
    plain = alone.std(0, ddof=1) / np.sqrt(8)
    student = error / plain
    np.testing.assert_allclose(student, student[0], rtol=1e-3)
    assert 1 < student[0] < 1.1
    assert (error < std).all()
    np.testing.assert_array_equal(regressor.predict(X), mean)


def test_error_of_classes_is_a_total_variation(classifier):
    classes, error = classifier.predict(X, return_error=True)
    probability, each = classifier.predict_proba(X, return_error=True)
    assert each.shape == probability.shape == (60, 3)
    np.testing.assert_allclose(error, 0.5 * np.sqrt(2 / np.pi) * each.sum(1))
    np.testing.assert_array_equal(classes, classifier.predict(X))
    alone = by_island(classifier, predicted=False)
    plain = alone.std(0, ddof=1) / np.sqrt(8)
    np.testing.assert_allclose(each / plain, (each / plain)[0, 0], rtol=1e-3)


def test_errors_survive_saving(regressor, tmp_path):
    again = PMCNetRegressor.load(regressor.save(tmp_path / "model"))
    for ours, theirs in zip(
        again.predict(X, return_error=True), regressor.predict(X, return_error=True), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert again.posterior_.agreement == regressor.posterior_.agreement


def test_thinned_models_keep_as_many_of_each_island(regressor):
    few = regressor.thinned(16)
    assert (few.posterior_.samples.n_draws, few.posterior_.n_islands) == (16, 8)
    error, whole = (m.predict(X, return_error=True)[1] for m in (few, regressor))
    assert error.mean() > whole.mean()
    with pytest.raises(InputError, match="needs independent islands"):
        regressor.thinned(5).predict(X, return_error=True)


def test_methods_without_islands_refuse_in_a_sentence():
    options = {"n_islands": 1, "n_particles": 24}
    model = PMCNetRegressor(**{**COMMON, "method_options": options}).fit(X, X[:, 0])
    with pytest.raises(InputError, match="this model has none"):
        model.predict(X, return_error=True)


def test_chains_of_hmc_tell_errors_too():
    options = {"n_chains": 4, "n_warmup": 10, "n_draws": 10, "n_epochs": 20, "max_leapfrog": 16}
    model = PMCNetRegressor(**{**COMMON, "method": "hmc", "method_options": options})
    _, error = model.fit(X, X[:, 0]).predict(X, return_error=True)
    assert model.posterior_.n_islands == 4
    assert (error > 0).all()
    assert model.posterior_.agreement.n_islands == 4


def test_a_short_budget_is_kept():
    model = PMCNetRegressor(budget="4s", random_state=0).fit(X, np.sin(3 * X[:, 0]))
    assert sum(line["seconds"] for line in model.history_[-1:]) < 4.8

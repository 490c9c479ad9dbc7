"""Which likelihood, noise and prior a fit takes."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats

from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.ais.comm import SERIAL
from pmcnet.errors import InputError
from pmcnet.estimators import formulation_search
from pmcnet.estimators.formulation import Formulation, candidates
from pmcnet.estimators.residual_tails import are_heavy, excess_kurtosis
from pmcnet.tune import Comparison, simplest

SMALL = {"method_options": {"n_islands": 4, "n_particles": 16}, "random_state": 0, "device": "cpu"}


def rows(n, doubling, seed=0):
    """A response whose noise is constant, or doubles from one end of the feature to the other."""
    source = np.random.default_rng(seed)
    x = source.uniform(-1, 1, (n, 1))
    sigma = 0.2 * (2.0 ** (x[:, 0] / 2) if doubling else 1.0)
    return x, np.sin(2 * x[:, 0]) + sigma * source.standard_normal(n)


def chosen(doubling, seed):
    x, y = rows(500, doubling, seed)
    model = PMCNetRegressor((4,), prior_std="layer", **SMALL | {"random_state": seed}).fit(x, y)
    assert {each["name"] for each in model.comparisons_} >= {
        "gaussian, scales by layer",
        "gaussian, noise by row, scales by layer",
    }
    return model.noise_


@pytest.mark.parametrize(("doubling", "noise"), [(False, "learn"), (True, "by-row")])
def test_noise_is_chosen_by_the_evidence(doubling, noise):
    assert chosen(doubling, 0) == noise


@pytest.mark.slow
def test_constant_noise_gets_one_noise_level():
    assert sum(chosen(False, seed) == "learn" for seed in range(10)) >= 9


@pytest.mark.slow
def test_noise_that_doubles_along_a_feature_gets_noise_by_row():
    assert all(chosen(True, seed) == "by-row" for seed in range(10))


def test_simplest_wins_within_the_error_of_the_best():
    a, b, c = (
        Comparison("abc"[i], z, e, 0.0) for i, (z, e) in enumerate([(-10, 1), (-8, 1), (-20, 1)])
    )
    assert simplest([a, b, c]) == 0
    assert simplest([b, a, c]) == 0
    assert simplest([c, b, a]) == 1
    assert simplest([a, b._replace(log_evidence=-6.0)]) == 1
    shared = b._replace(waypoint="a", gain_error=0.5)  # one run for both
    assert simplest([a, shared]) == 1
    assert simplest([shared._replace(name="d"), c._replace(log_evidence=-5.5)]) == 0  # two runs


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (np.array([0.0, 1, 2, 0, 4]), ["poisson", "negative-binomial"]),
        (np.array([0.0, 10, 2, 0, 40]), ["poisson", "negative-binomial", "gaussian", "gaussian"]),
        (np.array([1.0, 1.1, 1.2, 1.0, 9.0]), ["gaussian", "gaussian", "lognormal"]),
        (np.array([0.0, 1, 0, 1, 1]), ["gaussian", "gaussian"]),
        (np.array([-1.0, 1.1, 1.2, 1.0, 9.0]), ["gaussian", "gaussian"]),
    ],
)
def test_candidates_follow_from_the_kind_of_number(y, names):
    assert [name for name, _ in candidates("auto", "auto", "regression", y)] == names


def test_what_is_given_is_not_compared():
    x, y = rows(60, False)
    settings = {"noise": "by-row", "prior_std": 1.0}
    model = PMCNetRegressor((3,), likelihood="student-t", **settings, **SMALL).fit(x, y)
    assert (model.likelihood_, model.noise_, model.prior_std_) == ("student-t", "by-row", 1.0)
    assert model.comparisons_ == []
    assert model.formulation_reason_ == ""
    with pytest.raises(InputError, match="no scale for each input"):
        _ = model.feature_relevance_


def test_relevance_finds_the_columns_that_matter(tmp_path):
    source = np.random.default_rng(0)
    x = source.standard_normal((150, 4))
    y = 2 * np.tanh(x[:, 2]) + 0.1 * source.standard_normal(150)
    model = PMCNetRegressor((4,), noise="learn", prior_std="ard", **SMALL).fit(x, y)
    found = model.feature_relevance_
    assert list(found.columns) == ["feature", "relevance", "low", "high"]
    assert found["feature"][0] == model.encoder_.columns.names[2]
    assert found["low"][0] > found["relevance"][1]
    assert ((found["low"] <= found["relevance"]) & (found["relevance"] <= found["high"])).all()
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m"))
    assert loaded.feature_relevance_.equals(found)
    assert (loaded.predict(x) == model.predict(x)).all()


def test_prior_of_classes_is_compared_too():
    x, y = rows(80, False)
    model = PMCNetClassifier((3,), **SMALL).fit(x, y > 0)
    names = [each["name"] for each in model.comparisons_]
    assert names == ["categorical, scales by layer", "categorical, prior N(0, 1^2)"]
    assert model.prior_std_ in (1.0, "layer")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"method": "pmcnet-light", "prior_std": "ard"}, "got method pmcnet-light"),
        ({"prior": "laplace", "prior_std": "hierarchical"}, "the prior gaussian or layer"),
        ({"noise": "loud"}, "noise must be one of auto, learn, by-row"),
        ({"prior_std": "wide"}, "prior_std must be auto, hierarchical"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, says):
    x, y = rows(30, False)
    with pytest.raises(InputError, match=says):
        PMCNetRegressor((2,), device="cpu", **settings).fit(x, y)


def tailed(noise, n, seed):
    """A smooth curve, with normal noise or that of Student's t with 3 degrees of freedom."""
    source = np.random.default_rng(seed)
    x = source.uniform(-1, 1, (n, 1))
    errors = source.standard_t(3, n) if noise == "t" else source.standard_normal(n)
    return x, np.sin(2 * x[:, 0]) + 0.2 * errors


def test_excess_kurtosis_is_that_of_scipy():
    residual = np.random.default_rng(0).standard_t(5, 200)
    assert excess_kurtosis(residual) == pytest.approx(stats.kurtosis(residual))
    assert excess_kurtosis(np.zeros(5)) == 0


def test_tails_are_heavy_where_the_noise_has_them():
    assert all(are_heavy(*tailed("t", 600, seed), 0) for seed in range(4))
    assert not any(are_heavy(*tailed("normal", 600, seed), 0) for seed in range(4))
    assert not are_heavy(*tailed("t", 10, 0), 0)
    assert not are_heavy(np.zeros((30, 1)), np.ones(30), 0)


def with_tails(noise, seed):
    settings = SMALL | {"method": "annealed", "random_state": seed}
    return PMCNetRegressor((3,), prior_std=1.0, **settings).fit(*tailed(noise, 300, seed))


@pytest.mark.parametrize(("margin", "is_compared"), [(9.0, True), (11.0, False)])
def test_slight_noise_by_row_is_held_against_heavy_tails(margin, is_compared, monkeypatch):
    """Its margin is that of the prior with which kinds of noise were compared."""
    monkeypatch.setattr(formulation_search, "are_heavy", lambda *rows: True)
    rows = SimpleNamespace(
        x=torch.zeros(9, 2), response=SimpleNamespace(y=np.zeros(9)), has_layers=True
    )
    asked = formulation_search.Asked("auto", "auto", "auto")
    search = formulation_search.FormulationSearch(rows, asked, "annealed", None, 1.0, 0, (), SERIAL)
    chosen = Formulation("gaussian", "by-row", "ard")
    found = [
        SimpleNamespace(name=Formulation("gaussian", noise, "layer").described, log_evidence=z)
        for noise, z in (("learn", 0.0), ("by-row", margin))
    ]
    heavy = Formulation("student-t", "learn", "ard") if is_compared else None
    assert search._with_heavy_tails(chosen, "layer", found) == heavy


def test_heavy_tails_get_student_t_noise():
    model = with_tails("t", 0)
    assert model.likelihood_ == "student-t"
    assert "log Z is larger" in model.formulation_reason_


@pytest.mark.slow
def test_heavy_tails_get_student_t_noise_in_most_seeds():
    assert sum(with_tails("t", seed).likelihood_ == "student-t" for seed in range(10)) >= 8
    assert sum(with_tails("normal", seed).likelihood_ == "gaussian" for seed in range(10)) >= 9

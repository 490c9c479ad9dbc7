"""The estimators: what they predict, refuse, and how they fit into scikit-learn."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from torch import nn

from estimators.tables import QUICK, classes, numbers
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import InputError, UnseenLevelsWarning
from pmcnet.tune import Search


@pytest.fixture(scope="module")
def regressor():
    return PMCNetRegressor(**QUICK).fit(*numbers())


@pytest.fixture(scope="module")
def classifier():
    return PMCNetClassifier(**QUICK).fit(*classes(n_classes=3))


def test_regressor_shapes(regressor):
    x, _ = numbers(7, seed=1)
    mean, std = regressor.predict(x, return_std=True)
    assert mean.shape == std.shape == (7,)
    assert regressor.predict_interval(x).shape == (7, 2)
    assert regressor.predict_quantiles(x, [0.1, 0.5, 0.9]).shape == (7, 3)
    assert regressor.sample_y(x, 5).shape == (7, 5)
    assert regressor.predict_draws(x, n_passes=11).shape == (11, 7)


def test_classifier_shapes_and_labels(classifier):
    x, _ = classes(7, n_classes=3, seed=1)
    probability = classifier.predict_proba(x)
    assert probability.shape == (7, 3)
    assert np.allclose(probability.sum(1), 1)
    assert set(classifier.predict(x)) <= {"a", "b", "c"}
    draws = classifier.predict_draws(x, n_passes=9)
    assert draws.shape == (9, 7, 3)
    assert np.allclose(draws.sum(-1), 1)


def test_uncertainty_adds_up(classifier, regressor):
    for model in (classifier, regressor):
        total, aleatoric, epistemic = model.uncertainty(numbers(8, seed=2)[0])
        assert np.allclose(total, aleatoric + epistemic)
        assert (epistemic >= 0).all()
    _, std = regressor.predict(numbers(8, seed=2)[0], return_std=True)
    assert np.allclose(regressor.uncertainty(numbers(8, seed=2)[0]).total, std**2)


def test_interval_holds_its_share_of_samples(regressor):
    """The mixture's quantiles against draws of y, within 5 standard errors of the share."""
    x, _ = numbers(5, seed=3)
    samples = regressor.sample_y(x, 20000)
    low, high = regressor.predict_interval(x, 0.8).T[..., None]
    inside = ((samples >= low) & (samples <= high)).mean(1)
    assert (
        np.abs(inside - 0.8).max() < 5 * np.sqrt(0.8 * 0.2 / 20000) + 0.01
    )  # 48 weighted networks, resampled


def test_intervals_are_of_the_mixture_and_not_of_a_gaussian():
    """Two modes far from the data make the quantiles differ from mean +- z std."""
    x, y = numbers(25, d=1)
    model = PMCNetRegressor(**QUICK).fit(x, y)
    far = np.array([[8.0]])
    _, std = model.predict(far, return_std=True)
    low, high = model.predict_interval(far, 0.6)[0]
    draws = np.sort(model.sample_y(far, 40000)[0])
    assert low == pytest.approx(draws[8000], abs=0.05 * std[0])
    assert high == pytest.approx(draws[32000], abs=0.05 * std[0])


def test_scale_of_y_does_not_matter():
    x, y = numbers()
    small = PMCNetRegressor(**QUICK).fit(x, y)
    large = PMCNetRegressor(**QUICK).fit(x, 1e6 * y)
    assert np.allclose(large.predict(x), 1e6 * small.predict(x), rtol=1e-3, atol=1e4)


def test_known_noise_is_in_units_of_y():
    x, y = numbers()
    model = PMCNetRegressor(**QUICK, noise=0.3).fit(x, y)
    assert np.allclose(model.uncertainty(x).aleatoric, 0.09)


def test_order_of_rows_does_not_matter():
    x, y = numbers()
    order = np.random.default_rng(0).permutation(len(x))
    one, other = (
        PMCNetRegressor(**QUICK).fit(x, y),
        PMCNetRegressor(**QUICK).fit(x[order], y[order]),
    )
    assert (one.predict(x) == other.predict(x)).all()


def test_weights_count_rows_as_often():
    x, y = numbers(30)
    weight = np.random.default_rng(0).integers(0, 4, 30)
    weighted = PMCNetRegressor(**QUICK).fit(x, y, sample_weight=weight)
    repeated = PMCNetRegressor(**QUICK).fit(x.repeat(weight, 0), y.repeat(weight))
    assert (weighted.predict(x) == repeated.predict(x)).all()


def test_different_seeds_give_different_draws():
    x, y = numbers(30)
    one = PMCNetRegressor(**QUICK).fit(x, y)
    other = PMCNetRegressor(**{**QUICK, "random_state": 1}).fit(x, y)
    assert (one.predict(x) != other.predict(x)).any()


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def mixed_columns() -> dict[str, list]:
    x, _ = numbers(40)
    return {
        "size": [None if i % 7 == 0 else value for i, value in enumerate(x[:, 0].tolist())],
        "flag": (x[:, 1] > 0).tolist(),
        "city": [None if i % 9 == 0 else ["rome", "oslo"][i % 2] for i in range(40)],
    }


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_with_categories_and_gaps(kind):
    frame, (_, y) = FRAMES[kind](mixed_columns()), numbers(40)
    model = PMCNetRegressor(**QUICK).fit(frame, y)
    assert model.encoder_.input_shape == (
        1 + 1 + 2 + 2,
    )  # size, flag, two cities, two kinds of missingness
    assert np.isfinite(model.predict(frame)).all()
    assert list(model.feature_names_in_) == ["size", "flag", "city"]


def test_frames_of_every_library_have_the_same_bits():
    _, y = numbers(40)
    frames = {kind: make(mixed_columns()) for kind, make in FRAMES.items()}
    model = PMCNetRegressor(**QUICK).fit(frames["pandas"], y)
    expected = model.predict(frames["pandas"])
    for frame in frames.values():
        assert np.array_equal(model.predict(frame), expected)
        assert np.array_equal(PMCNetRegressor(**QUICK).fit(frame, y).predict(frame), expected)


def test_unseen_level_counts_as_missing_with_a_warning_or_is_refused():
    frame = pd.DataFrame({"city": ["rome", "oslo"] * 10, "x": np.arange(20.0)})
    model = PMCNetClassifier(**QUICK).fit(frame, ["a", "b"] * 10)
    later = pd.DataFrame({"city": ["rome", "lima"], "x": [1.0, 1.0]})
    with pytest.warns(UnseenLevelsWarning, match="count as missing: 'city' in 1 rows"):
        found = model.predict_proba(later)
    assert (found == model.predict_proba(later.assign(city=["rome", None]))).all()
    model.set_params(unseen="error")
    with pytest.raises(
        InputError, match="column 'city' has a cell in row 2 that is unlike those of training"
    ):
        model.predict(later)


def test_columns_are_described():
    frame = pd.DataFrame({"city": ["rome", "oslo"] * 10, "still": 1, "x": np.arange(20.0)})
    model = PMCNetClassifier(**QUICK, column_types={"x": "category"})
    found = model.fit(frame, ["a", "b"] * 10).columns_
    assert [(one["column"], one["kind"], one["why"]) for one in found] == [
        ("city", "category", ""),
        ("still", "left out", "it is constant"),
        ("x", "category", "as asked"),
    ]


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["yes", "no"], [2.0, 7.0]])
def test_labels_of_any_type_come_back(labels):
    x, _ = classes(30)
    y = np.array(labels)[(x[:, 0] > 0).astype(int)]
    model = PMCNetClassifier(**QUICK).fit(x, y)
    assert model.predict(x).dtype == y.dtype
    assert set(model.predict(x)) <= set(y)
    assert model.score(x, y) > 0.8


def test_two_classes_have_one_logit(classifier):
    two = PMCNetClassifier(**QUICK).fit(*classes(30))
    assert two.posterior_.network.sizes[-1] == 1
    assert classifier.posterior_.network.sizes[-1] == 3


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"method": "magic"}, "method must be one of auto, annealed"),
        ({"prior_std": -1.0}, "positive number"),
        ({"prior_std": "best"}, "auto, hierarchical, evidence, validation, layer, ard or a number"),
        ({"prior": "flat"}, "gaussian, layer, laplace"),
        ({"feature_scaling": "no"}, "columns, common, none"),
        ({"hidden_layer_sizes": (0,)}, "positive whole numbers"),
        ({"hidden_layer_sizes": 16}, "positive whole numbers"),
        ({"prior_std": None}, "positive number"),
        ({"budget": "soon"}, "budget must be"),
        ({"device": "abacus"}, "cannot be used here"),
        ({"method_options": {"n_steps": 3}}, "annealed has no setting n_steps"),
        ({"noise": -2.0}, "noise must be"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(setting, words):
    with pytest.raises(InputError, match=words):
        PMCNetRegressor(**{**QUICK, **setting}).fit(*numbers(20))


@pytest.mark.parametrize(
    "method", ["pmcnet", "pmcnet-light", "gradfree", "covfree", "dm-pmc", "sl-pmc"]
)
def test_every_variant_fits(method):
    options = {"n_proposals": 3, "n_draws": 5, "n_steps": 2, "n_epochs": 3}
    model = PMCNetClassifier(**{**QUICK, "method": method, "method_options": options}).fit(
        *classes(30)
    )
    assert model.method_ == method
    assert len(model.history_) == 2
    assert model.predict_proba(classes(5)[0]).shape == (5, 2)


@pytest.mark.parametrize("prior_std", ["evidence", "validation"])
def test_prior_is_searched(prior_std):
    model = PMCNetRegressor(**{**QUICK, "prior_std": prior_std}).fit(*numbers(40))
    assert model.prior_std_ in [trial["sigma"] for trial in model.prior_trials_]


def test_evidence_needs_the_annealed_method():
    with pytest.raises(InputError, match="needs the annealed method"):
        PMCNetRegressor(method="pmcnet-light", prior_std="evidence", random_state=0).fit(
            *numbers(30)
        )


def test_validation_searches_the_prior_of_a_variant():
    options = {"n_proposals": 3, "n_draws": 5, "n_steps": 2, "n_epochs": 3}
    model = PMCNetRegressor(method="pmcnet-light", method_options=options, random_state=0).fit(
        *numbers(30)
    )
    assert {"sigma", "validation_nll"} == set(model.prior_trials_[0])


class Lines:
    """An observer that keeps the stages."""

    def __init__(self):
        self.lines = []

    def stage(self, text):
        self.lines.append(text)

    def planned(self, plan, prior_std):
        pass

    def __call__(self, state, info):
        pass


def test_a_prior_at_the_end_of_the_range_is_reported(monkeypatch):
    seen = Lines()
    found = Search(20.0, 1.0, ((0.05, 3.0), (1.0, 2.0), (20.0, 1.0)), False)
    monkeypatch.setattr("pmcnet.tune.validation_prior", lambda *args, **kwargs: found)
    model = PMCNetRegressor(method="adam-map", method_options={"n_epochs": 1}, random_state=0)
    model.fit_with(*numbers(30), observers=[seen])
    assert "prior_std 20 is an end of the range that is searched" in seen.lines


def test_module_of_the_user():
    def make(n_inputs, n_outputs):
        return nn.Sequential(nn.Linear(n_inputs, 4), nn.Tanh(), nn.Linear(4, n_outputs))

    for module in (make, make(3, 1)):
        model = PMCNetRegressor(**QUICK, module=module).fit(*numbers(30))
        assert model.predict(numbers(4)[0]).shape == (4,)
    with pytest.raises(InputError, match="must return 1 output"):
        PMCNetRegressor(**QUICK, module=make(3, 2)).fit(*numbers(30))


def test_images_go_to_a_module():
    images = np.random.default_rng(0).normal(size=(30, 1, 4, 4))
    y = np.array(["dark", "light"])[(images.mean((1, 2, 3)) > 0).astype(int)]

    def make(shape, n_outputs):
        assert shape == (1, 4, 4)
        return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, n_outputs))

    model = PMCNetClassifier(**QUICK, module=make).fit(images, y)
    assert model.predict_proba(images[:3]).shape == (3, 2)
    with pytest.raises(ValueError, match="expecting 16 features"):
        model.predict(images[:, :, :3])


def test_pipeline_grid_search_and_cross_validation():
    x, y = classes(45)
    pipeline = make_pipeline(PolynomialFeatures(2, include_bias=False), PMCNetClassifier(**QUICK))
    grid = GridSearchCV(
        pipeline, {"pmcnetclassifier__prior_std": [0.5, 2.0]}, cv=2, scoring="neg_log_loss"
    ).fit(x, y)
    assert grid.best_params_["pmcnetclassifier__prior_std"] in (0.5, 2.0)
    assert cross_val_score(PMCNetClassifier(**QUICK), x, y, cv=3).mean() > 0.7


def test_clone_and_pickle(regressor):
    x, _ = numbers(5, seed=4)
    assert clone(regressor).get_params() == regressor.get_params()
    again = pickle.loads(pickle.dumps(regressor))
    assert (again.predict(x) == regressor.predict(x)).all()


def test_two_processes_give_what_one_gives():
    x, y = numbers(30)
    models = [PMCNetRegressor(**{**QUICK, "random_state": seed}) for seed in (0, 1)]
    fitted = joblib.Parallel(n_jobs=2)(joblib.delayed(model.fit)(x, y) for model in models)
    for model, other in zip(models, fitted, strict=True):
        assert np.allclose(model.fit(x, y).predict(x), other.predict(x), rtol=1e-4)


def test_conformal_wrapper_covers():
    mapie = pytest.importorskip("mapie.regression")
    x, y = numbers(300, seed=5)
    model = PMCNetRegressor(**QUICK).fit(x[:60], y[:60])
    conformal = mapie.SplitConformalRegressor(model, confidence_level=0.9, prefit=True)
    conformal.conformalize(x[60:180], y[60:180])
    _, interval = conformal.predict_interval(x[180:])
    covered = ((interval[:, 0, 0] <= y[180:]) & (y[180:] <= interval[:, 1, 0])).mean()
    assert abs(covered - 0.9) < 5 * np.sqrt(0.09 / 120)


def test_verbose_tells_on_standard_error(capfd):
    PMCNetRegressor(**QUICK, verbose=1).fit(*numbers(20))
    out, err = capfd.readouterr()
    assert out == ""
    assert "annealing 4 islands of 16 networks at a time" in err


def test_auto_says_which_method_and_why():
    x, y = numbers(30)
    rich = PMCNetRegressor(hidden_layer_sizes=(2,), prior_std=1.0, random_state=0, budget=0.5).fit(
        x, y
    )
    assert rich.method_ == "annealed"
    assert "within the budget" in rich.method_reason_
    poor = PMCNetRegressor(hidden_layer_sizes=(2,), prior_std=1.0, random_state=0, budget=1e-6).fit(
        x, y
    )
    assert poor.method_ == "pmcnet-light"
    assert "raise the budget" in poor.method_reason_


def test_thinned_model_predicts_nearly_the_same(regressor):
    x, _ = numbers(6, seed=6)
    thin = regressor.thinned(40)
    assert thin.posterior_.theta.shape[0] == 40
    assert thin.verdict_ == regressor.verdict_
    assert (
        np.abs(thin.predict(x) - regressor.predict(x)).max()
        < 0.5 * regressor.predict(x, return_std=True)[1].max()
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_gpu_model_is_saved_and_loaded_on_the_cpu(tmp_path):
    x, y = numbers(40)
    model = PMCNetRegressor(**{**QUICK, "device": "cuda"}).fit(x, y)
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m.pmcnet"), device="cpu")
    assert loaded.posterior_.theta.device.type == "cpu"
    assert np.allclose(loaded.predict(x), model.predict(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", "b", None] * 10, "missing value in 10 of 30 rows, first in row 3"),
        (["a", "b", float("nan")] * 10, "missing value in 10 of 30 rows"),
        (pd.Series(["a", "b", None] * 10, dtype="string"), "missing value"),
        (["a", 1, 2] * 10, "mixes strings with other labels"),
    ],
)
def test_labels_that_are_none_are_refused(labels, words):
    with pytest.raises(InputError, match=words):
        PMCNetClassifier(**QUICK).fit(classes(30)[0], labels)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (pd.date_range("2020-01-01", periods=30), "y holds dates"),
        (pd.Series(pd.date_range("2020-01-01", periods=30, tz="UTC")), "y holds dates"),
        (["yes", "no"] * 15, "For classes use PMCNetClassifier"),
        (numbers(30)[1] * 1e200, "other units"),
        (numbers(30)[1] * 1e-200, "other units"),
    ],
)
def test_response_that_is_no_number_is_refused(y, words):
    with pytest.raises(InputError, match=words):
        PMCNetRegressor(**QUICK).fit(numbers(30)[0], y)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_x_and_y_do_not_matter(unit):
    x, y = numbers(30)
    plain = PMCNetRegressor(**QUICK).fit(x, y).predict_interval(x)
    scaled = PMCNetRegressor(**QUICK).fit(x / unit, y * unit).predict_interval(x / unit) / unit
    np.testing.assert_allclose(scaled, plain, rtol=1e-4, atol=1e-4)


def test_numbers_of_numpy_are_settings_too(tmp_path):
    setting = {
        **QUICK,
        "prior_std": np.float32(1),
        "noise": np.float32(0.5),
        "random_state": np.int64(3),
    }
    model = PMCNetRegressor(**setting).fit(*numbers(20))
    assert PMCNetRegressor.load(model.save(tmp_path / "m")).random_state == 3


def test_lists_with_texts_keep_their_numbers():
    rows = [[i, "ab"[i % 2]] for i in range(20)]
    model = PMCNetClassifier(**QUICK).fit(rows, [i % 2 for i in range(20)])
    assert [column.kind for column in model.encoder_.columns.columns] == ["number", "category"]


def test_lazy_frame_is_refused():
    with pytest.raises(InputError, match=r"X\.collect\(\)"):
        PMCNetRegressor(**QUICK).fit(pl.DataFrame(numbers(20)[0]).lazy(), numbers(20)[1])


def test_module_that_takes_other_rows_is_refused():
    with pytest.raises(InputError, match=r"does not take 2 rows of shape \(3,\)"):
        PMCNetRegressor(**QUICK, module=nn.Linear(7, 1)).fit(*numbers(20))
    with pytest.raises(InputError, match="give module="):
        PMCNetRegressor(**QUICK).fit(np.ones((9, 1, 4, 4)), np.arange(9.0))


@pytest.mark.parametrize(
    "ask", ["predict_draws", "sample_y", "predict_quantiles", "predictive_interval", "thinned"]
)
def test_unfitted_model_says_so(ask):
    with pytest.raises(NotFittedError):
        getattr(PMCNetRegressor(), ask)(3 if ask == "thinned" else numbers(5)[0])


def test_coverage_is_checked_wherever_it_is_given(regressor):
    for ask in (regressor.predict_interval, regressor.predictive_interval):
        with pytest.raises(InputError, match=r"Use 0\.95 for 95 %"):
            ask(numbers(5)[0], 90)


def test_validation_rows_count_as_often_as_they_were_given():
    x, y = numbers(40)
    weight = np.where(np.arange(40) % 2, 1.0, 3.0)
    options = {
        **QUICK,
        "prior_std": "validation",
        "method_options": {"n_islands": 4, "n_particles": 8},
    }
    weighted = PMCNetRegressor(**options).fit(x, y, sample_weight=weight)
    repeated = PMCNetRegressor(**options).fit(
        np.repeat(x, weight.astype(int), 0), np.repeat(y, weight.astype(int))
    )
    tripled = PMCNetRegressor(**options).fit(x, y, sample_weight=3 * weight)
    assert weighted.prior_trials_ == repeated.prior_trials_
    assert weighted.prior_trials_ != tripled.prior_trials_


def test_module_that_is_none_is_refused():
    with pytest.raises(
        InputError, match=r"module must be an nn\.Module or make one .*; got 'a text'"
    ):
        PMCNetRegressor(**QUICK, module=lambda n_inputs, n_outputs: "a text").fit(*numbers(20))


def test_module_that_asks_for_other_rows_in_its_own_words_is_heard():
    class Own(nn.Linear):
        def forward(self, x):
            raise InputError("give rows of another kind.")

    with pytest.raises(InputError, match=r"^give rows of another kind\.$"):
        PMCNetRegressor(**QUICK, module=Own(3, 1)).fit(*numbers(20))


def test_weights_that_are_all_zero_are_refused():
    x, y = numbers(20)
    with pytest.raises(
        InputError, match=r"zero for every row, so no row counts\. Give some row a positive weight"
    ):
        PMCNetRegressor(**QUICK).fit(x, y, sample_weight=np.zeros(20))

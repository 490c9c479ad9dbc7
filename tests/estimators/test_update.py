"""New rows for a fitted model: what is known of them, what stays, what is refused."""

import copy
import json
import math
import warnings

import numpy as np
import pytest
import torch

from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.bnn import Bernoulli, LearnedGaussian
from pmcnet.errors import DriftWarning, InputError, UnseenLevelsWarning
from pmcnet.estimators.kept_rows import KeptRows
from pmcnet.estimators.model_file import fingerprint
from pmcnet.estimators.update import Update

SIZES = {"n_islands": 4, "n_particles": 16}
SMALL = {
    "hidden_layer_sizes": (3,),
    "prior_std": 1.0,
    "method": "annealed",
    "method_options": SIZES,
    "feature_scaling": "none",
    "random_state": 0,
}
FIVE = 5.0
"""Combined standard errors within which two models agree at nine rows of ten."""


def regressor(**settings) -> PMCNetRegressor:
    return PMCNetRegressor(**SMALL | {"likelihood": "gaussian", "noise": "learn"} | settings)


def numbers(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose y has mean 0 and standard deviation 1, whatever the batch: units stay the same."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.3 * rng.normal(size=n)
    return x, (y - y.mean()) / y.std()


def classes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.where(x[:, 0] + 0.5 * rng.normal(size=n) > 0, "yes", "no")


def joined(*batches):
    return tuple(np.concatenate(each) for each in zip(*batches, strict=True))


OLD, NEW = numbers(60, 0), numbers(20, 1)
OLD_CLASSES, NEW_CLASSES = classes(60, 0), classes(20, 1)


@pytest.fixture(scope="module")
def old() -> PMCNetRegressor:
    return regressor().fit(*OLD)


@pytest.fixture(scope="module")
def new(old) -> PMCNetRegressor:
    return copy.deepcopy(old).update(*NEW)


def agree(first, first_error, second, second_error) -> bool:
    off = np.abs(first - second) / np.hypot(first_error, second_error)
    return bool(np.quantile(off, 0.9) <= FIVE)


def test_update_of_a_regression_equals_a_fit_to_all_rows(new):
    again = regressor(random_state=1).fit(*joined(OLD, NEW))
    x, _ = numbers(100, 2)
    assert agree(*new.predict(x, return_error=True), *again.predict(x, return_error=True))
    difference = new.posterior_.log_evidence - again.posterior_.log_evidence
    error = math.hypot(new.posterior_.log_evidence_error, again.posterior_.log_evidence_error)
    assert abs(difference) < FIVE * error


def test_update_of_a_classification_equals_a_fit_to_all_rows():
    model = PMCNetClassifier(**SMALL).fit(*OLD_CLASSES).update(*NEW_CLASSES)
    again = PMCNetClassifier(**SMALL | {"random_state": 1}).fit(*joined(OLD_CLASSES, NEW_CLASSES))
    x, _ = classes(100, 2)
    (a, ea), (b, eb) = (m.predict_proba(x, return_error=True) for m in (model, again))
    assert agree(a[:, 1], ea[:, 1], b[:, 1], eb[:, 1])
    assert not model.update_.drift


def test_update_states_the_evidence_of_the_new_rows_and_what_was_expected(old, new):
    found = new.update_
    assert (found.number, found.n_rows) == (1, 20)
    gained = new.posterior_.log_evidence - old.posterior_.log_evidence
    scale = 20 * math.log(new.y_std_)  # log Z is in the network's units
    assert found.log_evidence == pytest.approx(gained - scale)
    assert 0 < found.log_evidence_error < 1
    direct = float(old.log_predictive(*NEW).mean())
    assert found.log_predictive == pytest.approx(direct, abs=0.02)
    assert abs(found.expected - found.log_predictive) < 4 * found.std
    assert "20 new rows: log predictive evidence" in found.described


def test_updates_follow_one_another(new):
    model = copy.deepcopy(new)
    model.update(*numbers(20, 3))
    again = regressor(random_state=1).fit(*joined(OLD, NEW, numbers(20, 3)))
    x, _ = numbers(100, 2)
    assert model.update_.number == 2
    assert len(model.training_rows_.inputs) == 100
    assert agree(*model.predict(x, return_error=True), *again.predict(x, return_error=True))


def test_update_keeps_encoder_units_and_islands(old, new):
    assert new.encoder_ is not old.encoder_  # a copy
    assert new.encoder_.state() == old.encoder_.state()
    assert (new.y_mean_, new.y_std_) == (old.y_mean_, old.y_std_)
    assert new.formulation_ == old.formulation_
    assert new.posterior_.n_islands == old.posterior_.n_islands == 4
    assert new.history_[-1]["polishing"]


def test_update_is_the_same_for_the_same_seed(old, new):
    again = copy.deepcopy(old).update(*NEW)
    assert torch.equal(again.posterior_.theta, new.posterior_.theta)
    assert again.update_ == new.update_


def test_rows_far_from_the_model_raise_the_warning_and_ordinary_ones_do_not(old):
    x, y = numbers(20, 4)
    with pytest.warns(DriftWarning, match=r"far less probable .* 20 new rows: .* where the model"):
        shifted = copy.deepcopy(old).update(x, y + 3)
    assert shifted.update_.drift
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ordinary = copy.deepcopy(old).update(x, y)
    assert not ordinary.update_.drift


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_only_shifted_batches_raise_the_warning(seed):
    x, y = numbers(40, 100 + seed)
    rng = np.random.default_rng(seed)
    fresh = rng.normal(size=(20, 2))
    response = np.sin(fresh[:, 0]) + 0.5 * fresh[:, 1] + 0.3 * rng.normal(size=20)
    model = regressor(random_state=seed).fit(x, y)
    _, raw = numbers(40, 100 + seed)
    assert np.allclose(raw, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy.deepcopy(model).update(fresh, response)
    with pytest.warns(DriftWarning):
        model.update(fresh, response + 2)


def test_update_that_fails_leaves_the_model_as_it_was(old):
    class Stops:
        def stage(self, text):
            pass

        def planned(self, plan, settled):
            pass

        def __call__(self, state, info):
            raise KeyboardInterrupt

    model = copy.deepcopy(old)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.update_with(*NEW, observers=[Stops()])
    assert {name: id(value) for name, value in vars(model).items()} == {
        name: id(value) for name, value in before.items()
    }


def test_weighted_rows_are_rows_given_twice(old):
    x, y = NEW
    twice = copy.deepcopy(old).update(*joined((x, y), (x[:5], y[:5])))
    weight = np.where(np.arange(len(y)) < 5, 2.0, 1.0)
    weighted = copy.deepcopy(old).update(x, y, sample_weight=weight)
    assert torch.equal(twice.posterior_.theta, weighted.posterior_.theta)
    assert (twice.update_.n_rows, weighted.update_.n_rows) == (25, 20)


@pytest.mark.filterwarnings("ignore::pmcnet.errors.DriftWarning")
def test_new_levels_count_as_missing_with_a_warning():
    import pandas as pd

    x, y = OLD
    frame = pd.DataFrame({"a": x[:, 0], "b": np.where(x[:, 1] > 0, "up", "down")})
    model = regressor().fit(frame, y)
    more = pd.DataFrame({"a": NEW[0][:, 0], "b": ["up", "never"] * 10})
    with pytest.warns(UnseenLevelsWarning, match="'b' in 10 rows"):
        model.update(more, NEW[1])
    assert model.update_.n_rows == 20


def test_counts_are_updated_with_their_exposure():
    rng = np.random.default_rng(0)
    x, exposure = rng.normal(size=(60, 1)), rng.uniform(0.5, 3, size=60)
    y = rng.poisson(exposure * np.exp(0.5 * x[:, 0]))
    model = PMCNetRegressor(**SMALL, likelihood="poisson")
    model.fit(x[:40], y[:40], exposure=exposure[:40])
    model.update(x[40:], y[40:], exposure=exposure[40:])
    assert model.training_rows_.targets.shape == (60, 2)
    assert not model.update_.drift
    assert math.isfinite(model.update_.log_predictive)


def test_censored_times_are_updated_without_an_expectation():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1))
    y = np.column_stack([rng.exponential(np.exp(x[:, 0])) + 0.01, rng.random(60) < 0.7])
    model = PMCNetRegressor(**SMALL, likelihood="censored").fit(x[:40], y[:40])
    model.update(x[40:], y[40:])
    assert model.update_.expected is None
    assert "per row" not in model.update_.described


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "adam-map", "method_options": {"n_epochs": 2}}, r"by adam-map\. .* by islands"),
        ({"method_options": {"n_islands": 1, "n_particles": 32}}, "as a single population"),
        ({"method_options": SIZES | {"n_networks": 8}}, r"at least 4; this model has 2"),
    ],
)
def test_models_without_islands_to_go_on_from_are_refused(options, match):
    model = regressor(**options).fit(*numbers(20, 5))
    with pytest.raises(InputError, match=match):
        model.update(*NEW)


def test_classes_that_the_fit_had_not_are_refused():
    model = PMCNetClassifier(**SMALL).fit(*classes(20, 0))
    x, y = classes(5, 1)
    with pytest.raises(InputError, match=r"class 'maybe' in row 3, which the fit had not"):
        model.update(x, np.array([*y[:2], "maybe", *y[3:]]))


def test_rows_of_another_width_are_refused(old):
    with pytest.raises(ValueError, match="features"):
        old.update(NEW[0][:, :1], NEW[1])


def test_noise_that_is_known_by_row_is_refused():
    x, y = numbers(20, 5)
    model = regressor(noise=np.full(20, 0.3)).fit(x, y)
    with pytest.raises(InputError, match="noise of each training row was given"):
        model.update(*NEW)


def test_loaded_model_with_its_rows_is_updated_as_the_fitted_one(old, new, tmp_path):
    old.save(tmp_path / "m", training_rows=True)
    loaded = PMCNetRegressor.load(tmp_path / "m").update(*NEW)
    assert torch.equal(loaded.posterior_.theta, new.posterior_.theta)
    loaded.save(tmp_path / "n")
    assert PMCNetRegressor.load(tmp_path / "n").update_ == loaded.update_
    assert isinstance(loaded.update_, Update)


def test_loaded_model_without_its_rows_says_what_to_do(old, new, tmp_path):
    old.save(tmp_path / "m")
    loaded = PMCNetRegressor.load(tmp_path / "m")
    with pytest.raises(InputError, match=r"save\(path, training_rows=True\), or give them back"):
        loaded.update(*NEW)
    loaded.restore_rows(*OLD).update(*NEW)
    assert torch.equal(loaded.posterior_.theta, new.posterior_.theta)


def test_restored_rows_are_encoded_as_the_fit_encoded_them():
    import pandas as pd

    rng = np.random.default_rng(0)
    x, y = numbers(120, 0)
    frame = pd.DataFrame({"a": x[:, 0], "many": [f"level {i}" for i in rng.integers(0, 40, 120)]})
    model = regressor(column_types={"many": "many-levels"}).fit(frame, y)
    before = model.training_rows_
    model.restore_rows(frame, y)
    assert all(map(torch.equal, before, model.training_rows_))
    assert not np.allclose(
        before.inputs.numpy(), model.encoder_.encode(model.encoder_.rows(frame))[: len(y)]
    )


def test_rows_are_not_restored_without_the_order_of_the_fit():
    model = regressor(random_state=None).fit(*numbers(20, 5))
    with pytest.raises(InputError, match="restore_rows needs a model with a whole number"):
        model.restore_rows(*numbers(20, 5))


def test_rows_of_the_fit_are_not_all_rows_of_an_updated_model(new):
    with pytest.raises(InputError, match="updated since its fit"):
        copy.deepcopy(new).restore_rows(*OLD)


def test_file_from_before_updates_is_read(old, tmp_path):
    path = old.save(tmp_path / "m")
    record = json.loads((path / "model.json").read_text())
    del record["update"]
    record["version"] = 5
    record["fingerprint"] = fingerprint(record)
    (path / "model.json").write_text(json.dumps(record))
    assert PMCNetRegressor.load(path).update_ is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("row.weight", lambda rows: -rows),
        ("row.inputs", lambda rows: rows[:, :1]),
        ("row.targets", lambda rows: rows * torch.nan),
        ("row.targets", lambda rows: rows[:-1]),
    ],
)
def test_rows_that_are_not_those_of_the_network_are_refused(old, name, change):
    tensors = old.training_rows_.tensors()
    tensors[name] = change(tensors[name])
    with pytest.raises(ValueError, match="training rows are not those of its network"):
        KeptRows.from_tensors(tensors, (2,), LearnedGaussian())


def test_classes_of_kept_rows_are_those_of_the_likelihood(old):
    with pytest.raises(ValueError, match="training rows are not"):
        KeptRows.from_tensors(old.training_rows_.tensors(), (2,), Bernoulli())

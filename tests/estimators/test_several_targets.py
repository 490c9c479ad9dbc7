"""A regressor of several targets: shapes, units, what is shared, files, updates, refusals."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import r2_score

from cli.commands import TINY, numbers, refused, written
from estimators.tables import QUICK
from pmcnet import PMCNetRegressor
from pmcnet.bnn import LearnedGaussian, MultiGaussian
from pmcnet.errors import InputError

N, T = 60, 3
SMALL = QUICK | {"method_options": {"n_islands": 4, "n_particles": 8}, "noise": "learn"}
FEW = {"n_proposals": 4, "n_draws": 5, "n_steps": 4, "n_epochs": 5}
LIGHT = SMALL | {"method": "pmcnet-light", "method_options": FEW}


def rows(n=N, seed=0):
    """Three targets in different units, the last one without a signal."""
    source = np.random.default_rng(seed)
    x, z = source.normal(size=(n, 2)), source.normal(size=(n, T))
    y = np.column_stack([3 * x[:, 0], 1e3 + 100 * x[:, 1], np.zeros(n)])
    return x, y + z * [0.3, 20.0, 0.01]


@pytest.fixture(scope="module")
def model():
    return PMCNetRegressor(**SMALL).fit(*rows())


def test_everything_has_an_axis_of_targets(model):
    x, y = rows(7, seed=1)
    mean, std, error = model.predict(x, return_std=True, return_error=True)
    assert mean.shape == std.shape == error.shape == (7, T)
    assert (error > 0).all()
    assert all(part.shape == (7, T) for part in model.uncertainty(x))
    assert np.allclose(std**2, model.uncertainty(x).total)
    assert model.predict_interval(x).shape == (7, T, 2)
    assert model.predict_quantiles(x, [0.1, 0.5, 0.6, 0.9]).shape == (7, T, 4)
    assert model.predict_draws(x, n_passes=5).shape == (5, 7, T)
    assert model.sample_y(x, 6).shape == (7, T, 6)
    assert model.log_predictive(x, y).shape == (7,)
    assert model.predictive(x).monte_carlo_error.shape == (7, T)
    assert model.y_mean_.shape == model.y_std_.shape == (T,)


def test_predictions_are_in_the_units_of_each_target(model):
    x, y = rows()
    mean, std = model.predict(x, return_std=True)
    assert np.corrcoef(mean[:, 0], y[:, 0])[0, 1] > 0.95
    assert np.corrcoef(mean[:, 1], y[:, 1])[0, 1] > 0.9
    assert (np.abs(mean - y).mean(0) < 2 * std.mean(0)).all()
    assert (std.mean(0) < 1.3 * y.std(0)).all()
    assert model.score(x, y) == pytest.approx(r2_score(y, mean))
    interval = model.predict_interval(x, 0.9)
    inside = ((interval[..., 0] < y) & (y < interval[..., 1])).mean(0)
    assert (inside > 0.75).all()


def test_interval_holds_its_share_of_each_targets_samples(model):
    x, _ = rows(4, seed=2)
    interval = model.predict_interval(x, 0.9)
    drawn = model.sample_y(x, 4000, random_state=1)
    below = (drawn[..., None] < interval[:, :, None]).mean(2)  # (N, T, 2)
    assert np.abs(below - [0.05, 0.95]).max() < 5 * math.sqrt(0.05 * 0.95 / 4000)


def test_log_predictive_is_the_joint_density_of_the_mixture(model):
    x, y = rows(5, seed=3)
    posterior, inputs = model.posterior_, model.encoded(x).inputs
    weight = posterior.samples.weight.flatten().numpy()
    n_parameters = posterior.network.layout.dim
    output = posterior.network(posterior.theta[:, :n_parameters], inputs).double().numpy()
    mean = model.y_mean_ + model.y_std_ * output  # (J, N, T)
    sigma = np.exp(posterior.theta[:, None, n_parameters:].double().numpy()) * model.y_std_
    joint = stats.norm.pdf(y, mean, sigma).prod(-1)  # (J, N)
    assert np.allclose(model.log_predictive(x, y), np.log(weight @ joint), rtol=1e-4)


def test_file_keeps_every_target(model, tmp_path):
    x, y = rows(9, seed=4)
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m"))
    assert loaded.posterior_.likelihood == MultiGaussian((LearnedGaussian(),) * T)
    assert (loaded.y_std_ == model.y_std_).all()
    assert (loaded.predict(x) == model.predict(x)).all()
    assert (loaded.predict_interval(x) == model.predict_interval(x)).all()
    assert (loaded.sample_y(x, 3) == model.sample_y(x, 3)).all()
    assert (loaded.log_predictive(x, y) == model.log_predictive(x, y)).all()


def test_update_goes_on_from_a_file_with_its_rows(model, tmp_path):
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m", training_rows=True))
    assert loaded.training_rows_.targets.shape == (N, T)
    with warnings.catch_warnings(record=True):  # few islands may count new rows as drift
        warnings.simplefilter("always")
        loaded.update(*rows(20, seed=5))
    assert loaded.update_.n_rows == 20
    assert math.isfinite(loaded.update_.log_predictive)
    assert loaded.training_rows_.targets.shape == (N + 20, T)
    assert loaded.predict(rows(3)[0]).shape == (3, T)


def test_rows_are_given_back_with_all_targets(model, tmp_path):
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m")).restore_rows(*rows())
    kept, known = loaded.training_rows_, model.training_rows_
    assert (kept.targets == known.targets).all()
    assert (kept.inputs == known.inputs).all()


def test_frame_of_targets_and_order_of_rows_do_not_matter():
    x, y = rows()
    order = np.random.default_rng(0).permutation(N)
    first = PMCNetRegressor(**LIGHT).fit(x, y)
    other = PMCNetRegressor(**LIGHT).fit(x[order], pd.DataFrame(y[order], columns=["a", "b", "c"]))
    assert (other.predict(x) == first.predict(x)).all()


@pytest.mark.parametrize(
    ("likelihood", "noise", "found"),
    [
        ("auto", "by-row", "multi-gaussian, noise by row, prior N(0, 1^2)"),
        ("student-t", "learn", "multi-student-t, prior N(0, 1^2)"),
        ("multi-gaussian", 0.5, "multi-gaussian, prior N(0, 1^2)"),
    ],
)
def test_likelihood_of_one_target_is_that_of_each(likelihood, noise, found):
    x, y = rows(20)
    settings = LIGHT | {"likelihood": likelihood, "noise": noise}
    model = PMCNetRegressor(**settings).fit(x, y[:, :2])
    assert model.formulation_.described == found
    assert np.isfinite(model.predict_interval(x)).all()


@pytest.mark.parametrize("method", ["sghmc", "hmc", "bbp"])
def test_other_methods_fit_several_targets(method):
    x, y = rows(40)
    options = {
        "sghmc": {"n_chains": 2, "n_cycles": 2, "n_epochs": 2},
        "hmc": {"n_chains": 2, "n_draws": 10, "n_warmup": 10, "n_epochs": 5, "max_leapfrog": 8},
        "bbp": {"n_epochs": 5},
    }
    settings = SMALL | {"method": method, "method_options": options[method]}
    mean, std = PMCNetRegressor(**settings).fit(x, y).predict(x, return_std=True)
    assert mean.shape == std.shape == (40, T)
    assert np.isfinite(mean).all()


def test_levels_are_averaged_by_every_target():
    source = np.random.default_rng(0)
    level = np.arange(120) % 40
    y = np.column_stack([source.normal(size=120), source.normal(size=40)[level] + level % 2])
    frame = pd.DataFrame({"level": [f"l{i}" for i in level], "x": source.normal(size=120)})
    settings = LIGHT | {"column_types": {"level": "many-levels"}}
    model = PMCNetRegressor(**settings).fit(frame, y)
    column = next(c for c in model.encoder_.columns.columns if c.name == "level")
    effects = np.array(column.effects)
    assert effects.shape == (40, 2)
    assert np.abs(effects[:, 1]).mean() > 3 * np.abs(effects[:, 0]).mean()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"likelihood": "laplace"}, "several targets are for likelihood gaussian or student-t"),
        ({"conformal": True}, "conformal intervals are for one target"),
        ({"noise": np.full(N, 0.1)}, "noise of each row is for likelihood gaussian"),
        ({"likelihood": "censored"}, "one number per row"),
    ],
)
def test_what_several_targets_cannot_have_is_refused(settings, says):
    with pytest.raises(InputError, match=says):
        PMCNetRegressor(**SMALL | settings).fit(*rows())


def test_times_and_events_are_not_taken_for_two_targets():
    x, y = rows()
    times = np.column_stack([np.abs(y[:, 0]), y[:, 1] > 1e3])
    with pytest.raises(InputError, match="give likelihood 'censored'; for two targets 'gaussian'"):
        PMCNetRegressor(**SMALL).fit(x, times)
    model = PMCNetRegressor(**SMALL | {"likelihood": "censored"}).fit(x, times)
    assert model.predict(x).shape == (N,)
    with pytest.raises(InputError, match=r"several targets per row.*Leave 'multi-' out"):
        PMCNetRegressor(**SMALL | {"likelihood": "multi-gaussian"}).fit(x, y[:, 0])


def test_model_of_one_target_refuses_two(model):
    x, y = rows()
    one = PMCNetRegressor(**LIGHT).fit(x, y[:, 0])
    assert one.predict(x).shape == (N,)
    with pytest.raises(InputError, match="one number per row"):
        one.score(x, y)


def test_run_refuses_several_targets(tmp_path):
    table = written(numbers(), tmp_path / "rows.csv")
    for named in (("--target", "y", "--target", "z"), ("--target", "y,z")):
        refused("fit", table, *named, *TINY, says=("a run predicts one target; got 2: y, z",))
    arguments = ("--target", "y", "--likelihood", "multi-gaussian", "--out", tmp_path / "run")
    refused("fit", table, *arguments, says=("several targets per row", "Leave 'multi-' out"))

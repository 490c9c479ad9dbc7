"""Every method of the registry does what every method does."""

import numpy as np
import pytest
import torch

from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.bnn import MLP, BayesianTarget, Categorical, ModuleNetwork
from pmcnet.errors import InputError
from pmcnet.methods.registry import METHODS, options

NAMES = [name for name, settings in METHODS.items() if settings.library is None]
EXTRAS = [name for name in METHODS if name not in NAMES]
TRAINED = [name for name in NAMES if METHODS[name].grid]

PMC = {"n_proposals": 3, "n_draws": 8, "n_steps": 2, "n_epochs": 3}
TINY = {
    "annealed": {"n_islands": 4, "n_particles": 8},
    **dict.fromkeys(("pmcnet", "pmcnet-light", "gradfree", "covfree", "dm-pmc", "sl-pmc"), PMC),
    **{name: {"n_epochs": 5} for name in TRAINED},
    "ensemble": {"n_epochs": 5, "n_members": 3},
    "sae": {"n_epochs": 4, "n_chains": 2, "n_members": 3, "n_next_epochs": 1},
    "hmc": {"n_chains": 2, "n_warmup": 3, "n_draws": 3, "max_leapfrog": 3, "n_epochs": 2},
    "laplace": {"n_iterations": 20, "n_turns": 2},
    "nuts": {"n_chains": 2, "n_warmup": 15, "n_draws": 10},
}


def an_extra(name):
    """Skipped where its library is missing; slow where it is compiled for each fit."""
    reason = f"{METHODS[name].library.title} is not installed: pip install 'pmcnet[{name}]'"
    marks = [
        pytest.mark.skipif(not METHODS[name].library.installed, reason=reason),
        *([pytest.mark.slow] if name == "nuts" else []),
    ]
    return pytest.param(name, marks=marks)


THEIRS = [an_extra(name) for name in EXTRAS]
ALL = [*NAMES, *THEIRS]


def rows(n=40):
    source = np.random.default_rng(0)
    x = source.normal(size=(n, 3))
    return x, 2 * x[:, 0] + 0.2 * source.normal(size=n)


def regressor(name, **settings):
    given = {
        "hidden_layer_sizes": (3,),
        "prior_std": 1.0,
        "random_state": 0,
        "device": "cpu",
        **settings,
    }
    return PMCNetRegressor(method=name, method_options=TINY[name], **given)


@pytest.mark.parametrize("name", ALL)
def test_method_fits_and_predicts_the_right_shapes(name):
    x, y = rows()
    model = regressor(name).fit(x, y)
    mean, std = model.predict(x, return_std=True)
    assert mean.shape == std.shape == (40,)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    assert model.predict_interval(x).shape == (40, 2)
    assert model.method_ == name
    assert len(model.history_) >= 1
    assert model.verdict_.status in ("trustworthy", "doubtful", "degenerate")
    assert name in repr(model)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-1, 1])]
    given = regressor(name).get_params()
    kind = {key: value for key, value in given.items() if key not in ("noise", "likelihood")}
    probability = PMCNetClassifier(**kind).fit(x, labels).predict_proba(x)
    assert probability.shape == (40, 3)
    assert np.allclose(probability.sum(1), 1)


@pytest.mark.parametrize("name", ALL)
def test_seed_decides_the_answer(name):
    x, y = rows()
    one, same = regressor(name).fit(x, y).predict(x), regressor(name).fit(x, y).predict(x)
    other = regressor(name, random_state=1).fit(x, y).predict(x)
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize("name", ALL)
def test_method_is_saved_and_loaded(name, tmp_path):
    x, y = rows()
    model = regressor(name).fit(x, y)
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m"))
    assert (loaded.predict(x) == model.predict(x)).all()
    assert loaded.verdict_ == model.verdict_
    assert loaded.posterior_.verdict == model.posterior_.verdict
    assert loaded.posterior_.log_evidence == pytest.approx(model.posterior_.log_evidence)
    assert loaded.thinned(5).predict(x).shape == (40,)


@pytest.mark.parametrize("name", ALL)
def test_bad_settings_are_refused(name):
    with pytest.raises(InputError, match=f"{name} has no setting magic"):
        options(name, {"magic": 1}, 100)
    batches = {"annealed": "n_particles", "laplace": "n_kept", "nuts": "n_draws"}.get(
        name, "batch_size"
    )
    with pytest.raises(InputError, match=batches):
        options(name, {batches: -3}, 100).method(name)
    with pytest.raises(InputError, match="must be a whole number"):
        options(name, {batches: "many"}, 100)


@pytest.mark.parametrize("name", TRAINED)
def test_baseline_trains_any_module(name):
    x = torch.randn(20, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 4),
        torch.nn.Linear(4, 3),
    )
    target = BayesianTarget(
        ModuleNetwork(module), Categorical(3), x, torch.arange(20).remainder(3).float()
    )
    method = options(name, TINY[name], 20).method(name)
    fitted = method.fit(target, seed=0, validation=(target.x[:5], target.y[:5]))
    assert fitted.posterior.predict(x).mean.shape == (20, 3)
    assert fitted.history[-1].validation_loss is not None


@pytest.mark.parametrize("name", [*TRAINED, *THEIRS])
def test_baseline_never_claims_to_be_the_posterior(name):
    x, y = rows()
    posterior = regressor(name).fit(x, y).posterior_
    assert posterior.verdict.status == "doubtful"
    assert posterior.log_evidence == -np.inf


@pytest.mark.parametrize("name", [*(name for name in TRAINED if name != "adam-mle"), *THEIRS])
def test_prior_of_a_baseline_is_searched_on_validation_rows(name):
    x, y = rows()
    model = regressor(name, prior_std="auto").fit(x, y)
    assert model.prior_std_ in [trial["sigma"] for trial in model.prior_trials_]
    with pytest.raises(InputError, match="needs the annealed method"):
        regressor(name, prior_std="evidence").fit(x, y)


def test_networks_of_an_ensemble_differ():
    x, y = rows()
    theta = regressor("ensemble").fit(x, y).posterior_.theta
    assert len(torch.unique(theta, dim=0)) == 3


def test_layers_of_the_network_are_those_asked_for():
    x, y = rows()
    network = regressor("mc-dropout", hidden_layer_sizes=(4, 2)).fit(x, y).posterior_.network
    assert isinstance(network, MLP)
    assert network.sizes == (3, 4, 2, 1)

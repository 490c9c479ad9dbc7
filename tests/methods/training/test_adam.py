from dataclasses import replace

import pytest
import torch

from pmcnet import rng
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Bernoulli,
    Gaussian,
    GaussianPrior,
    LearnedGaussian,
    ModuleNetwork,
    ResNet20,
)
from pmcnet.errors import InputError
from pmcnet.methods import Adam, Jitter, PMCMethod, Restarts, default_start
from pmcnet.methods.training.loop import scheduled


def regression(n=40):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    y = x @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) + 0.3
    return x, y + 0.2 * torch.randn(n, generator=generator, dtype=torch.float64)


def linear(objective_prior=1.0):
    x, y = regression()
    return BayesianTarget(MLP((3, 1)), Gaussian(0.2), x, y, prior=GaussianPrior(objective_prior))


def design(x):
    return torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)


def test_mle_of_a_linear_network_is_least_squares():
    target = linear()
    adam = Adam(learning_rate=0.02, batch_size=40, n_epochs=1500)
    found = adam.minimise(target, torch.zeros(2, 4, dtype=torch.float64), seed=0).theta
    expected = torch.linalg.lstsq(design(target.x), target.y[:, None]).solution[:, 0]
    torch.testing.assert_close(found, expected.expand(2, 4), rtol=1e-4, atol=1e-4)


def test_map_of_a_linear_network_is_ridge_regression():
    target = linear(0.1)
    a = design(target.x)
    ridge = torch.linalg.solve(
        a.mT @ a / 0.04 + torch.eye(4, dtype=torch.float64) / 0.01, a.mT @ target.y / 0.04
    )
    adam = Adam(objective="map", learning_rate=0.02, batch_size=40, n_epochs=1500)
    found = adam.minimise(target, torch.zeros(1, 4, dtype=torch.float64), seed=0).theta
    torch.testing.assert_close(found[0], ridge, rtol=1e-4, atol=1e-4)


def test_batch_of_runs_equals_single_runs():
    """Each network of a batch is trained as if it were alone."""
    target = linear()
    start = default_start(target, rng.streams(0, 0, 3))
    adam = Adam(n_epochs=5)
    together = adam.minimise(target, start, seed=1).theta
    alone = torch.cat([adam.minimise(target, row[None], seed=1).theta for row in start])
    torch.testing.assert_close(together, alone)


def test_best_validation_epoch_is_kept():
    target = linear()
    held_out = (target.x[:5], -target.y[:5])  # the longer it trains, the worse it gets there
    found = Adam(n_epochs=30).minimise(
        target, torch.zeros(1, 4).double(), seed=0, validation=held_out
    )
    assert int(found.epoch[0]) < 5
    last = Adam(n_epochs=30).minimise(target, torch.zeros(1, 4).double(), seed=0)
    assert int(last.epoch[0]) == 30


def test_progress_is_told_each_epoch():
    seen = []
    Adam(n_epochs=3).minimise(
        linear(),
        torch.zeros(1, 4).double(),
        seed=0,
        observers=[lambda _, info: seen.append(info[:2])],
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_start_lies_in_torchs_box():
    x, y = regression()
    target = BayesianTarget(MLP((3, 50, 1)), LearnedGaussian(-1.0), x, y)
    start = default_start(target, rng.streams(0, 0, 20))
    assert start[:, :200].abs().max() <= 3**-0.5
    assert start[:, 200:251].abs().max() <= 50**-0.5
    assert start[:, :200].abs().max() > 0.9 * 3**-0.5
    assert (start[:, -1] == -1.0).all()


def test_start_of_normalisation_layers_is_the_identity():
    network = ModuleNetwork(ResNet20())
    target = BayesianTarget(network, Bernoulli(), torch.zeros(1, 3, 32, 32), torch.zeros(1))
    (start,) = default_start(target, rng.streams(0, 0, 1))
    for p in network.layout:
        if p.is_bias and p.name != "14.bias":
            assert (start[p.start : p.stop] == (0.0 if p.name.endswith("bias") else 1.0)).all()


def test_restarts_differ_and_repeat():
    target = linear()
    start = Restarts(Adam(n_epochs=2))
    first = start(target, 4, seed=0)
    assert torch.equal(first, start(target, 4, seed=0))
    assert len(first.unique(dim=0)) == 4
    assert not torch.equal(first, start(target, 4, seed=1))


def test_jitter_surrounds_the_solution():
    target = linear()
    solution = torch.arange(4.0, dtype=torch.float64)
    points = Jitter(0.5, solution=solution)(target, 2000, seed=0)
    assert ((points.mean(0) - solution).abs() < 5 * 0.5 / 2000**0.5).all()
    assert abs(float((points - solution).std()) - 0.5) < 0.05
    trained = Jitter(0.0, adam=Adam(n_epochs=2))(target, 3, seed=0)
    assert len(trained.unique(dim=0)) == 1


def test_pmc_method_fits_a_linear_network():
    target = linear()
    method = PMCMethod(
        n_proposals=10,
        n_steps=5,
        sigma=0.05,
        start=Restarts(Adam(learning_rate=0.02, n_epochs=200)),
    )
    fit = method.fit(target, seed=0)
    assert len(fit.history) == 5
    assert fit.posterior.verdict.status == "trustworthy"
    a = design(target.x)
    mean = torch.linalg.solve(
        a.mT @ a / 0.04 + torch.eye(4, dtype=torch.float64), a.mT @ target.y / 0.04
    )
    samples = fit.posterior.samples
    assert ((samples.mean() - mean).abs() < 5 * samples.mean_error()).all()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Adam(objective="mode"), "objective must be"),
        (lambda: Adam(learning_rate=0.0), "learning_rate must be positive"),
        (lambda: Adam(batch_size=0), "batch_size and n_epochs"),
        (lambda: Jitter(-1.0), "scale must not be negative"),
    ],
)
def test_bad_settings_are_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()


def test_cosine_schedule_rises_falls_and_ends_near_zero():
    rates = [scheduled(0.1, "cosine", i / 1000) for i in range(1000)]
    top = rates.index(max(rates))
    assert 30 < top < 60
    assert rates == sorted(rates[:top]) + sorted(rates[top:], reverse=True)
    assert max(rates) <= 0.1
    assert rates[0] < 0.01
    assert rates[-1] < 1e-4
    assert {scheduled(0.1, "constant", i / 10) for i in range(10)} == {0.1}


def test_weight_decay_draws_unused_weights_to_zero():
    """A network whose rows do not count only decays: theta (1 - rate decay)^steps."""
    x = torch.ones(20, 2)
    target = BayesianTarget(MLP((2, 1)), Bernoulli(), x, torch.zeros(20), weight=torch.zeros(20))
    start = torch.ones(1, target.dim)
    found = Adam(learning_rate=0.1, weight_decay=0.5, batch_size=10, n_epochs=3).minimise(
        target, start, seed=0
    )
    torch.testing.assert_close(found.theta, start * 0.95**6)


@pytest.mark.parametrize(
    ("given", "text"), [({"schedule": "steps"}, "constant, cosine"), ({"weight_decay": -1}, "-1")]
)
def test_bad_schedules_are_refused(given, text):
    with pytest.raises(InputError, match=text):
        Adam(**given)


def test_equal_weights_count_every_draw_and_say_what_the_exact_ones_are_worth():
    target = linear()
    method = PMCMethod(n_proposals=3, n_steps=2, start=Jitter(0.1, Adam(n_epochs=2)))
    exact = method.fit(target, seed=0).posterior
    equal = replace(method, weights="equal").fit(target, seed=0).posterior
    assert torch.equal(equal.theta, exact.theta)
    assert equal.ess == equal.samples.n_draws
    assert f"{exact.ess:.1f} of {exact.samples.n_draws} draws" in equal.verdict.reason
    assert equal.verdict.status == "doubtful"
    with pytest.raises(InputError, match="exact, equal"):
        replace(method, weights="uniform")

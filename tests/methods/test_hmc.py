import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pmcnet import ais
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Categorical,
    Gaussian,
    GaussianPrior,
    LeNet5,
    ModuleNetwork,
)
from pmcnet.errors import DivergedError, InputError
from pmcnet.io.checkpoint import load_checkpoint, save_checkpoint
from pmcnet.methods import Adam, Restarts
from pmcnet.methods.energy_precision import MOST_ERROR, decisive
from pmcnet.methods.hmc import HMCMethod
from pmcnet.methods.sgmcmc.sghmc import SGHMC
from pmcnet.methods.training.state import TrainingState
from pmcnet.paper.problem import paper_problem

REFERENCE = Path(__file__).parents[1] / "statistical" / "nuts_reference.json"
START = Restarts(Adam(objective="map", n_epochs=60, batch_size=32, learning_rate=1e-2))
SIGMA, N = 0.5, 40


def linear():
    """A linear network with Gaussian noise and prior, its posterior's mean and deviations."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(N, 3, generator=source, dtype=torch.float64)
    y = (
        x @ torch.tensor([1.0, -1.0, 0.5]).double()
        + 0.3
        + SIGMA * torch.randn(N, generator=source).double()
    )
    design = torch.cat([x, torch.ones(N, 1).double()], 1)
    covariance = torch.linalg.inv(design.mT @ design / SIGMA**2 + torch.eye(4).double())
    mean = covariance @ design.mT @ y / SIGMA**2
    target = BayesianTarget(MLP((3, 1)), Gaussian(SIGMA), x, y, prior=GaussianPrior(1.0))
    return target, mean, covariance.diagonal().sqrt()


def test_hmc_reaches_the_posterior_of_a_linear_network():
    target, mean, deviation = linear()
    method = HMCMethod(
        n_chains=16, sampler=ais.HMCPopulation(n_warmup=60, n_draws=200), start=START
    )
    posterior = method.fit(target, seed=0).posterior
    chains = posterior.result.theta.double()  # (K, P, D)
    for value, expected in ((chains, mean), ((chains - mean).square(), deviation.square())):
        by_chain = value.mean(0)  # (P, D)
        error = by_chain.std(0) / 4
        assert ((by_chain.mean(0) - expected).abs() < 5 * error).all()
    assert posterior.verdict.status == "trustworthy", posterior.verdict
    assert posterior.ess > 500


@pytest.mark.parametrize(("metric", "step"), [("fisher", 1e-2), ("prior", 1e-4)])
def test_sghmc_reaches_the_posterior_of_a_linear_network(metric, step):
    """Full batches and small steps add a few percent. The prior is a hundred times as wide."""
    target, mean, deviation = linear()
    method = SGHMC(
        n_chains=200, n_cycles=1, metric=metric, step=step, batch_size=N, n_epochs=1500, n_kept=4000
    )
    theta = method.fit(target, seed=0).posterior.theta
    assert ((theta.mean(0) - mean).abs() < 5 * deviation / 200**0.5).all()
    assert torch.allclose(theta.std(0), deviation, rtol=0.1)


def test_steps_that_know_directions_reach_the_posterior_of_a_linear_network():
    """By single rows: gradients of more depend on where a chain is, and so does its step."""
    target, mean, deviation = linear()
    known = SGHMC(metric="kronecker", information=0.1, step=3e-4, n_cycles=1)
    method = replace(known, n_chains=200, batch_size=1, n_epochs=200, n_kept=4000)
    theta = method.fit(target, seed=0).posterior.theta
    assert ((theta.mean(0) - mean).abs() < 5 * deviation / 200**0.5).all()
    assert torch.allclose(theta.std(0), deviation, rtol=0.1)


def test_a_warm_up_on_mini_batches_leaves_the_mode_and_learns_the_scales():
    target, mean, deviation = linear()
    walk = SGHMC(n_cycles=1, exploration=0.0, step=1e-2, batch_size=20, n_epochs=400)
    found = walk.run(target, mean.repeat(100, 1), seed=0)
    assert torch.allclose(found.theta.std(0), deviation, rtol=0.4)
    assert torch.allclose(found.sigma, deviation, rtol=0.6)


def test_rows_that_count_several_times_have_the_scales_of_rows_that_are_there_so_often():
    target, *_ = linear()
    counted = replace(target, weight=torch.full_like(target.y, 9.0))
    there = replace(target, x=target.x.repeat(9, 1), y=target.y.repeat(9))
    walk = SGHMC(n_cycles=1, exploration=0.0, step=1e-3, batch_size=10)
    start = torch.zeros(50, target.dim).double()
    scales = [
        replace(walk, n_epochs=n).run(rows, start, seed=0).sigma
        for rows, n in ((counted, 900), (there, 100))
    ]
    # by squares of the last hundred batches, of which a quarter of the rows at a time shows less; 3
    # would be wrong
    torch.testing.assert_close(*scales, rtol=0.3, atol=0.0)


@pytest.mark.parametrize(("name", "variance"), [("ionosphere", 6.46), ("wine", 30.0)])
@pytest.mark.slow
def test_hmc_predicts_like_nuts(name, variance):
    problem = paper_problem(name, torch.device("cpu"))
    start = Restarts(Adam(objective="map", n_epochs=100, batch_size=32, learning_rate=1e-2))
    method = HMCMethod(
        n_chains=16, sampler=ais.HMCPopulation(n_warmup=100, n_draws=150), start=start
    )
    posterior = method.fit(problem.target(variance), seed=0).posterior
    expected = np.array(json.loads(REFERENCE.read_text())["problems"][name]["probability"])
    found = posterior.predict(problem.test[0]).mean.numpy()
    assert 0.5 * np.abs(found - expected).sum(-1).mean() < 0.012


def of_chains(act):
    """An observer of trajectories alone, not of the training before them."""
    return lambda state, info: act(state) if isinstance(state, ais.ChainState) else None


def test_a_run_goes_on_bit_for_bit():
    target, _, _ = linear()
    method = HMCMethod(n_chains=4, sampler=ais.HMCPopulation(n_warmup=6, n_draws=6), start=START)
    states = []
    whole = method.fit(target, seed=0, observers=[of_chains(states.append)]).posterior
    for state in (states[2], states[8]):
        again = method.fit(target, seed=0, state=state).posterior
        assert torch.equal(again.theta, whole.theta)


def test_a_state_on_disk_goes_on_bit_for_bit(tmp_path):
    target, _, _ = linear()
    method = HMCMethod(n_chains=4, sampler=ais.HMCPopulation(n_warmup=6, n_draws=6), start=START)
    files = []
    whole = method.fit(
        target,
        seed=1,
        observers=[of_chains(lambda s: files.append(ais.save_state(s, tmp_path / f"{s.step}")))],
    ).posterior
    for file in (files[0], files[7]):
        state = ais.load_state(file)
        assert isinstance(state, ais.ChainState)
        assert torch.equal(method.fit(target, seed=1, state=state).posterior.theta, whole.theta)


@pytest.mark.parametrize("metric", ["fisher", "prior", "kronecker"])
def test_a_walk_goes_on_bit_for_bit(tmp_path, metric):
    target, _, _ = linear()
    walk = SGHMC(n_cycles=1, exploration=0.0, heating=0.5, metric=metric, batch_size=20, n_epochs=4)
    method = HMCMethod(
        n_chains=4, sampler=ais.HMCPopulation(n_warmup=2, n_draws=2), start=START, burn_in=walk
    )
    files = []

    def keep(state, info):
        if getattr(info, "stage", None) == "burn-in":
            files.append(save_checkpoint(state, tmp_path / f"{state.epoch}"))

    whole = method.fit(target, seed=1, observers=[keep]).posterior
    assert len(files) == 4
    for file in files:
        again = method.fit(target, seed=1, state=load_checkpoint(file, [TrainingState])).posterior
        assert torch.equal(again.theta, whole.theta)


@pytest.mark.parametrize(
    ("metric", "exploration", "heating", "n_resting"),
    [
        ("kronecker", 0.0, 0.0, 4),
        ("kronecker", 0.0, 0.1, 2),
        ("kronecker", 0.5, 0.0, 0),
        ("fisher", 0.0, 0.0, 0),
    ],
)
def test_chains_from_networks_learn_their_directions_before_they_move(
    metric, exploration, heating, n_resting
):
    """Over a tenth of the steps, or half of those in which noise grows; draws come after."""
    target, mean, _ = linear()
    walk = SGHMC(
        n_cycles=1,
        exploration=exploration,
        heating=heating,
        metric=metric,
        batch_size=20,
        n_epochs=40,
    )
    walk = replace(walk, n_kept=40)
    seen, start = [], mean.repeat(2, 1)
    found = walk.run(
        target, start, seed=0, observers=[lambda s, _: seen.append(s.tensors["theta"].clone())]
    )
    assert [torch.equal(theta, start) for theta in seen] == [
        epoch < n_resting for epoch in range(40)
    ]
    assert len(found.draws) == 20 - n_resting // 2
    assert not torch.equal(found.draws[0], start)
    assert torch.equal(found.draws[-1], found.theta)


def test_chains_do_not_go_on_from_another_training():
    target, _, _ = linear()
    state = TrainingState({}, 1, 1, "fit")
    with pytest.raises(InputError, match="cannot go on from a state of a fit"):
        HMCMethod(n_chains=4, start=START).fit(target, seed=1, state=state)


def test_noise_that_grows_leaves_networks_at_their_modes_at_first():
    target, mean, _ = linear()
    settings = {"n_cycles": 1, "exploration": 0.0, "step": 1e-2, "batch_size": 20, "n_epochs": 400}
    away = []
    for heating in (0.0, 0.99):
        found = SGHMC(**settings, heating=heating, n_kept=4000).run(
            target, mean.repeat(100, 1), seed=0
        )
        away.append((found.draws - mean).square().mean((1, 2)))
    early, late = slice(0, 4), slice(-4, None)
    assert away[1][early].mean() < 0.3 * away[0][early].mean()
    assert away[1][late].mean() == pytest.approx(float(away[0][late].mean()), rel=0.5)


def test_steps_grow_with_the_noise_where_they_begin_short():
    """From rest a step is h C g plus noise sqrt(2 h C T), with the share of h that T allows."""
    target, mean, _ = linear()
    settings = {
        "n_cycles": 1,
        "exploration": 0.0,
        "last_step": 1.0,
        "friction": 1.0,
        "metric": "prior",
    }

    def velocities(start, cold):
        walk = SGHMC(**settings, heating=0.5, cold_step=cold, step=1e-4, batch_size=N, n_epochs=8)
        seen = []
        walk.run(
            target,
            start,
            seed=0,
            observers=[lambda s, _: seen.append(s.tensors["velocity"].clone())],
        )
        return torch.stack(seen)  # (8, 3, 4), with no friction left from one to the next

    away, at_mean = (mean + 1).repeat(3, 1), mean.repeat(3, 1)
    torch.testing.assert_close(
        velocities(away, 0.1)[0], 0.1 * velocities(away, 1.0)[0]
    )  # no noise yet
    short, long = (
        velocities(at_mean, cold)[1:].square().mean((1, 2)).sqrt() for cold in (0.1, 1.0)
    )  # noise alone
    share = 0.1 + 0.9 * torch.tensor([0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0]).double()
    torch.testing.assert_close(short / long, share.sqrt(), rtol=0.02, atol=0.0)
    with pytest.raises(InputError, match="cold_step must be above 0 and at most 1; got 0"):
        SGHMC(cold_step=0.0)


class Rough(ModuleNetwork):
    """Outputs rounded to 8 bits, as in a precision that not every processor has."""

    def __call__(self, theta, x):
        return super().__call__(theta, x).bfloat16().to(x)

    def in_full_precision(self):
        return ModuleNetwork(self.module)


def images(kind=ModuleNetwork):
    source = torch.Generator().manual_seed(0)
    x = torch.randn(60, 1, 28, 28, generator=source)
    y = (x.flatten(1)[:, :64].sum(1).div(8).add(2).mul(2.5)).clamp(0, 9.99).floor()
    network = kind(LeNet5(), example=x[:1])
    return BayesianTarget(network, Categorical(10), x, y, prior=GaussianPrior(0.3))


def test_rounding_is_measured_and_kept_below_a_tenth_of_a_nat():
    theta = 0.3 * torch.randn(4, images().dim, generator=torch.Generator().manual_seed(1))
    path = decisive(images(), theta)
    error = path.precision.error
    assert path._exact is None
    assert error < 1e-2
    rough = images(Rough)
    path = decisive(rough, theta)
    error = path.precision.error
    assert not isinstance((path._exact or path.target).network, Rough)
    assert error <= MOST_ERROR
    assert (
        float((rough.log_likelihood(theta) - images().log_likelihood(theta)).abs().max())
        > MOST_ERROR
    )


class Coarse(Rough):
    """Outputs in steps of 1/48: whether that is fine enough depends on where it is measured."""

    def __call__(self, theta, x):
        return ModuleNetwork.__call__(self, theta, x).mul(48).round().div(48)


def test_precision_is_that_of_the_start_when_a_run_goes_on():
    target, states = images(Coarse), []
    method = HMCMethod(
        n_chains=4,
        sampler=ais.HMCPopulation(n_warmup=2, n_draws=3, max_leapfrog=3),
        start=Restarts(Adam(objective="map", n_epochs=1, batch_size=20)),
    )
    whole = method.fit(target, seed=0, observers=[of_chains(states.append)]).posterior
    for state in states[:-1]:
        again = method.fit(target, seed=0, state=state).posterior
        assert torch.equal(again.theta, whole.theta)
        assert again.energy_error == whole.energy_error
    kinds = {decisive(target, state.points.theta).precision.deciding for state in states}
    assert kinds != {states[0].precision.deciding}  # measured elsewhere it would be another


def test_scales_that_are_not_to_adapt_stay():
    target, _, _ = linear()
    sampler = ais.HMCPopulation(n_warmup=6, n_draws=2, adapt_scale=False)
    scales = []
    HMCMethod(n_chains=4, sampler=sampler, start=START).fit(
        target, seed=1, observers=[of_chains(lambda state: scales.append(state.sigma))]
    )
    assert all(torch.equal(scale, scales[0]) for scale in scales)


def test_chains_without_a_walk_do_not_go_on_from_one():
    target, mean, _ = linear()
    state = TrainingState({"theta": mean.repeat(4, 1)}, 1, 1, "burn-in")
    with pytest.raises(InputError, match="without a burn-in"):
        HMCMethod(n_chains=4, start=START).fit(target, seed=1, state=state)


class RoughGradient(ModuleNetwork):
    """Gradients rounded to 8 bits; outputs are not."""

    def differentiable(self, theta, x):
        output, pull = super().differentiable(theta, x)
        return output, lambda gradient: pull(gradient).bfloat16().to(x)

    def in_full_precision(self):
        return ModuleNetwork(self.module)


def test_gradients_are_in_a_precision_that_keeps_to_the_energy():
    theta = 0.3 * torch.randn(2, images().dim, generator=torch.Generator().manual_seed(1))
    sigma = torch.full((images().dim,), 0.003)
    fine = images()
    path = decisive(fine, theta, sigma)
    error = path.precision.error
    assert path.target is fine
    assert error < MOST_ERROR
    rough = images(RoughGradient)
    path = decisive(rough, theta, sigma)
    error = path.precision.error
    assert not isinstance(path.target.network, RoughGradient)
    assert path._exact is rough  # whose values are as good
    assert error < MOST_ERROR
    path = decisive(rough, theta)  # no scales, no measurement
    assert not isinstance(path.target.network, RoughGradient)


def test_deep_networks_are_sampled_from_a_walk():
    target = images()
    walk = SGHMC(n_cycles=1, exploration=0.0, batch_size=20, n_epochs=2)
    sampler = ais.HMCPopulation(n_warmup=2, n_draws=2, max_leapfrog=3)
    fit = HMCMethod(
        n_chains=2,
        sampler=sampler,
        start=Restarts(Adam(objective="map", n_epochs=1, batch_size=20)),
        burn_in=walk,
    ).fit(target, seed=0)
    assert fit.posterior.theta.shape == (4, target.dim)
    assert [line.warming for line in fit.history] == [True, True, False, False]
    assert fit.posterior.verdict.status == "degenerate"


@pytest.mark.parametrize("metric", ["prior", "kronecker"])
def test_chains_that_diverge_are_refused_with_a_remedy(metric):
    target, _, _ = linear()
    method = SGHMC(n_chains=2, n_cycles=1, metric=metric, step=1e6, batch_size=20, n_epochs=400)
    with pytest.raises(DivergedError, match="Use a smaller step"):
        method.fit(target, seed=0)


def test_a_walk_that_diverges_is_refused_with_a_remedy():
    """A search of the prior counts it as the worst, where any other error would end the fit."""
    walk = SGHMC(n_cycles=1, exploration=0.0, metric="prior", step=1e6, batch_size=20, n_epochs=20)
    method = HMCMethod(n_chains=2, start=START, burn_in=walk)
    with pytest.raises(DivergedError, match="smaller"):
        method.fit(linear()[0], seed=0)


def test_chains_are_exported_as_chains():
    pytest.importorskip("arviz_base")
    sampler = ais.HMCPopulation(n_warmup=5, n_draws=6)
    posterior = (
        HMCMethod(n_chains=3, sampler=sampler, start=START).fit(linear()[0], seed=0).posterior
    )
    found = posterior.to_arviz()["posterior"]
    assert (found.sizes["chain"], found.sizes["draw"]) == (3, 6)
    bias = posterior.result.theta[..., -1].T
    assert torch.equal(torch.as_tensor(list(found.data_vars.values())[-1].values)[..., 0], bias)
    assert posterior.to_arviz(11)["posterior"].sizes["draw"] == 3
    assert posterior.to_arviz(11).attrs["n_resampled"] == 9


def test_time_that_ends_before_the_first_draw_is_told():
    with pytest.raises(InputError, match="before their first draw"):
        HMCMethod(n_chains=2, start=START).fit(linear()[0], seed=0, max_seconds=1e-9)


def test_a_walk_before_corrected_chains_keeps_no_draws():
    seen = []
    walk = SGHMC(n_cycles=1, exploration=0.0, batch_size=20, n_epochs=2)
    sampler = ais.HMCPopulation(n_warmup=2, n_draws=2)
    HMCMethod(n_chains=2, sampler=sampler, start=START, burn_in=walk).fit(
        linear()[0], seed=0, observers=[lambda *given: seen.append(given)]
    )
    kept = [len(s.tensors["draws"]) for s, info in seen if getattr(info, "stage", "") == "burn-in"]
    assert kept == [0, 0]


def test_one_chain_is_refused_before_anything_is_trained():
    with pytest.raises(InputError, match="n_chains must be at least 2"):
        HMCMethod(n_chains=1)


def test_in_the_metric_of_the_prior_steps_are_as_wide_as_the_prior():
    target, mean, _ = linear()
    wide = replace(target, prior=GaussianPrior(7.0))
    found = SGHMC(n_cycles=1, exploration=0.0, metric="prior", step=1e-9, batch_size=N, n_epochs=1)
    assert torch.allclose(found.run(wide, mean[None], seed=0).sigma, torch.full((4,), 7.0).double())


@pytest.mark.parametrize(
    "setting",
    [
        {"friction": 0.0},
        {"exploration": 1.0},
        {"step": -1.0},
        {"n_cycles": 0},
        {"metric": "hessian"},
        {"information": 0.0},
    ],
)
def test_impossible_settings_of_sghmc_are_refused(setting):
    with pytest.raises(InputError):
        replace(SGHMC(), **setting)

"""Chains that diverge are reset, and nothing else changes."""

from dataclasses import replace

import pytest
import torch

from pmcnet.bnn import MLP, BayesianTarget, Gaussian, GaussianPrior
from pmcnet.bnn.networks.base import Layout
from pmcnet.errors import DivergedError
from pmcnet.methods.sgmcmc.diagonal_metric import Diagonal
from pmcnet.methods.sgmcmc.kronecker_metric import Kronecker
from pmcnet.methods.sgmcmc.resets import Resets
from pmcnet.methods.sgmcmc.sghmc import REASON, SGHMC
from pmcnet.methods.training.state import EpochInfo, TrainingState

N, D, P = 40, 4, 3
WALK = SGHMC(n_cycles=1, exploration=0.0, last_step=1.0, step=1e-2, batch_size=20, n_epochs=30)
FAR = 2 * D + 50.0  # nats


@pytest.fixture
def chains():
    """Where they are, their velocities, a metric that knows something, and who sends them back."""
    theta, metric = torch.arange(12.0).reshape(P, D), Diagonal(torch.ones(D), 1.0)
    metric.learn(torch.full((P, D), 3.0), 0)
    return theta, torch.ones(P, D), metric, Resets(theta, torch.zeros(P), metric)


def epoch(chains, level, *, to=None, searching=False):
    """An epoch that takes all chains to this place, with these log-likelihoods."""
    theta, velocity, metric, resets = chains
    resets.begin(theta)
    metric.learn(torch.full((P, D), 1e9), 5)
    if to is not None:
        theta.fill_(to)
    return resets.judge(torch.tensor(level), theta, velocity, searching=searching).tolist()


def test_a_chain_may_fall_as_far_as_heat_can_carry_it(chains):
    assert epoch(chains, [1.0 - FAR, 7.0, -3.0], to=1.0) == [False] * P
    assert (chains[0] == 1).all()
    assert (chains[1] == 1).all()
    assert chains[3].n_resets.tolist() == [0] * P


@pytest.mark.parametrize("level", [-1 - FAR, float("nan"), float("-inf")])
def test_a_diverged_chain_is_reset_to_the_last_place_known_to_be_good(chains, level):
    """Not to the beginning of the epoch: it may have diverged in the last step before."""
    epoch(chains, [0.0] * P, to=1.0)  # what began at the first place is good
    epoch(chains, [0.0] * P, to=2.0)
    assert epoch(chains, [0.0, level, 0.0], to=3.0) == [False, True, False]
    theta, velocity, _, resets = chains
    assert theta[:, 0].tolist() == [3, 1, 3]
    assert velocity[:, 0].tolist() == [1, 0, 1]
    assert resets.n_resets.tolist() == [0, 1, 0]


def test_a_level_that_chains_may_not_fall_below_is_that_of_the_last_good_epoch(chains):
    epoch(chains, [100.0] * P)
    assert epoch(chains, [101 - FAR] * P) == [False] * P
    assert (
        epoch(chains, [102 - 2 * FAR] * P) == [False] * P
    )  # far below the first, not below the last
    assert epoch(chains, [101 - 3 * FAR] * P) == [True] * P
    assert epoch(chains, [101 - 3 * FAR] * P) == [True] * P  # the level has stayed


def test_the_metric_is_reset_with_a_diverged_chain(chains):
    _, _, metric, _ = chains
    before = metric.square.clone()
    epoch(chains, [-1 - FAR, 0.0, 0.0])
    assert torch.equal(metric.square, before)
    epoch(chains, [0.0] * P)
    assert (metric.square > 2 * before).all()


def test_steps_of_a_diverged_chain_are_half_as_long_and_grow_back(chains):
    *_, resets = chains
    one = torch.ones(P, D)
    assert resets.shortened(one, one) == (one, one)
    epoch(chains, [0.0, -1 - FAR, 0.0])
    for n in range(11):
        resets.begin(chains[0])
        gradient, noise = resets.shortened(one, one)
        expected = torch.tensor([1.0, min(1.0, 0.5 * 2 ** (n / 10)), 1.0])
        torch.testing.assert_close(gradient[:, 0], expected)
        torch.testing.assert_close(noise[:, 0], expected.sqrt())
        epoch(chains, [0.0] * P)
    resets.begin(chains[0])
    assert resets.shortened(one, one) == (one, one)


def test_the_metric_of_directions_is_reset_for_diverged_chains_alone():
    layout = Layout.of([("a.weight", (2, 2)), ("a.bias", (2,))])
    metric = Kronecker(layout, torch.ones(6), 1.0, P)
    for n in range(4):
        metric.learn(torch.randn(P, 6, generator=torch.Generator().manual_seed(n)), n)
    metric.renew()
    before = {name: part.clone() for name, part in metric.parts.items()}
    metric.learn(torch.full((P, 6), 5.0), 4)
    metric.renew()
    now = {name: part.clone() for name, part in metric.parts.items()}
    metric.reset(before, torch.tensor([True, False, False]))
    for name in ("learned", "used", "known", "seen"):
        torch.testing.assert_close(metric.parts[name][0], before[name][0])
        torch.testing.assert_close(metric.parts[name][1:], now[name][1:])
    torch.testing.assert_close(metric.parts["square"], before["square"])


def test_a_search_for_a_mode_is_let_go(chains):
    assert epoch(chains, [-1e9] * P, to=7.0, searching=True) == [False] * P
    assert (chains[0] == 7).all()


def test_a_chain_that_steps_of_a_thousandth_throw_has_diverged(chains):
    for _ in range(10):
        epoch(chains, [-1e9, 0.0, 0.0])
    with pytest.raises(DivergedError, match="Use a smaller step"):
        epoch(chains, [-1e9, 0.0, 0.0])


def test_a_chain_that_diverges_in_every_other_epoch_ends_the_fit(chains):
    """Few batches: what the steps of an epoch have done is seen only in the next."""

    def every_other(n):
        for _ in range(n):
            epoch(chains, [0.0] * P)
            epoch(chains, [-1e9, 0.0, 0.0])

    every_other(10)
    with pytest.raises(DivergedError, match="Use a smaller step"):
        every_other(2)


def linear():
    """A linear network with Gaussian noise and prior, and a place near its mode."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(N, 3, generator=source, dtype=torch.float64)
    true = torch.tensor([1.0, -1.0, 0.5, 0.3]).double()
    y = x @ true[:3] + true[3] + 0.5 * torch.randn(N, generator=source).double()
    return BayesianTarget(MLP((3, 1)), Gaussian(0.5), x, y, prior=GaussianPrior(1.0)), true


@pytest.mark.parametrize("metric", ["fisher", "prior", "kronecker"])
def test_a_run_without_diverged_chains_is_the_same_to_the_bit(metric, monkeypatch):
    target, true = linear()
    walk = replace(WALK, metric=metric, step=1e-4)
    watched = walk.run(target, true.repeat(P, 1), seed=0)
    assert watched.n_resets.tolist() == [0] * P
    monkeypatch.setattr(Resets, "judge", lambda self, *_, **__: torch.zeros(P, dtype=torch.bool))
    alone = walk.run(target, true.repeat(P, 1), seed=0)
    assert torch.equal(watched.theta, alone.theta)
    assert torch.equal(watched.draws, alone.draws)
    assert torch.equal(watched.sigma, alone.sigma)


@pytest.mark.parametrize("diverged_at", [3, 11, 30])
def test_a_run_with_a_diverged_chain_is_as_good_as_one_without(diverged_at):
    """The chain diverges between two epochs, which is seen when the next is over."""
    target, true = linear()

    def diverge(state: TrainingState, info: EpochInfo) -> None:
        if state.epoch == diverged_at:
            state.tensors["theta"][1] = 1e6

    walk = WALK.run(target, true.repeat(P, 1), seed=0, observers=[diverge])
    assert walk.n_resets.tolist() == [0, 1, 0]
    assert (walk.theta - true).abs().max() < 1
    assert (walk.draws - true).abs().max() < 1


def test_a_run_goes_on_to_the_bit_from_between_a_divergence_and_its_reset():
    target, true = linear()
    kept = {}

    def diverge(state: TrainingState, info: EpochInfo) -> None:
        if state.epoch == 7:
            state.tensors["theta"][1] = 1e6
        kept[state.epoch] = state._replace(tensors={n: t.clone() for n, t in state.tensors.items()})

    whole = WALK.run(target, true.repeat(P, 1), seed=0, observers=[diverge])
    for epoch_done in (6, 7, 8):
        state = kept[epoch_done]
        again = WALK.run(target, true.repeat(P, 1), seed=0, state=state, observers=[diverge])
        assert torch.equal(again.theta, whole.theta)
        assert torch.equal(again.draws, whole.draws)
        assert torch.equal(again.n_resets, whole.n_resets)


def test_a_fit_says_that_its_steps_were_too_long():
    target, _ = linear()
    calm = replace(WALK, n_chains=2, n_epochs=200, exploration=0.5)
    assert calm.fit(target, seed=0).posterior.verdict.reason == REASON
    reason = replace(calm, step=10.0).fit(target, seed=0).posterior.verdict.reason
    assert reason.startswith(REASON)
    assert "Chains diverged and were reset" in reason

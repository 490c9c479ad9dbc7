"""Many chains: groups count as islands, and a run ends when its predictions are known."""

import math
from dataclasses import replace

import pytest
import torch

from pmcnet import ais
from pmcnet.ais.agreement import Agreement
from pmcnet.ais.hmc.groups import agreement, averaged, n_islands
from pmcnet.ais.hmc.kept_draws import stride_of
from pmcnet.ais.verdict import chain_verdict, needs_no_more
from pmcnet.errors import InputError

DIM = 4


class Normal:
    """N(0, I)."""

    dim = DIM

    def log_prior(self, theta):
        return -0.25 * theta.square().sum(-1)

    def log_likelihood(self, theta):
        return -0.25 * theta.square().sum(-1)

    def sample_prior(self, sources, n_draws):
        raise NotImplementedError


OPEN = ais.HMCPopulation(n_warmup=10, n_draws=400, most_kept=16, until_known=True)


def begun(sampler, n_chains=64, where=0.0):
    path = ais.Path(Normal())
    start = where + torch.randn(n_chains, DIM, dtype=torch.float64, generator=_generator())
    return path, sampler.init(path, start, seed=1)


def _generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="module")
def ended():
    path, state = begun(OPEN)
    states = []
    return ais.run(OPEN, path, state, observers=[lambda s, _: states.append(s)]), states, path


@pytest.mark.parametrize(("n", "islands"), [(4, 4), (16, 16), (32, 8), (36, 36), (128, 8)])
def test_many_chains_are_eight_islands(n, islands):
    assert n_islands(n) == islands


@pytest.mark.parametrize(
    ("n", "most", "stride"),
    [(1, 8, 1), (8, 8, 1), (16, 8, 2), (17, 8, 2), (18, 8, 4), (100, 8, 16), (100, None, 1)],
)
def test_draws_are_kept_at_the_least_stride_that_leaves_few(n, most, stride):
    assert stride_of(n, most) == stride
    assert most is None or n // stride <= most


def test_run_ends_when_predictions_are_known(ended):
    result, states, _ = ended
    assert result.finished
    assert len(states) < OPEN.n_steps
    assert states[-1].ended
    assert not any(state.ended for state in states[:-1])
    assert states[-1].agreement.median <= 0.05


def test_verdict_names_the_groups(ended):
    result, _, path = ended
    verdict = chain_verdict(result, agreement(result.theta, path))
    assert verdict.status == "trustworthy", verdict
    assert "8 groups of 8 chains" in verdict.reason


def test_latest_two_thirds_of_the_draws_count(ended):
    result, states, _ = ended
    n = len(states[-1].kept)
    assert len(result.theta) == math.ceil(2 * n / 3)
    assert torch.equal(result.theta, states[-1].kept[-len(result.theta) :])


def test_run_goes_on_from_a_state_with_the_same_bits(ended):
    result, states, path = ended
    again = ais.run(OPEN, path, states[len(states) // 2])
    assert torch.equal(again.theta, result.theta)


def test_kept_draws_are_those_at_multiples_of_the_stride():
    sampler = replace(OPEN, until_known=False, n_draws=41)
    path, state = begun(sampler, n_chains=4)
    everything = ais.run(replace(sampler, most_kept=None), path, state).theta  # (41, P, D)
    few = ais.run(sampler, path, state).theta
    stride = stride_of(41, 16)
    assert torch.equal(few, everything[stride - 1 :: stride])


def test_clock_ends_a_run_that_has_draws_to_judge():
    sampler = replace(OPEN, max_seconds=1e-9)
    result = ais.run(sampler, *begun(sampler))
    assert len(result.history) - sampler.n_warmup == 8


def test_averaged_draws_are_chain_by_chain_and_at_most_2048():
    theta = torch.arange(40 * 128.0).reshape(40, 128, 1)
    found = averaged(theta)
    assert found.shape == (2048, 1)
    chain = found.reshape(128, 16) % 128
    assert torch.equal(chain, torch.arange(128.0)[:, None].expand(128, 16))


def _result(between, change=0.0, n_chains=64, n_draws=24):
    """Chains whose means differ by `between` of the spread within; log pi rises by `change`."""
    source = _generator()
    theta = torch.randn(n_draws, n_chains, DIM, dtype=torch.float64, generator=source)
    theta += between * torch.randn(n_chains, DIM, dtype=torch.float64, generator=source)
    noise = torch.randn(n_draws, n_chains, dtype=torch.float64, generator=source)
    log_density = noise + change * torch.linspace(0, 1, n_draws, dtype=torch.float64)[:, None]
    return ais.ChainResult(theta, log_density, theta, (), True)


def _judged(result):
    return chain_verdict(result, agreement(result.theta, ais.Path(Normal())))


@pytest.mark.parametrize(
    ("between", "change", "status", "says"),
    [
        (3.0, 0.0, "doubtful", "groups of chains disagree"),
        (30.0, 0.0, "degenerate", "where they began"),
        (0.0, 2.0, "doubtful", "all chains still drift alike"),
    ],
)
def test_groups_are_doubtful_or_degenerate(between, change, status, says):
    verdict = _judged(_result(between, change))
    assert (verdict.status, says in verdict.reason) == (status, True), verdict


def test_small_drift_of_many_chains_is_no_drift():
    """With many chains it is significant long before it matters."""
    result = _result(0.0, change=0.1, n_chains=2048)
    assert result.drift > 4
    assert result.drift_size < 0.1
    assert "drift alike" not in _judged(result).reason


def test_chains_in_modes_of_their_own_are_doubtful_however_well_groups_agree():
    result = _result(3.0, n_chains=8192, n_draws=8)
    verdict = _judged(result)
    assert (verdict.status, "training left it" in verdict.reason) == ("doubtful", True), verdict


KNOWN = Agreement("values", 8, 0.03, 0.05, 0.01, 1.02, 0.0, 300.0)
ROUGH = KNOWN._replace(median=0.045)  # within the limits, and above the share at which runs end


@pytest.mark.parametrize(
    ("between", "change", "found", "ends"),
    [
        (0.0, 0.0, KNOWN, True),
        (0.0, 0.0, ROUGH, False),
        (0.0, 2.0, KNOWN, False),  # log pi drifts
        (0.5, 2.0, KNOWN, False),  # near modes, which time may join
        (3.0, 2.0, ROUGH, True),  # far modes, which it does not
        (3.0, 0.0, KNOWN._replace(median=0.06), False),
        (3.0, 0.0, KNOWN._replace(drift=0.3), False),  # predictions shift
    ],
)
def test_runs_end_where_more_time_changes_little(between, change, found, ends):
    result = _result(between, change)
    assert (result.separation > 1.5) == (between > 1)
    assert needs_no_more(result, found) == ends


def test_few_chains_never_need_no_more():
    assert not needs_no_more(_result(0.0, n_chains=3), KNOWN._replace(n_islands=3))


def test_too_few_draws_to_judge_are_refused():
    with pytest.raises(InputError, match="most_kept must be a whole number, at least 8"):
        ais.HMCPopulation(most_kept=4)

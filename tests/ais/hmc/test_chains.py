import math
from dataclasses import replace

import pytest
import torch

from pmcnet import ais
from pmcnet.ais.hmc.result import ChainResult
from pmcnet.ais.verdict import max_chain_drift
from pmcnet.errors import InputError, TargetError

D = 1000


class Normal:
    """Independent normal coordinates; everything is in the likelihood."""

    memory = 1 << 30

    def __init__(self, sigma):
        self.sigma, self.dim = sigma, len(sigma)

    def log_prior(self, theta):
        return torch.zeros_like(theta[:, 0])

    def prior_and_score(self, theta):
        return ais.ValueAndScore(self.log_prior(theta), torch.zeros_like(theta))

    def log_likelihood(self, theta):
        return -0.5 * (theta / self.sigma).square().sum(-1)

    def likelihood_and_score(self, theta):
        return ais.ValueAndScore(self.log_likelihood(theta), -theta / self.sigma**2)

    def sample_prior(self, sources, n_draws):
        raise NotImplementedError


WIDE = Normal(torch.logspace(-2, 1, D, dtype=torch.float64))
FEW = Normal(torch.logspace(-1, 1, 6, dtype=torch.float64))
SHORT = ais.HMCPopulation(n_warmup=12, n_draws=8)


def started(sampler=SHORT, target=FEW, n_chains=4, seed=1, path=None):
    path = path or ais.Path(target)
    source = torch.Generator().manual_seed(0)
    theta = target.sigma * torch.randn(n_chains, target.dim, generator=source, dtype=torch.float64)
    return path, sampler.init(path, theta, seed=seed)


@pytest.fixture(scope="module")
def wide():
    """16 chains, all from the mode, where the score is zero."""
    sampler, path = ais.HMCPopulation(n_warmup=100, n_draws=100), ais.Path(WIDE)
    return ais.run(
        sampler, path, sampler.init(path, torch.zeros(16, D, dtype=torch.float64), seed=0)
    )


def test_a_gaussian_of_many_scales_has_its_moments(wide):
    white = wide.theta / WIDE.sigma  # (K, P, D)
    by_chain = white.mean(0)  # (P, D): chains are independent, so their spread gives the errors
    mean_error = by_chain.std(0) / math.sqrt(16)
    assert (
        white.mean((0, 1)).abs() / mean_error
    ).square().mean().sqrt() < 1.5  # Student's t with 15 degrees: 1.07
    variances = white.square().mean(0)  # (P, D)
    total, error = variances.mean(), variances.mean(1).std() / math.sqrt(16)
    assert abs(float(total) - 1) < 5 * float(error)
    assert (
        (variances.mean(0) - 1).abs() / (variances.std(0) / math.sqrt(16))
    ).square().mean().sqrt() < 1.5


def test_chains_that_agree_are_trusted(wide):
    assert wide.verdict.status == "trustworthy", wide.verdict
    assert wide.rhat < 1.05
    assert wide.ess > 500
    assert abs(wide.drift) < 4


def test_the_preconditioner_finds_the_scales(wide):
    """Well scaled, a unit trajectory takes a dozen steps; unscaled it would take a thousand."""
    assert max(line.n_leapfrog for line in wide.history[-100:]) < 40


def test_settings_are_frozen_when_draws_begin(wide):
    counted = [line for line in wide.history if not line.warming]
    assert len(counted) == 100
    assert len({line.step_size for line in counted}) == 1


def test_a_run_that_is_continued_is_the_same():
    path, state = started()
    whole = ais.run(SHORT, path, state)
    for stop in (1, 5, 12, 15):
        states = []
        ais.run(SHORT, path, state, observers=[lambda s, _, kept=states: kept.append(s)])
        again = ais.run(SHORT, ais.Path(FEW), states[stop - 1])
        assert torch.equal(again.theta, whole.theta)
        assert torch.equal(again.log_density, whole.log_density)


def test_seeds_decide():
    assert torch.equal(ais.run(SHORT, *started()).theta, ais.run(SHORT, *started()).theta)
    assert not torch.equal(ais.run(SHORT, *started(seed=2)).theta, ais.run(SHORT, *started()).theta)


def test_thinning_keeps_every_second():
    path, state = started(replace(SHORT, thin=2))
    result = ais.run(replace(SHORT, thin=2), path, state)
    assert result.theta.shape == (8, 4, 6)
    assert len(result.history) == 12 + 16


def test_values_of_the_exact_target_decide():
    """Gradients of a slightly wrong target cost acceptance; draws are those of the exact one."""
    rough = Normal(FEW.sigma * 1.1)
    sampler = ais.HMCPopulation(n_warmup=100, n_draws=400)
    path, state = started(sampler, FEW, 16, path=ais.Path(rough, exact=FEW))
    variances = (ais.run(sampler, path, state).theta / FEW.sigma).square().mean(0)  # (P, D)
    error = variances.std(0) / math.sqrt(16)
    assert ((variances.mean(0) - 1).abs() < 5 * error).all()


def drifting(slope):
    source = torch.Generator().manual_seed(0)
    log_density = (
        torch.randn(60, 8, generator=source).double() + slope * torch.arange(60.0)[:, None]
    )
    monitors = torch.randn(60, 8, 3, generator=source).double()
    return ChainResult(torch.zeros(60, 8, 2), log_density, monitors, (), True)


def test_a_drift_of_log_pi_is_doubtful():
    assert drifting(0.0).verdict.status == "trustworthy"
    assert drifting(0.1).verdict.status == "doubtful"
    assert "drifts" in drifting(0.1).verdict.reason


@pytest.mark.parametrize("n_chains", [2, 4, 16])
def test_one_chain_that_drifts_alone_is_doubtful(n_chains):
    """Its change is its error, so that the mean over chains hides it."""
    source = torch.Generator().manual_seed(0)
    log_density = torch.randn(200, n_chains, generator=source).double()
    monitors = torch.randn(200, n_chains, 3, generator=source).double()
    level = ChainResult(torch.zeros(200, n_chains, 2), log_density, monitors, (), True)
    assert level.verdict.status == "trustworthy"
    log_density = log_density.clone()
    log_density[:, 0] += torch.linspace(0, 20, 200).double()
    alone = replace(level, log_density=log_density)
    assert abs(alone.drift) < max_chain_drift(n_chains)
    assert alone.verdict.status == "doubtful"
    assert "log pi of single chains has not settled" in alone.verdict.reason


def test_chains_at_different_heights_that_do_not_drift_are_at_rest():
    level = drifting(0.0)
    apart = replace(level, log_density=level.log_density + 100 * torch.arange(8.0))
    assert apart.log_density_rhat == pytest.approx(level.log_density_rhat, rel=1e-6)
    assert apart.verdict.status == "trustworthy"


def test_few_chains_that_do_not_drift_are_seldom_said_to():
    """Standard errors of few chains are uncertain: of two, one in seven is beyond four."""
    source = torch.Generator().manual_seed(0)
    draws = torch.randn(2000, 30, 2, generator=source).double()
    found = [ChainResult(one, one, one[..., None], (), True).drift for one in draws]
    assert sum(abs(drift) > 4 for drift in found) > 200
    assert sum(abs(drift) > max_chain_drift(2) for drift in found) <= 8  # of 2 expected
    assert max_chain_drift(16) == pytest.approx(4.07, abs=0.01)


def test_chains_that_predict_differently_are_doubtful_or_worse():
    level = drifting(0.0)
    apart = replace(level, monitors=level.monitors + torch.arange(8.0)[:, None])
    assert apart.rhat > 2
    assert apart.verdict.status == "degenerate"
    near = replace(level, monitors=level.monitors + 0.2 * torch.arange(8.0)[:, None])
    assert 1.05 < near.rhat < 2
    assert near.verdict.status == "doubtful"
    assert apart.disagreement[1] > 10 * level.disagreement[1]


def test_chains_that_stand_still_apart_are_degenerate():
    """R-hat of what never changes within chains is infinite, not unknown."""
    mixed = torch.randn(8, 20, 2, generator=torch.Generator().manual_seed(2)).double()
    stuck = (torch.arange(20) < 10).double().expand(8, 20)[..., None]
    apart = ChainResult(mixed, mixed[..., 0], torch.cat([stuck, mixed], dim=-1), (), True)
    assert replace(apart, monitors=mixed).rhat < 1.05
    assert apart.rhat == math.inf
    assert apart.verdict.status == "degenerate"


def test_a_log_density_that_is_not_a_number_is_no_rest():
    level = drifting(0.0)
    lost = replace(
        level, log_density=torch.where(torch.arange(8) == 3, math.nan, level.log_density)
    )
    assert lost.drift == math.inf
    assert lost.verdict.status == "doubtful"


def test_of_one_chain_alone_the_drift_is_not_known():
    level = drifting(0.1)
    assert replace(level, log_density=level.log_density[:, :1]).drift == math.inf


def test_acceptance_is_that_of_all_trajectories_when_a_run_goes_on():
    states = []
    path, state = started(SHORT)
    whole = ais.run(SHORT, path, state, observers=[lambda state, _: states.append(state)])
    counted = [line.acceptance for line in whole.history if not line.warming]
    assert whole.acceptance == pytest.approx(sum(counted) / len(counted))
    for state in (states[SHORT.n_warmup], states[-1]):
        assert ais.run(SHORT, path, state).acceptance == whole.acceptance
    rejecting = replace(drifting(0.0), acceptance=0.17)
    assert rejecting.verdict.status == "doubtful"
    assert "17%" in rejecting.verdict.reason


def test_too_few_draws_are_degenerate():
    level = drifting(0.0)
    few = ChainResult(level.theta[:3], level.log_density[:3], level.monitors[:3], (), False)
    assert few.verdict.status == "degenerate"
    assert few.rhat == math.inf


def test_draws_need_not_be_kept():
    """Observers then see each of them; what chains are judged by is kept all the same."""
    seen = []
    sampler = replace(SHORT, keep=False)
    path, state = started(sampler)
    lean = ais.run(
        sampler,
        path,
        state,
        observers=[lambda s, r: None if r.warming else seen.append(s.points.theta)],
    )
    whole = ais.run(SHORT, *started())
    assert lean.theta.shape == (0, 4, 6)
    assert torch.equal(torch.stack(seen), whole.theta)
    assert torch.equal(lean.monitors, whole.monitors)
    assert lean.rhat == whole.rhat


def test_time_ends_a_run():
    result = ais.run(SHORT, *started(), max_seconds=1e-9)
    assert len(result.history) == 1
    assert not result.finished


@pytest.mark.parametrize(
    "setting", [{"n_warmup": 0}, {"n_draws": 1}, {"thin": 0}, {"max_leapfrog": 0}]
)
def test_impossible_settings_are_refused(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        ais.HMCPopulation(**setting)


def test_one_chain_is_refused():
    with pytest.raises(InputError, match="at least 2 chains"):
        started(n_chains=1)


def test_a_start_without_density_is_refused():
    path = ais.Path(FEW)
    with pytest.raises(TargetError):
        SHORT.init(path, torch.full((2, 6), math.inf, dtype=torch.float64), seed=0)

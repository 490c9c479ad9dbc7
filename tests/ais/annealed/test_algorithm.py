"""The annealed sampler: reproducible, resumable, independent of chunks, honest about bad input."""

import math
from dataclasses import replace

import pytest
import torch

from pmcnet import ais, rng
from pmcnet.ais import analytic
from pmcnet.ais.annealed.drift import Drift
from pmcnet.errors import DegenerateWeightsError, InputError, TargetError

SAMPLER = ais.AnnealedPMC(n_particles=200)


class Banana:
    """The least that can be annealed: a prior that can be drawn from, and a likelihood."""

    dim = 2

    def __init__(self, shift=0.0):
        self.shift = shift

    def log_prior(self, theta):
        return -0.5 * (theta / 3).square().sum(-1) - 2 * math.log(3) - math.log(2 * math.pi)

    def log_likelihood(self, theta):
        return -2 * (theta[:, 1] + theta[:, 0].square() - 1).square() + self.shift

    def sample_prior(self, sources, n_draws):
        return 3 * rng.standard_normal(
            sources, (n_draws, 2), like=torch.zeros((), dtype=torch.float64)
        )


def test_run_with_the_same_seed_is_the_same():
    first, second = SAMPLER.run(Banana(), seed=4), SAMPLER.run(Banana(), seed=4)
    assert torch.equal(first.samples.theta, second.samples.theta)
    assert first.log_evidence == second.log_evidence
    assert SAMPLER.run(Banana(), seed=5).log_evidence != first.log_evidence


def test_run_continued_from_any_state_is_the_same():
    states = []
    whole = SAMPLER.run(Banana(), seed=1, observers=[lambda state, record: states.append(state)])
    assert len(states) > 3
    for state in states[:-1]:
        rest = SAMPLER.run(Banana(), state=state)
        assert torch.equal(rest.samples.theta, whole.samples.theta)
        assert rest.log_evidence == whole.log_evidence
        assert rest.log_evidence_error == whole.log_evidence_error


def test_steps_by_hand_are_the_run():
    target, state = Banana(), SAMPLER.init(Banana(), seed=2)
    while state.beta < 1:
        state, _ = SAMPLER.step(state, target)
    assert torch.equal(state.points.theta, SAMPLER.run(target, seed=2).samples.theta)


def test_run_does_not_depend_on_chunks():
    chunked = Banana()
    chunked.memory, chunked.bytes_per_point = 4 * 700, 100
    whole = SAMPLER.run(Banana(), seed=0)
    assert torch.allclose(
        SAMPLER.run(chunked, seed=0).samples.theta, whole.samples.theta, atol=1e-9
    )


def test_a_constant_in_the_likelihood_shifts_the_evidence_and_nothing_else():
    plain, shifted = SAMPLER.run(Banana(), seed=0), SAMPLER.run(Banana(-700.0), seed=0)
    assert shifted.log_evidence == pytest.approx(plain.log_evidence - 700, abs=1e-6)
    assert torch.allclose(shifted.samples.theta, plain.samples.theta, atol=1e-5)


def test_samples_hold_the_evidence():
    result = SAMPLER.run(Banana(), seed=0)
    assert result.samples.log_evidence == pytest.approx(result.state.log_evidence)


def test_history_has_one_info_per_tempering_step():
    result = SAMPLER.run(Banana(), seed=0)
    betas = [record.beta for record in result.history]
    assert betas == sorted(betas)
    assert betas[-1] == 1
    assert [record.step for record in result.history] == list(range(1, len(betas) + 1))
    assert result.n_gradients == sum(record.n_gradients for record in result.history)


@pytest.mark.parametrize("move", [ais.HMC(), ais.HMC(n_leapfrog=4), ais.MALA()], ids=repr)
@pytest.mark.parametrize(
    "selection", [ais.Stratified(), ais.Residual(), ais.Multinomial()], ids=repr
)
def test_every_combination_finds_the_evidence(move, selection):
    # the likelihood integrates to sqrt(pi / 2) over theta_2, against the prior: by quadrature over
    # theta_1
    grid = torch.linspace(-20, 20, 4001, dtype=torch.float64)
    points = torch.cartesian_prod(grid[::4], grid[::4])
    log_pi = Banana().log_prior(points) + Banana().log_likelihood(points)
    truth = float(log_pi.logsumexp(0)) + 2 * math.log(float(grid[4] - grid[0]))
    result = replace(SAMPLER, n_particles=400, move=move, selection=selection).run(Banana(), seed=0)
    assert abs(result.log_evidence - truth) < 5 * result.log_evidence_error


def test_acceptance_follows_the_one_asked_for():
    def rate(target):
        sampler = ais.AnnealedPMC(
            n_particles=400, move=ais.HMC(target_acceptance=target), n_moves=3
        )
        history = sampler.run(Banana(), seed=0).history
        return sum(record.acceptance for record in history) / len(history)

    assert (
        0.5 <= rate(0.5) < rate(0.75) < rate(0.95)
    )  # the target is that of the largest steps in use


def test_particles_without_likelihood_are_left_behind():
    class HalfPlane(Banana):
        def log_likelihood(self, theta):
            return torch.where(theta[:, 0] > 0, 0.0, -torch.inf) - theta[:, 1].square()

    result = SAMPLER.run(HalfPlane(), seed=0)
    alive = result.samples.log_weight > -torch.inf
    assert (result.samples.theta[alive, 0] > 0).all()
    truth = math.log(0.5) - 0.5 * math.log(1 + 2 * 9)
    assert abs(result.log_evidence - truth) < 5 * result.log_evidence_error


def test_starved_run_is_not_trusted():
    ladder = ais.FixedTempering((0.5, 1.0))
    truth = analytic.gaussian(torch.ones(20).double(), 0.01 * torch.eye(20).double())
    loc = torch.zeros(1, 20, dtype=torch.float64)
    bridge = ais.Bridge(truth.target, ais.Proposals(loc, ais.Diagonal.isotropic(1.0, loc)))
    assert (
        ais.AnnealedPMC(tempering=ladder, n_moves=0).run(bridge, seed=0).verdict.status
        == "degenerate"
    )


def test_run_without_moves_is_not_trusted():
    verdict = ais.AnnealedPMC(n_moves=0).run(Banana(), seed=0).verdict
    assert verdict.status == "doubtful"
    assert "no particle was moved" in verdict.reason


def test_run_stopped_early_says_so():
    result = SAMPLER.run(Banana(), seed=0, n_steps=2)
    assert len(result.history) == 2
    assert result.verdict.status == "degenerate"
    assert "stopped at inverse temperature" in result.verdict.reason


def test_drift_counts_only_what_is_significant():
    before = torch.randn(1000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    after = torch.randn(1000, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    weight, alone = torch.full((1000,), 1e-3).double(), torch.arange(1000)
    assert Drift.between(before, after, weight, alone).largest == 0
    assert Drift.between(before, after + 1.0, weight, alone).largest == pytest.approx(1.0, abs=0.15)


def test_forecast_of_a_finished_run_is_nothing():
    result = SAMPLER.run(Banana(), seed=0)
    assert ais.forecast(result.history).seconds == 0
    assert math.isnan(ais.forecast([]).seconds)


def test_forecast_halfway_is_near_what_came():
    truth = analytic.gaussian(torch.ones(30).double(), 0.05 * torch.eye(30).double())
    loc = torch.zeros(1, 30, dtype=torch.float64)
    bridge = ais.Bridge(truth.target, ais.Proposals(loc, ais.Diagonal.isotropic(2.0, loc)))
    history = SAMPLER.run(bridge, seed=0).history
    half = len(history) // 2
    came = len(history) - half
    assert came / 2 < ais.forecast(history[:half]).n_steps < 2 * came


def test_single_precision_agrees_with_double():
    class Single(Banana):
        def sample_prior(self, sources, n_draws):
            return super().sample_prior(sources, n_draws).float()

    double = ais.AnnealedPMC(n_particles=1000).run(Banana(), seed=0)
    single = ais.AnnealedPMC(n_particles=1000).run(Single(), seed=1)
    assert single.samples.theta.dtype == torch.float32
    noise = math.hypot(double.log_evidence_error, single.log_evidence_error)
    assert abs(single.log_evidence - double.log_evidence) < 5 * noise


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"n_particles": 7}, "even"),
        ({"n_particles": 2}, "even"),
        ({"n_particles": 10.0}, "even"),
        ({"ess_fraction": 1.5}, "ess_fraction"),
        ({"n_moves": -1}, "n_moves"),
        ({"max_moves": 0}, "max_moves"),
        ({"max_correlation": 0.0}, "max_correlation"),
        ({"resample_below": 2.0}, "resample_below"),
    ],
)
def test_bad_settings_are_refused(settings, match):
    with pytest.raises(InputError, match=match):
        ais.AnnealedPMC(**settings)


def test_targets_without_a_prior_are_refused():
    with pytest.raises(InputError, match="Bridge"):
        SAMPLER.run(ais.FunctionTarget(lambda theta: theta.sum(-1), 2), seed=0)


def test_impossible_data_raise():
    class Impossible(Banana):
        def log_likelihood(self, theta):
            return torch.full_like(theta[:, 0], -torch.inf) + 0 * theta[:, 0]

    with pytest.raises(DegenerateWeightsError, match="zero at all 200"):
        SAMPLER.run(Impossible(), seed=0)


def test_likelihood_that_is_not_a_number_raises():
    class Broken(Banana):
        def log_likelihood(self, theta):
            return theta[:, 0] * torch.nan

    with pytest.raises(TargetError, match="NaN"):
        SAMPLER.run(Broken(), seed=0)


def test_prior_draws_of_a_wrong_shape_raise():
    class Flat(Banana):
        def sample_prior(self, sources, n_draws):
            return super().sample_prior(sources, n_draws).flatten(0, 1)

    with pytest.raises(TargetError, match="sample_prior must return"):
        SAMPLER.run(Flat(), seed=0)


def test_infinite_likelihood_far_away_is_never_reached():
    class Spike(Banana):
        def log_likelihood(self, theta):
            return torch.where(theta[:, 0] > 4.5, torch.inf, super().log_likelihood(theta))

        def sample_prior(self, sources, n_draws):
            return super().sample_prior(sources, n_draws).clamp(max=4.4)

    result = SAMPLER.run(Spike(), seed=0)
    assert math.isfinite(result.log_evidence)
    assert (result.samples.theta[:, 0] < 4.5).all()


def test_continued_run_at_its_end_still_has_a_verdict():
    result = ais.AnnealedPMC(n_particles=1000).run(Banana(), seed=0)
    again = ais.AnnealedPMC(n_particles=1000).run(Banana(), state=result.state)
    assert again.history == ()
    assert again.verdict.status == result.verdict.status == "trustworthy"


def test_continued_run_remembers_a_step_that_went_too_far():
    sampler = ais.AnnealedPMC(n_particles=200, tempering=ais.FixedTempering((0.5, 0.99, 1.0)))
    truth = analytic.gaussian(torch.ones(20).double(), 0.01 * torch.eye(20).double())
    loc = torch.zeros(1, 20, dtype=torch.float64)
    bridge = ais.Bridge(truth.target, ais.Proposals(loc, ais.Diagonal.isotropic(1.0, loc)))
    states = []
    assert (
        sampler.run(bridge, seed=0, observers=[lambda s, r: states.append(s)]).verdict.status
        == "degenerate"
    )
    assert sampler.run(bridge, state=states[1]).verdict.status == "degenerate"


def test_state_of_another_size_is_refused():
    state = SAMPLER.init(Banana(), seed=0)
    with pytest.raises(InputError, match="200 particles"):
        ais.AnnealedPMC(n_particles=400).run(Banana(), state=state)


def test_coordinate_without_any_slope_is_scaled_by_its_spread():
    class Flat(Banana):
        dim = 3

        def log_prior(self, theta):
            return super().log_prior(theta[:, :2]) - 0 * theta[:, 2]

        def sample_prior(self, sources, n_draws):
            first = super().sample_prior(sources, n_draws)
            return torch.cat(
                [first, rng.standard_normal(sources, (n_draws, 1), like=first)], dim=-1
            )

    for structure in ("dense", "diagonal"):
        result = ais.AnnealedPMC(n_particles=200, preconditioner=ais.Score(structure)).run(
            Flat(), seed=0
        )
        assert result.history[-1].acceptance > 0.5


def test_four_particles_in_one_place_do_not_divide_by_zero():
    truth = analytic.gaussian(torch.ones(5).double(), 1e-4 * torch.eye(5).double())
    loc = torch.zeros(1, 5, dtype=torch.float64)
    bridge = ais.Bridge(truth.target, ais.Proposals(loc, ais.Diagonal.isotropic(1.0, loc)))
    ladder = ais.FixedTempering((0.5, 1.0))
    result = ais.AnnealedPMC(n_particles=4, n_moves=0, tempering=ladder).run(bridge, seed=0)
    assert result.verdict.status == "degenerate"


def test_likelihood_of_a_wrong_shape_raises():
    class Column(Banana):
        def log_likelihood(self, theta):
            return super().log_likelihood(theta)[:, None]

    with pytest.raises(TargetError, match="log_likelihood of 200 points"):
        SAMPLER.run(Column(), seed=0)


def test_prior_without_a_slope_says_what_to_give():
    class Uniform(Banana):
        def log_prior(self, theta):
            return torch.zeros(len(theta), dtype=torch.float64)

    with pytest.raises(TargetError, match="prior_and_score"):
        SAMPLER.run(Uniform(), seed=0)


def test_settings_print_and_compare():
    assert repr(ais.AnnealedPMC()).startswith("AnnealedPMC(n_particles=1000")
    assert ais.AnnealedPMC() == ais.AnnealedPMC()

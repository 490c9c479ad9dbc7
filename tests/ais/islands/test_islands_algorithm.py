"""Islands: exact on known targets, resumable, in time, and honest about what they do not know."""

import math
from dataclasses import replace

import pytest
import torch

from pmcnet import ais
from pmcnet.ais import analytic
from pmcnet.ais.annealed.state import AnnealedState
from pmcnet.ais.islands.draws import draws_of, evenly, with_population
from pmcnet.ais.islands.schedule import LEAST_LENGTH, capped, remaining, steps_left
from pmcnet.ais.islands.state import Polish
from pmcnet.errors import InputError

BATCH = ais.AnnealedPMC(n_particles=32, n_islands=4, ess_fraction=0.5, n_moves=1)
SMALL = ais.Islands(annealing=BATCH, n_islands=8, n_draws=256)


def wide(dim, sigma=4.0):
    return ais.Proposals(
        torch.zeros(1, dim, dtype=torch.float64),
        ais.Diagonal(torch.full((1, dim), sigma, dtype=torch.float64)),
    )


def known(dim=4, log_evidence=7.0):
    source = torch.Generator().manual_seed(0)
    root = torch.randn(dim, dim, generator=source, dtype=torch.float64) / math.sqrt(dim)
    covariance = root @ root.mT + 0.2 * torch.eye(dim, dtype=torch.float64)
    mean = torch.randn(dim, generator=source, dtype=torch.float64)
    truth = analytic.gaussian(mean, covariance, log_evidence=log_evidence)
    return truth, ais.Bridge(truth.target, wide(dim))


@pytest.fixture(scope="module")
def run():
    states = []
    _, target = known()
    result = SMALL.run(target, seed=3, observers=[lambda state, info: states.append((state, info))])
    return result, states


def test_moments_and_evidence_of_a_gaussian_are_within_stated_errors():
    truth, target = known()
    result = ais.Islands(annealing=BATCH, n_islands=16, n_draws=2048).run(target, seed=1)
    theta = result.islands  # (G, k, D)
    error = theta.mean(1).std(0) / math.sqrt(len(theta))
    assert ((theta.mean((0, 1)) - truth.mean).abs() < 5 * error).all()
    square = (theta - truth.mean).square().mean(1)  # (G, D)
    error = square.std(0) / math.sqrt(len(theta))
    assert ((square.mean(0) - truth.covariance.diagonal()).abs() < 5 * error).all()
    assert abs(result.log_evidence - truth.log_evidence) < 5 * result.log_evidence_error
    assert result.verdict.status == "trustworthy"


def test_run_continued_from_any_state_is_the_same(run, tmp_path):
    whole, states = run
    assert {info.polishing for _, info in states} == {False, True}
    assert states[-1][0].n_finished == 4
    _, target = known()
    for state, _ in states[:-1:3]:
        stored = ais.load_state(ais.save_state(state, tmp_path / "state.safetensors"))
        rest = SMALL.run(target, state=stored)
        assert torch.equal(rest.samples.theta, whole.samples.theta)
        assert rest.log_evidence == whole.log_evidence
        assert rest.agreement == whole.agreement


def test_batches_are_independent_of_each_other(run):
    """The second batch is that of a run that begins with it."""
    _, states = run
    second = next(state for state, _ in states if state.n_finished and not state.annealed)
    _, target = known()
    fresh = BATCH.init(ais.Path.of(target), seed=3, first_island=4)
    assert second.batch.first_island == 4
    first = next(s for s, _ in states).batch
    assert not torch.equal(fresh.points.theta, BATCH.init(target, seed=3).points.theta)
    assert isinstance(first, AnnealedState)


def test_draws_are_as_many_of_each_island(run):
    result, _ = run
    assert result.islands.shape == (8, 32, 4)
    assert torch.equal(result.samples.theta, result.islands.flatten(0, 1))
    assert result.samples.n_draws == 256
    assert result.samples.log_evidence == pytest.approx(result.log_evidence)
    assert result.ess <= 256


def test_history_tells_errors_and_what_is_left(run):
    result, _ = run
    assert [info.step for info in result.history] == list(range(1, len(result.history) + 1))
    polished = [info for info in result.history if info.n_islands == 8]
    assert all(math.isfinite(info.error) for info in polished)
    assert result.history[0].error == math.inf
    assert result.history[-1].left == 0
    line = result.history[-1].line()
    assert line["temperature"] == 1
    assert line["n_islands"] == 8


def test_two_modes_that_particles_cannot_cross_widen_the_stated_error():
    """Each island holds both modes in shares that chance decides: the error must cover that."""
    means = torch.tensor([[-9.0, 0.0], [9.0, 0.0]], dtype=torch.float64)
    truth = analytic.mixture(means, torch.eye(2, dtype=torch.float64).expand(2, 2, 2))
    target = ais.Bridge(truth.target, wide(2, 10.0))
    errors, stated = [], []
    for seed in range(8):
        result = SMALL.run(target, seed=seed)
        islands = result.islands.mean(1)[:, 0]
        errors.append(float(islands.mean()) ** 2)
        stated.append(float(islands.var()) / len(islands))
        assert result.agreement.upper > 0.02  # the first coordinate is known worst
    ratio = math.sqrt(sum(stated) / sum(errors))
    assert 0.5 < ratio < 2


def test_more_islands_lower_the_error(run):
    result, states = run
    first = [state for state, _ in states if state.n_islands == 4][-1]
    assert result.agreement.n_islands == 8
    assert result.agreement.median < 1.5 * first.agreement.median


def test_a_short_time_ends_with_what_is_there():
    _, target = known()
    sampler = ais.Islands(annealing=BATCH, n_islands=None, max_seconds=1e-3)
    result = sampler.run(target, seed=0)
    assert result.n_islands == 4
    assert result.history[-1].left == 0


def test_time_for_more_ends_once_predictions_are_known():
    _, target = known(dim=2)
    sampler = ais.Islands(annealing=BATCH, n_islands=None, max_seconds=300)
    result = sampler.run(target, seed=0)
    assert result.verdict.status == "trustworthy"
    assert result.state.seconds < 60


def test_trajectories_shorten_where_time_is_short(run):
    _, states = run
    state = next(state for state, _ in states if not state.annealed and state.rise)
    state = state._replace(seconds=10.0, batch_seconds=10.0, n_gradients=5000)
    assert capped(BATCH, state, math.inf).max_leapfrog == BATCH.max_leapfrog
    lengths = [capped(BATCH, state, limit).max_leapfrog for limit in (20.0, 300.0, 1e6)]
    assert lengths[0] == LEAST_LENGTH < lengths[1] <= lengths[2] == BATCH.max_leapfrog
    assert capped(BATCH, state, 300.0, 2).max_leapfrog <= lengths[1]
    assert steps_left(state) >= 1
    assert 0 <= remaining(state, None, 60.0, 1) <= 50


def test_a_batch_that_time_cut_off_does_not_hide_those_before(run):
    """Its islands have no draws yet, so that only those of the first batch are judged."""
    _, states = run
    cut = next(state for state, _ in states if state.n_finished and not state.annealed)
    found = ais.IslandsResult(cut, (), 256)
    assert found.islands.shape == (4, 64, 4)
    assert cut.acceptance > 0.5
    assert cut.settling.correlation < 0.5
    assert "of the trajectories" not in found.verdict.reason


def test_a_run_that_ends_after_one_round_keeps_its_population(run):
    _, states = run
    first = next(state for state, _ in states if len(state.polish.kept) == 1)
    assert ais.IslandsResult(first, (), 4096).islands.shape == (4, 32, 4)


def test_a_run_without_draws_is_degenerate_and_says_where_it_stopped(run):
    _, states = run
    tempered = ais.IslandsResult(states[0][0], (), 256)
    assert tempered.verdict.status == "degenerate"
    assert "stopped at inverse temperature" in tempered.verdict.reason
    assert tempered.samples.n_draws == 128
    reached = next(s for s, _ in states if s.annealed and not s.n_islands)
    assert "before any draw" in ais.IslandsResult(reached, (), 256).verdict.reason


@pytest.mark.parametrize(("size", "n"), [(10, 3), (4, 4), (3, 8), (128, 5)])
def test_even_places_are_distinct_and_inside(size, n):
    places = evenly(size, n)
    assert len(places) == min(size, n) == len(set(places.tolist()))
    assert places.min() >= 0
    assert places.max() < size


def test_kept_populations_are_spread_over_the_rounds():
    _, target = known(dim=2)
    points = BATCH.init(target, seed=0).points
    polish = Polish.begun(points, 1)
    for n in range(1, 12):
        polish = with_population(polish, torch.full_like(points.theta, float(n)))
        rounds = polish.kept[:, 0, 0].tolist()
        assert rounds == [polish.stride * (i + 1) for i in range(len(rounds))]
        assert 1 <= len(rounds) <= 4
    assert draws_of(polish, 4, 10).shape == (4, 10, 2)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"n_islands": 6}, "multiple of the 4 islands"),
        ({"n_islands": None}, "needs max_seconds"),
        ({"annealing": replace(BATCH, n_islands=1)}, "use AnnealedPMC"),
        ({"polish": 0.0}, "polish must be"),
        ({"n_draws": 2}, "n_draws must be"),
        ({"max_seconds": -1.0}, "max_seconds must be"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(changes, text):
    with pytest.raises(InputError, match=text):
        replace(SMALL, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": -1.0},
        {"rise": 2.0},
        {"ended": 1},
        {"finished": torch.zeros(2, 3, 9)},
        {"agreement": None},
        {"polish": None},
    ],
)
def test_states_that_no_run_wrote_are_refused(run, changes):
    state = run[1][-1][0]
    with pytest.raises(InputError):
        state._replace(**changes).check()

import math
import time
from dataclasses import replace

import pytest
import torch

from pmcnet import ais
from pmcnet.errors import InputError

KNOWN = ais.analytic.gaussian(
    torch.zeros(2, dtype=torch.float64), torch.eye(2, dtype=torch.float64), log_evidence=5.0
)
ALL = replace(ais.pmcnet, keep="all")
LOC = torch.randn(8, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def start(sigma=2.0, seed=0):
    return ais.pmcnet.init(LOC, sigma=sigma, seed=seed)


def test_last_returns_the_draws_of_the_last_step():
    seen = []
    result = ais.run(
        ais.pmcnet, KNOWN.target, start(), n_steps=3, observers=[lambda s, i: seen.append((s, i))]
    )
    assert torch.equal(result.samples.theta, seen[-1][1].samples.theta)
    assert torch.equal(result.state.proposals.loc, seen[-1][0].proposals.loc)
    assert [s.step for s, _ in seen] == [1, 2, 3]


def test_all_returns_every_step_with_its_own_weights():
    result = ais.run(ALL, KNOWN.target, start(), n_steps=3)
    assert result.samples.theta.shape == (3, 8, 100, 2)
    state = start()
    for t in range(3):
        state, info = ais.pmcnet.step(state, KNOWN.target)
        assert torch.equal(result.samples.log_weight[t], info.samples.log_weight)


@pytest.mark.parametrize("weighting", [ais.DeterministicMixture(), ais.OwnProposal()])
def test_mixture_weights_divide_by_the_proposals_of_all_steps(weighting):
    algorithm = ais.PMC(n_draws=10, weighting=weighting, keep="mixture")
    states = [algorithm.init(LOC, sigma=2.0, seed=0)]
    result = ais.run(
        algorithm,
        KNOWN.target,
        states[0],
        n_steps=3,
        observers=[lambda s, _: states.append(s)],
    )
    theta = result.samples.theta.reshape(-1, 2)
    densities = []
    for state in states[:3]:
        for loc, covariance in zip(
            state.proposals.loc, state.proposals.scale.covariance, strict=True
        ):
            densities.append(
                torch.distributions.MultivariateNormal(loc, covariance).log_prob(theta)
            )
    expected = KNOWN.target.log_density(theta) - (
        torch.stack(densities).logsumexp(0) - math.log(24)
    )
    torch.testing.assert_close(result.samples.log_weight.flatten(), expected)


def test_mixture_over_time_has_the_smaller_error():
    """A wide start wastes the first steps' own weights; the common mixture does not."""
    own = ais.run(ALL, KNOWN.target, start(sigma=8.0), n_steps=6)
    mixture = replace(ais.pmcnet, keep="mixture")
    common = ais.run(mixture, KNOWN.target, start(sigma=8.0), n_steps=6)
    assert common.ess > own.ess
    assert common.log_evidence_error < own.log_evidence_error
    assert abs(common.log_evidence - 5) < 5 * common.log_evidence_error


def test_history_tells_each_step_and_the_pool():
    result = ais.run(ALL, KNOWN.target, start(), n_steps=5)
    for t, record in enumerate(result.history, start=1):
        step = ais.WeightedSamples(result.samples.theta[t - 1], result.samples.log_weight[t - 1])
        pool = ais.WeightedSamples(result.samples.theta[:t], result.samples.log_weight[:t])
        assert record.step == t
        assert record.ess == pytest.approx(step.ess)
        assert record.last.log_evidence == pytest.approx(step.log_evidence)
        assert record.line()["max_weight"] == pytest.approx(step.max_weight)
        assert record.pooled.ess == pytest.approx(pool.ess)
        assert record.pooled.log_evidence == pytest.approx(pool.log_evidence)
    seconds = [record.seconds for record in result.history]
    assert seconds == sorted(seconds)


def test_stops_when_enough_draws_are_effective():
    result = ais.run(replace(ais.pmcnet, min_ess=500), KNOWN.target, start(sigma=8.0), n_steps=50)
    assert result.ess >= 500
    assert all(record.ess < 500 for record in result.history[:-1])


def test_kept_draws_decide_when_there_are_enough():
    result = ais.run(replace(ALL, min_ess=2000), KNOWN.target, start(sigma=8.0), n_steps=50)
    assert result.ess == pytest.approx(result.history[-1].pooled.ess)
    assert result.ess >= 2000


def test_stops_when_the_time_is_up():
    def slow(theta):
        time.sleep(0.01)
        return -0.5 * theta.square().sum(-1)

    result = ais.run(
        ais.dm_pmc,
        ais.FunctionTarget(slow, 2),
        ais.dm_pmc.init(LOC, seed=0),
        max_seconds=0.05,
        n_steps=99,
    )
    assert 1 <= len(result.history) <= 6


def test_continuing_equals_not_stopping():
    whole = ais.run(ais.pmcnet, KNOWN.target, start(), n_steps=6)
    first = ais.run(ais.pmcnet, KNOWN.target, start(), n_steps=2)
    second = ais.run(ais.pmcnet, KNOWN.target, first.state, n_steps=4)
    assert torch.equal(second.samples.theta, whole.samples.theta)
    assert torch.equal(second.samples.log_weight, whole.samples.log_weight)
    assert second.state.step == 6


def test_result_carries_its_diagnostics():
    result = ais.run(ais.pmcnet, KNOWN.target, start(), n_steps=10)
    assert result.verdict.status == "trustworthy"
    assert result.ess == result.samples.ess
    assert result.khat == result.samples.khat
    assert result.log_evidence == result.samples.log_evidence
    assert result.log_evidence_error == result.samples.log_evidence_error


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"n_steps": 0}, "n_steps must be a whole number, at least 1"),
        ({"n_steps": 1.5}, "n_steps must be a whole number"),
        ({"max_seconds": -1}, "max_seconds must be positive"),
        ({"max_seconds": math.nan}, "max_seconds must be positive"),
    ],
)
def test_bad_limits_are_refused(settings, text):
    with pytest.raises(InputError, match=text):
        ais.run(ais.pmcnet, KNOWN.target, start(), **settings)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"keep": "first"}, "keep must be one of last, all, mixture; got 'first'"),
        ({"min_ess": 0}, "min_ess must be positive"),
    ],
)
def test_bad_settings_are_refused(settings, text):
    with pytest.raises(InputError, match=text):
        ais.PMC(**settings)


def test_a_run_that_is_done_already_is_refused():
    enough = replace(ais.pmcnet, min_ess=500)
    result = ais.run(enough, KNOWN.target, start(), n_steps=50)
    with pytest.raises(InputError, match="no step was made"):
        ais.run(enough, KNOWN.target, result.state)


def test_pooled_estimates_go_on_where_a_run_is_continued():
    whole = ais.run(ais.pmcnet, KNOWN.target, start(), n_steps=4)
    half = ais.run(ais.pmcnet, KNOWN.target, start(), n_steps=2)
    rest = ais.run(ais.pmcnet, KNOWN.target, half.state, n_steps=2)
    assert rest.history[-1].pooled == whole.history[-1].pooled


def test_only_draws_that_are_kept_stay_in_the_history():
    dropped = ais.run(ais.pmcnet, KNOWN.target, start(), n_steps=3).history
    assert [info.samples is None for info in dropped] == [True, True, False]
    kept = ais.run(ALL, KNOWN.target, start(), n_steps=3).history
    assert all(info.samples is not None for info in kept)


def test_history_says_where_the_time_went():
    target = ais.FunctionTarget(lambda t: -0.5 * t.square().sum(-1), 2)
    state = ais.pmcnet.init(torch.zeros(3, 2, dtype=torch.float64), seed=0)
    for info in ais.run(ais.pmcnet, target, state, n_steps=2).history:
        parts = (info.phases.proposals, info.phases.target, info.phases.moves)
        assert min(parts) > 0
        assert sum(parts) <= info.seconds
        assert info.line()["memory"] == 0

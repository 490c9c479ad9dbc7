"""The step's own behaviour and everything it refuses."""

import math
from dataclasses import replace

import pytest
import torch

from pmcnet import ais
from pmcnet.errors import DegenerateWeightsError, InputError, TargetError

LOC = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def target_of(log_density):
    return ais.FunctionTarget(log_density, 2)


GOOD = target_of(lambda x: -0.5 * x.square().sum(-1))


@pytest.mark.parametrize(
    ("loc", "text"),
    [
        (LOC[0], r"loc must be a tensor \(n_proposals, dim\); got \(2,\)\. Use loc\[None\]"),
        (LOC[None], r"got \(1, 5, 2\)"),
        (LOC[:0], r"got \(0, 2\)"),
        ([[0.0, 1.0]], r"got list\. Use torch\.as_tensor"),
        (LOC.long(), r"float32 or float64; got torch\.int64"),
        (LOC.half(), r"got torch\.float16"),
        (LOC * torch.nan, "NaN or infinite"),
    ],
)
def test_bad_starting_means_are_refused(loc, text):
    with pytest.raises(InputError, match=text):
        ais.pmcnet.init(loc, seed=0)


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf])
def test_bad_sigma_is_refused(sigma):
    with pytest.raises(InputError, match="sigma must be a positive finite standard deviation"):
        ais.pmcnet.init(LOC, sigma=sigma, seed=0)


def test_bad_seed_is_refused():
    with pytest.raises(InputError, match="seed must be"):
        ais.pmcnet.init(LOC, seed=-3)


@pytest.mark.parametrize("n_draws", [0, -1, 1, 2.0, True])
def test_robust_covariance_needs_two_draws(n_draws):
    with pytest.raises(InputError, match="at least 2 for RobustCovariance"):
        replace(ais.pmcnet, n_draws=n_draws)


@pytest.mark.parametrize("variant", [ais.dm_pmc, ais.covfree, ais.sl_pmc])
def test_one_draw_is_enough_without_a_covariance_estimate(variant):
    state, info = replace(variant, n_draws=1).step(variant.init(LOC, seed=0), GOOD)
    assert info.samples.theta.shape == (5, 1, 2)
    assert state.proposals.loc.isfinite().all()


def test_wrong_dimension_is_refused():
    with pytest.raises(InputError, match=r"dim=2\); got \(5, 100, 3\)"):
        ais.pmcnet.step(ais.pmcnet.init(torch.zeros(5, 3), seed=0), GOOD)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_and_infinite_density_are_refused(value):
    with pytest.raises(TargetError, match="the target returned"):
        ais.pmcnet.step(ais.pmcnet.init(LOC, seed=0), target_of(lambda x: x.sum(-1) * 0 + value))


def test_zero_density_everywhere_is_an_error_and_not_uniform():
    nowhere = target_of(lambda x: torch.full_like(x[:, 0], -math.inf))
    with pytest.raises(DegenerateWeightsError, match="-inf at all 500 draws"):
        ais.pmcnet.step(ais.pmcnet.init(LOC, seed=0), nowhere)


def test_nan_score_is_refused():
    target = ais.FunctionTarget(GOOD.log_density, 2, score=lambda x: x * math.nan)
    with pytest.raises(TargetError, match="score that is not finite"):
        ais.pmcnet.step(ais.pmcnet.init(LOC, seed=0), target)
    ais.gradfree.step(ais.gradfree.init(LOC, seed=0), target)  # which never asks for it


@pytest.mark.parametrize("variant", ais.VARIANTS.values(), ids=ais.VARIANTS)
def test_a_proposal_without_weight_stays_and_is_reported(variant):
    loc = torch.tensor([[1.0, 1.0], [-500.0, -500.0]], dtype=torch.float64)
    half = target_of(lambda x: torch.where(x[:, 0] > -100, -0.5 * x.square().sum(-1), -math.inf))
    start = variant.init(loc, sigma=1.0, seed=0)
    state, info = variant.step(start, half)
    assert info.ancestors[1] == -1
    assert info.ancestors[0] >= 0
    assert torch.equal(state.proposals.loc[1], loc[1])
    assert torch.equal(state.proposals.scale.covariance[1], start.proposals.scale.covariance[1])
    assert state.proposals.loc.isfinite().all()
    assert state.proposals.scale.covariance.isfinite().all()


def test_step_leaves_the_state_it_was_given():
    start = ais.pmcnet.init(LOC, seed=0)
    loc, factor = start.proposals.loc.clone(), start.proposals.scale.factor.clone()
    ais.pmcnet.step(start, GOOD)
    assert torch.equal(start.proposals.loc, loc)
    assert torch.equal(start.proposals.scale.factor, factor)


def test_init_copies_the_means():
    loc = LOC.clone()
    state = ais.pmcnet.init(loc, seed=0)
    loc += 1
    assert torch.equal(state.proposals.loc, LOC)


def test_algorithms_print_their_settings():
    assert (
        "RobustCovariance(structure=<class 'pmcnet.ais.scale.Full'>, beta=Constant(value=0.5)"
        in repr(ais.pmcnet)
    )


def test_user_defined_target_class_is_enough():
    """Anything with the protocol's members is a target."""

    class Plain:
        dim, memory, bytes_per_point = 2, 1 << 20, 100

        def log_density(self, theta):
            return -0.5 * theta.square().sum(-1)

        def value_and_score(self, theta):
            return ais.ValueAndScore(self.log_density(theta), -theta)

        def hessian(self, theta):
            return -torch.eye(2, dtype=theta.dtype).expand(len(theta), 2, 2)

        def factors(self):
            return [self]

    for variant in ais.VARIANTS.values():
        state, _ = variant.step(variant.init(LOC, seed=0), Plain())
        assert state.step == 1

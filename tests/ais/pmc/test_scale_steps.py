import math

import pytest
import torch

from pmcnet import ais
from pmcnet.ais.evaluation import Evaluation
from pmcnet.ais.pmc.scale_steps import clipped


def test_clipped_cuts_the_largest_to_the_next():
    weight = torch.tensor(
        [[9.0, 1.0, 7.0, 5.0, 3.0, 2.0, 8.0, 4.0, 6.0]], dtype=torch.float64
    )  # K = 9, cut 3
    assert clipped(weight.log()).exp().round().tolist() == [[6, 1, 6, 5, 3, 2, 6, 4, 6]]


@pytest.mark.parametrize(("n_draws", "index"), [(2, 1), (3, 2), (4, 2), (10, 4), (100, 10)])
def test_clipping_level_is_at_index_ceil_sqrt(n_draws, index):
    log_weight = torch.arange(n_draws, 0, -1, dtype=torch.float64)[None]
    assert clipped(log_weight).max() == log_weight[0, index]


def test_clipping_stops_at_the_smallest_positive_weight():
    log_weight = torch.tensor(
        [[0.0, -1.0, -math.inf, -math.inf, -math.inf, -math.inf]], dtype=torch.float64
    )
    assert clipped(log_weight)[0, :2].tolist() == [-1.0, -1.0]


def state_and_samples(n_draws=30, structure=ais.Full):
    generator = torch.Generator().manual_seed(0)
    algorithm = ais.PMC(n_draws=n_draws, scale_step=ais.RobustCovariance(structure))
    state = algorithm.init(torch.zeros(4, 3, dtype=torch.float64), sigma=2.0, seed=0)
    theta = torch.randn(4, n_draws, 3, generator=generator, dtype=torch.float64)
    return state, ais.WeightedSamples(
        theta, torch.randn(4, n_draws, generator=generator, dtype=torch.float64)
    )


TARGET = Evaluation(ais.FunctionTarget(lambda x: -0.5 * x.square().sum(-1), 3))


@pytest.mark.parametrize("structure", [ais.Full, ais.Diagonal])
def test_robust_covariance_does_not_depend_on_memory(structure):
    state, samples = state_and_samples(structure=structure)
    step = ais.RobustCovariance(structure)
    whole, _ = step(state.proposals.scale, samples, samples.theta[:, 0], TARGET, 2)
    small = Evaluation(ais.FunctionTarget(TARGET.target.log_density, 3, memory=1))
    pieces, _ = step(state.proposals.scale, samples, samples.theta[:, 0], small, 2)
    torch.testing.assert_close(pieces.covariance, whole.covariance)


def test_robust_covariance_keeps_the_scale_of_a_proposal_without_weight():
    state, (theta, log_weight) = state_and_samples()
    log_weight[1] = -math.inf
    scale, rejected = ais.RobustCovariance()(
        state.proposals.scale, ais.WeightedSamples(theta, log_weight), theta[:, 0], TARGET, 1
    )
    assert rejected.tolist() == [False, True, False, False]
    assert torch.equal(scale.factor[1], state.proposals.scale.factor[1])
    assert scale.factor.isfinite().all()


def test_robust_covariance_of_one_heavy_draw_only_shrinks():
    """One draw with all the weight has covariance 0; half of the previous one remains."""
    state, (theta, log_weight) = state_and_samples()
    log_weight[:] = -1e6
    log_weight[:, 0] = 0
    step = ais.RobustCovariance(eta=ais.Constant(0.0))
    scale, rejected = step(
        state.proposals.scale, ais.WeightedSamples(theta, log_weight), theta[:, 0], TARGET, 1
    )
    assert not rejected.any()
    torch.testing.assert_close(scale.covariance, 0.5 * state.proposals.scale.covariance)


def test_inverse_hessian_of_a_gaussian_is_its_covariance():
    covariance = torch.tensor([[2.0, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 3]], dtype=torch.float64)
    known = ais.analytic.gaussian(torch.zeros(3, dtype=torch.float64), covariance)
    state, samples = state_and_samples()
    scale, rejected = ais.InverseHessian()(
        state.proposals.scale, samples, samples.theta[:, 0], Evaluation(known.target), 1
    )
    assert not rejected.any()
    torch.testing.assert_close(scale.covariance, covariance.expand(4, 3, 3))


def test_inverse_hessian_keeps_the_previous_scale_at_a_saddle():
    state, samples = state_and_samples()
    saddle = Evaluation(ais.FunctionTarget(lambda x: x[:, 0] ** 2 - x[:, 1:].square().sum(-1), 3))
    scale, rejected = ais.InverseHessian()(
        state.proposals.scale, samples, samples.theta[:, 0], saddle, 1
    )
    assert rejected.all()
    assert torch.equal(scale.factor, state.proposals.scale.factor)

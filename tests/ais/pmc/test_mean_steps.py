import math

import pytest
import torch

from pmcnet import ais
from pmcnet.ais.evaluation import Evaluation
from pmcnet.ais.pmc.mean_steps import backtrack
from pmcnet.errors import InputError

LOC = torch.tensor([[4.0], [0.5], [-2.0]], dtype=torch.float64)


def counted(log_density):
    calls = []

    def wrapped(theta):
        calls.append(len(theta))
        return log_density(theta)

    return Evaluation(ais.FunctionTarget(wrapped, 1)), calls


def test_backtracking_reevaluates_only_what_still_fails():
    target, calls = counted(lambda x: -0.5 * x.square().sum(-1))
    value = target.log_density(LOC)
    calls.clear()
    # full steps of -4, +64 and -64: the first lands on the mode; the others fail until they fit
    direction = torch.tensor([[-4.0], [-64.0], [64.0]], dtype=torch.float64)
    moved, step_size = backtrack(LOC, value, direction, target, max_trials=20)
    assert calls == [3, 2, 2, 2, 2, 1, 1]
    assert step_size.tolist() == [1.0, 2.0**-6, 2.0**-4]
    torch.testing.assert_close(moved, LOC + step_size[:, None] * direction)


def test_backtracking_gives_up_after_max_trials():
    target, calls = counted(lambda x: -x.abs().sum(-1))
    moved, step_size = backtrack(LOC, target.log_density(LOC), LOC * 1e9, target, max_trials=5)
    assert calls == [3] * 6
    assert not step_size.any()
    assert torch.equal(moved, LOC)


def test_a_trial_that_is_nan_fails():
    target, _ = counted(lambda x: torch.where(x[:, 0].abs() > 5, torch.nan, -0.5 * x[:, 0] ** 2))
    moved, step_size = backtrack(LOC, target.log_density(LOC), -10 * LOC, target, max_trials=20)
    assert (step_size > 0).all()
    assert moved.abs().max() <= 5


def test_a_point_of_zero_density_stays():
    target, _ = counted(lambda x: torch.where(x[:, 0] > 0, -x[:, 0], -torch.inf))
    moved, step_size = ais.Langevin()(LOC, ais.Diagonal.isotropic(1.0, LOC), target)
    assert step_size[2] == 0
    assert moved[2] == LOC[2]


def test_langevin_with_the_right_scale_jumps_to_the_mode_of_a_gaussian():
    covariance = torch.tensor([[2.0, 0.9], [0.9, 1.0]], dtype=torch.float64)
    known = ais.analytic.gaussian(torch.tensor([3.0, -1.0], dtype=torch.float64), covariance)
    start = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    scale, _ = ais.Full.from_covariance(covariance.repeat(5, 1, 1))
    moved, step_size = ais.Langevin()(start, scale, Evaluation(known.target))
    torch.testing.assert_close(moved, known.mean.expand(5, 2))
    assert (step_size == 1).all()


def test_incremental_pass_over_one_factor_is_half_a_langevin_step():
    target, _ = counted(lambda x: -0.5 * x.square().sum(-1))
    scale = ais.Diagonal.isotropic(1.0, LOC)
    moved, step_size = ais.IncrementalLangevin()(LOC, scale, target)
    torch.testing.assert_close(moved, 0.5 * LOC)
    assert step_size.shape == (3, 1)


@pytest.mark.parametrize("step", [ais.Langevin, ais.IncrementalLangevin])
def test_at_least_one_trial_is_needed(step):
    with pytest.raises(InputError, match="max_trials must be at least 1"):
        step(max_trials=0)


def test_log_density_never_decreases():
    target = Evaluation(ais.analytic.banana(2).target)
    loc = torch.randn(200, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3
    before = target.log_density(loc)
    moved, step_size = ais.Langevin()(loc, ais.Full.isotropic(1.0, loc), target)
    assert (target.log_density(moved) >= before).all()
    assert ((step_size == 0) == (moved == loc).all(-1)).all()
    assert math.log2(float(step_size[step_size > 0].min())) % 1 == 0

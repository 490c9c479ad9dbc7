import math

import pytest
import torch

from pmcnet import rng
from pmcnet.ais import Alternating, Global, Local
from pmcnet.ais.inverse_cdf import categorical
from pmcnet.errors import InputError


def test_categorical_frequencies_match_the_weights():
    weight = torch.tensor([0.1, 0.0, 0.4, 0.3, 0.2], dtype=torch.float64)
    n = 200_000
    index = categorical(weight.log() + 1000, rng.uniform([rng.stream(0, 0, 0)], n, like=weight)[0])
    frequency = torch.bincount(index, minlength=5) / n
    assert ((frequency - weight).abs() <= 5 * (weight * (1 - weight) / n).sqrt()).all()


@pytest.mark.parametrize("u", [0.0, 0.5, 1 - 2**-53])
def test_categorical_never_takes_a_zero_weight(u):
    log_weight = torch.tensor([-math.inf, 0.0, -math.inf, -1.0, -math.inf], dtype=torch.float64)
    uniforms = torch.full((1,), u, dtype=torch.float64)
    assert int(categorical(log_weight, uniforms)) in (1, 3)


def test_categorical_takes_the_only_positive_weight_however_small():
    log_weight = torch.tensor([-math.inf, -2000.0, -math.inf], dtype=torch.float64)
    assert categorical(
        log_weight, torch.tensor([0.0, 0.3, 0.999], dtype=torch.float64)
    ).tolist() == [1, 1, 1]


def test_categorical_edge_of_the_cdf_is_inside():
    """u * total can round to the total; the index must not run past the last weighted entry."""
    weight = torch.full((3000,), 1 / 3, dtype=torch.float64)
    index = categorical(weight.log(), torch.tensor([1 - 2**-53, 1.0], dtype=torch.float64))
    assert index.max() <= 2999


def uniforms(step):
    return rng.uniform(rng.streams(0, step, 6), 1, like=LOG_WEIGHT)[:, 0]


LOG_WEIGHT = torch.randn(6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_local_keeps_one_draw_of_each_proposal():
    index = Local()(LOG_WEIGHT, uniforms(0), 1)
    assert (index // 8).tolist() == list(range(6))


def test_local_marks_a_proposal_without_weight():
    log_weight = LOG_WEIGHT.clone()
    log_weight[[1, 4]] = -math.inf
    index = Local()(log_weight, uniforms(0), 1)
    assert (index < 0).tolist() == [False, True, False, False, True, False]
    untouched = Local()(LOG_WEIGHT, uniforms(0), 1)
    assert torch.equal(index[[0, 2, 3, 5]], untouched[[0, 2, 3, 5]])


def test_global_follows_the_heavy_proposal():
    log_weight = LOG_WEIGHT.clone()
    log_weight[2] += 100
    assert (Global()(log_weight, uniforms(0), 1) // 8 == 2).all()


def test_alternating_is_global_at_multiples_of_its_period():
    for step in range(1, 8):
        expected = Global() if step % 3 == 0 else Local()
        got = Alternating(3)(LOG_WEIGHT, uniforms(step), step)
        assert torch.equal(got, expected(LOG_WEIGHT, uniforms(step), step))


def test_alternating_needs_a_positive_period():
    with pytest.raises(InputError, match="period must be at least 1"):
        Alternating(0)

import pytest
import torch

from pmcnet import ais
from pmcnet.rng import stream

RULES = [ais.Systematic(), ais.Stratified(), ais.Residual(), ais.Multinomial()]
WEIGHT = torch.tensor([0.02, 0.3, 0.0, 0.08, 0.25, 0.35], dtype=torch.float64).repeat(5) / 5


def copies(rule, seed):
    return torch.bincount(rule(WEIGHT.log(), stream(seed, 0, 0)), minlength=len(WEIGHT)).double()


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_selection_is_unbiased(rule):
    counts = torch.stack([copies(rule, seed) for seed in range(2000)])
    error = counts.std(0) / len(counts) ** 0.5
    assert ((counts.mean(0) - len(WEIGHT) * WEIGHT).abs() <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_selection_keeps_the_number_of_particles_in_ascending_order(rule):
    index = rule(WEIGHT.log(), stream(3, 0, 0))
    assert len(index) == len(WEIGHT)
    assert (index.diff() >= 0).all()


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_selection_never_takes_a_particle_without_weight(rule):
    assert all((copies(rule, seed)[WEIGHT == 0] == 0).all() for seed in range(50))


def test_systematic_copies_are_the_expected_number_rounded():
    expected = len(WEIGHT) * WEIGHT
    for seed in range(50):
        assert ((copies(ais.Systematic(), seed) - expected).abs() < 1 + 1e-9).all()


def test_residual_gives_whole_copies_for_certain():
    for seed in range(50):
        assert (copies(ais.Residual(), seed) >= (len(WEIGHT) * WEIGHT).floor()).all()


def test_systematic_varies_less_than_multinomial():
    spread = [torch.stack([copies(rule, s) for s in range(300)]).var(0).sum() for rule in RULES]
    assert spread[0] < spread[3] / 2


def test_residual_with_equal_weights_keeps_every_particle_once():
    index = ais.Residual()(torch.zeros(10, dtype=torch.float64), stream(0, 0, 0))
    assert index.tolist() == list(range(10))

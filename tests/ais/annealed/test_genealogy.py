import pytest
import torch

from pmcnet.ais.annealed import genealogy

GENERATOR = torch.Generator().manual_seed(0)
VALUE = torch.randn(200, 3, generator=GENERATOR, dtype=torch.float64)
WEIGHT = torch.rand(200, generator=GENERATOR, dtype=torch.float64)
WEIGHT /= WEIGHT.sum()


def test_mean_variance_of_single_particles_is_that_of_weighted_draws():
    centred = VALUE - WEIGHT @ VALUE
    expected = (WEIGHT[:, None] * centred).square().sum(0)
    assert torch.allclose(genealogy.mean_variance(VALUE, WEIGHT, torch.arange(200)), expected)


def test_mean_variance_of_copies_is_that_of_their_originals():
    equal, half = torch.full((200,), 1 / 200).double(), torch.arange(200) // 2
    copies = VALUE[half]
    expected = (copies - copies.mean(0)).square().sum(0) / 2 / 100**2
    assert torch.allclose(genealogy.mean_variance(copies, equal, half), expected)


def test_evidence_variance_is_zero_while_every_family_keeps_its_share():
    assert genealogy.evidence_variance(
        torch.full((10,), 0.1).double(), torch.arange(10)
    ) == pytest.approx(0, abs=1e-15)


def test_evidence_variance_of_weights_is_their_relative_variance():
    expected = float((200 * WEIGHT).var() / 200)
    assert genealogy.evidence_variance(WEIGHT, torch.arange(200)) == pytest.approx(expected)


def test_evidence_variance_saturates_at_one_when_one_family_is_left():
    assert genealogy.evidence_variance(WEIGHT, torch.zeros(200).long()) == pytest.approx(
        1, abs=0.01
    )
    assert genealogy.n_ancestors(WEIGHT, torch.zeros(200).long()) == pytest.approx(1)

import pytest
import torch

from pmcnet import ais
from pmcnet.ais.diagnostics import conditional_ess, ess
from pmcnet.errors import InputError

LOG_LIKELIHOOD = 30 * torch.randn(
    500, generator=torch.Generator().manual_seed(0), dtype=torch.float64
)
EQUAL = torch.full((500,), 1 / 500, dtype=torch.float64).log()


def test_conditional_ess_of_equal_weights_is_the_ess():
    assert conditional_ess(EQUAL, LOG_LIKELIHOOD) == pytest.approx(float(ess(LOG_LIKELIHOOD)))


@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.9])
def test_adaptive_tempering_reaches_the_fraction(fraction):
    following = ais.AdaptiveTempering(fraction)(0.1, LOG_LIKELIHOOD, EQUAL)
    assert 0.1 < following < 1
    assert conditional_ess(EQUAL, (following - 0.1) * LOG_LIKELIHOOD) == pytest.approx(
        fraction * 500, rel=1e-6
    )


def test_adaptive_tempering_with_carried_weights():
    carried = (LOG_LIKELIHOOD * 0.01).log_softmax(0)
    following = ais.AdaptiveTempering(0.5)(0.1, LOG_LIKELIHOOD, carried)
    assert conditional_ess(carried, (following - 0.1) * LOG_LIKELIHOOD) == pytest.approx(
        250, rel=1e-6
    )


def test_adaptive_tempering_ends_at_one():
    assert ais.AdaptiveTempering(0.5)(0.999, LOG_LIKELIHOOD / 100, EQUAL) == 1


def test_adaptive_tempering_advances_when_some_particles_have_no_likelihood():
    some = LOG_LIKELIHOOD.clone()
    some[:300] = -torch.inf
    assert 1e-3 < ais.AdaptiveTempering(0.5)(0.0, some, EQUAL) < 1


def test_fixed_tempering_follow_the_ladder():
    ladder = ais.FixedTempering((0.25, 1.0))
    assert [ladder(b, LOG_LIKELIHOOD, EQUAL) for b in (0.0, 0.25, 0.4)] == [0.25, 1.0, 1.0]


@pytest.mark.parametrize("ladder", [(), (0.5,), (0.5, 0.5, 1.0), (0.0, 1.0), (0.5, 1.5)])
def test_fixed_tempering_refuse_what_does_not_rise_to_one(ladder):
    with pytest.raises(InputError, match="rise"):
        ais.FixedTempering(ladder)


def test_adaptive_tempering_refuse_a_bad_fraction():
    with pytest.raises(InputError, match="ess_fraction"):
        ais.AdaptiveTempering(1.0)

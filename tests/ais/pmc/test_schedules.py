import pytest

from pmcnet.ais import Constant, Harmonic, LinearDecay
from pmcnet.errors import InputError


def test_values_are_the_papers():
    assert [Constant(0.5)(t) for t in (1, 2, 50)] == [0.5, 0.5, 0.5]
    assert [Harmonic()(t) for t in (1, 2, 4)] == [1.0, 0.5, 0.25]
    assert [LinearDecay(5)(t) for t in (1, 3, 5, 9)] == [1.0, 0.5, 0.0, 0.0]


def test_schedules_print():
    assert repr(Harmonic(0.5)) == "Harmonic(power=0.5)"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Constant(1.5), "value must lie in"),
        (lambda: Constant(float("nan")), "value must lie in"),
        (lambda: Harmonic(-1), "power must not be negative"),
        (lambda: LinearDecay(1), "n_steps must be at least 2"),
    ],
)
def test_bad_values_are_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()

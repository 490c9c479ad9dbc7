import math

import pytest

from pmcnet.errors import InputError
from pmcnet.tune import golden_section, smallest_stable


def test_golden_section_finds_the_minimum_of_a_smooth_loss():
    found = golden_section(lambda v: (math.log(v) - 1.3) ** 2, 0.01, 100, n_trials=25)
    assert found.bracketed
    assert math.log(found.best) == pytest.approx(1.3, abs=1e-3)


def test_golden_section_counts_its_trials_and_never_repeats_one():
    seen = []

    def loss(value):
        seen.append(value)
        return (math.log(value) - 1.3) ** 2

    found = golden_section(loss, 0.01, 100, n_trials=10)
    assert len(seen) == len(set(seen)) == len(found.trials) <= 11
    assert found.loss == min(v for _, v in found.trials)


def test_golden_section_says_when_the_minimum_is_at_an_end():
    found = golden_section(lambda v: v, 0.1, 10)
    assert not found.bracketed
    assert found.best == pytest.approx(0.1)


def test_golden_section_stands_a_plateau():
    found = golden_section(lambda v: -1.0, 0.1, 10)
    assert found.loss == -1.0


@pytest.mark.parametrize("ends", [(1, 0.5), (0, 1), (-1, 1)])
def test_bad_ranges_are_refused(ends):
    with pytest.raises(InputError, match="low < start < high"):
        golden_section(lambda v: v, *ends)


def test_a_search_needs_three_trials():
    with pytest.raises(InputError, match="n_trials must be at least 3"):
        golden_section(lambda v: v, 1, 2, n_trials=2)


def test_smallest_stable_is_where_change_ends():
    assert smallest_stable([0.5, 0.8, 0.9, 0.91, 0.9], tolerance=0.02) == 3
    assert smallest_stable([0.9, 0.5, 0.9], tolerance=0.02) == 3
    assert smallest_stable([0.9, 0.9, 0.9], tolerance=0.0) == 1
    with pytest.raises(InputError, match="at least one value"):
        smallest_stable([], tolerance=0.1)

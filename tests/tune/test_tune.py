import math

import pytest
import torch

from pmcnet.bnn import MLP, BayesianTarget, Gaussian, GaussianPrior
from pmcnet.errors import DivergedError, InputError
from pmcnet.tune import golden_section, grid_search, smallest_stable, validation_prior


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


@pytest.mark.parametrize("minimum", [0.03, 40.0])
def test_golden_section_looks_between_the_best_end_and_its_neighbour(minimum):
    """Where neither end nor their mean is near the minimum, the best of the three is an end."""
    found = golden_section(lambda v: math.log(v / minimum) ** 2, 0.01, 100, n_trials=12)
    assert found.bracketed
    assert found.best == pytest.approx(minimum, rel=0.1)


def test_golden_section_keeps_to_its_number_of_trials():
    for n_trials in range(3, 13):
        counts = [
            len(
                golden_section(
                    lambda v, at=at: (math.log(v) - at) ** 2, 0.01, 100, n_trials=n_trials
                ).trials
            )
            for at in torch.linspace(-4.6, 4.6, 41).tolist()
        ]
        assert max(counts) <= n_trials
        assert max(counts) == n_trials or n_trials == 4  # which is one too few for a step


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("is_good", [lambda v: v < 2, lambda v: v > 2, lambda v: False])
def test_golden_section_stands_losses_that_are_no_numbers(bad, is_good):
    found = golden_section(
        lambda v: (math.log(v) - 0.5) ** 2 if is_good(v) else bad, 0.05, 20, n_trials=8
    )
    if not is_good(1.0) and not is_good(4.0):
        assert (found.loss, found.bracketed) == (math.inf, False)
    else:
        assert found.loss < 0.6


def test_golden_section_stands_a_plateau():
    found = golden_section(lambda v: -1.0, 0.1, 10)
    assert (found.loss, found.bracketed) == (-1.0, False)
    assert found.best == pytest.approx(0.1)


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


def test_grid_search_keeps_the_earlier_of_equals():
    found = grid_search(
        ["a", "b", "c", "d"], {"a": 2.0, "b": 1.0, "c": 1.0, "d": math.nan}.__getitem__
    )
    assert (found.best, found.loss) == ("b", 1.0)
    assert [choice for choice, _ in found.trials] == ["a", "b", "c", "d"]
    assert found.ranked == ("b", "c", "a", "d")


def test_grid_search_counts_fits_that_diverge_as_the_worst():
    def loss(choice):
        if choice < 2:
            raise DivergedError("too fast")
        return float(choice)

    found = grid_search([0, 1, 3, 2], loss)
    assert found.best == 2
    assert [value for _, value in found.trials] == [math.inf, math.inf, 3.0, 2.0]


def test_grid_search_needs_a_choice():
    with pytest.raises(InputError, match="at least one choice"):
        grid_search([], float)


class Spread:
    """Stands in for a posterior: a Gaussian as wide as its prior."""

    def __init__(self, target):
        self.sigma = target.prior.sigma

    def log_predictive(self, x, y):
        return torch.distributions.Normal(0.0, self.sigma).log_prob(y)


def scaled_target():
    x = torch.zeros(4, 1, dtype=torch.float64)
    return BayesianTarget(MLP((1, 1)), Gaussian(1.0), x, x[:, 0], prior=GaussianPrior(1.0))


def test_validation_prior_tells_every_trial_and_survives_those_that_diverge():
    told, y = [], torch.tensor([-1.0, 1.0])

    def fit(target):
        spread = Spread(target)
        if spread.sigma < 0.5:
            raise DivergedError("narrow")
        return spread

    found = validation_prior(
        scaled_target(), fit, (y[:, None], y), n_trials=15, progress=lambda *t: told.append(t)
    )
    assert found.best == pytest.approx(
        1.0, rel=0.05
    )  # the likeliest width of two points at -1 and 1
    assert tuple(sorted(told)) == found.trials
    assert {value for sigma, value in told if sigma < 0.5} == {math.inf}


def test_validation_prior_counts_rows_by_their_weight():
    y, weight = torch.tensor([-1.0, 1.0, 100.0]), torch.tensor([2.0, 2.0, 0.0])
    found = validation_prior(scaled_target(), Spread, (y[:, None], y), weight=weight, n_trials=15)
    assert found.best == pytest.approx(1.0, rel=0.05)

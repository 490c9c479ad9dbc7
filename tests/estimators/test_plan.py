"""Which method is chosen, and why."""

import pytest
import torch

from pmcnet import ais
from pmcnet.bnn import MLP, BayesianTarget, LearnedGaussian
from pmcnet.errors import InputError
from pmcnet.estimators.plan import plan, seconds_of
from pmcnet.methods.cost import Cost
from pmcnet.methods.registry import options


def target(n_rows, n_hidden=16):
    x = torch.zeros(n_rows, 5)
    return BayesianTarget(MLP((5, n_hidden, 1)), LearnedGaussian(), x, x[:, 0])


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("3min", 180), ("1.5 h", 5400), (12, 12), (0.5, 0.5)]
)
def test_budget_is_read(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["soon", "", "-3min", 0, "3", True, None, "1..2s"])
def test_bad_budget_is_refused(text):
    with pytest.raises(InputError, match="budget must be positive seconds"):
        seconds_of(text)


def test_small_problem_gets_the_largest_islands_and_all_of_the_budget():
    chosen = plan(target(100), "auto", {}, budget="3min", searching=True)
    assert chosen.name == "annealed"
    assert (chosen.options.batch, chosen.options.n_particles) == (8, 64)
    assert chosen.options.max_seconds == 180
    assert "more follow within the budget of 3 min" in chosen.reason
    assert chosen.method.sampler.n_islands is None


def test_larger_problem_gets_another_method():
    large = plan(target(600_000), "auto", {}, budget="3min", searching=True)
    assert large.name == "hmc"
    assert (large.options.n_draws, large.options.max_seconds) == (None, 180)
    assert "more than half the budget of 3 min" in large.reason
    huge = plan(target(10_000_000), "auto", {}, budget="3min", searching=True)
    assert huge.name == "pmcnet-light"
    assert "more than half the budget of 3 min" in huge.reason


@pytest.mark.parametrize("compared", [True, False])
def test_islands_that_would_take_more_than_half_the_budget_are_not_begun(compared):
    """A machine may be half as fast as estimated."""
    sizes = (1000, 3000, 10_000, 30_000, 60_000)
    taken = [
        plan(target(n), "auto", {}, budget="3min", searching=True, compared=compared).name
        for n in sizes
    ]
    assert (taken[0], taken[-1]) == ("annealed", "hmc")
    assert taken == sorted(taken)


def test_named_method_is_taken_whatever_it_costs():
    assert plan(target(1_000_000), "annealed", {}, budget="1s", searching=True).name == "annealed"
    assert (
        plan(target(10), "dm-pmc", {"n_steps": 3}, budget="1s", searching=True).options.n_steps == 3
    )


@pytest.mark.parametrize(
    ("method", "size", "most"),
    [("hmc", "n_chains", 128), ("sghmc", "n_epochs", 2000), ("pmcnet-light", "n_steps", 20)],
)
def test_sizes_of_a_named_method_follow_from_the_budget(method, size, most):
    sizes = [
        getattr(plan(target(200_000), method, {}, budget=budget, searching=False).options, size)
        for budget in ("1s", "1min", "10min", "100h")
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == most
    given = plan(target(200_000), method, {size: 7}, budget="1s", searching=False)
    assert getattr(given.options, size) == 7


def test_trajectories_on_few_rows_are_not_free():
    """A leapfrog step of small networks takes about a millisecond, whatever its gradients cost."""
    assert plan(target(50), "hmc", {}, budget="2s", searching=False).options.n_chains == 8
    assert plan(target(50), "hmc", {}, budget="1min", searching=False).options.n_chains == 128


def test_thinned_chains_take_longer():
    """Trajectories between draws cost as much as those that end in one."""
    problem = target(240_000)
    once, thinned = (
        options("hmc", {"thin": thin, "n_draws": 100}, 240_000).seconds(Cost.of(problem))
        for thin in (1, 3)
    )
    assert thinned > 1.5 * once


def test_short_trajectories_leave_time_for_more_chains():
    few, many = (
        plan(
            target(240_000), "hmc", {"max_leapfrog": n}, budget="1min", searching=False
        ).options.n_chains
        for n in (60, 5)
    )
    assert many > few


def test_draws_that_are_given_take_no_notice_of_the_clock():
    given = plan(target(100), "hmc", {"n_draws": 7}, budget="1min", searching=False)
    sampler = given.method.sampler
    assert (sampler.n_draws, sampler.max_seconds, sampler.until_known) == (7, None, False)


def test_chains_are_taken_where_rows_say_much():
    chosen = plan(target(100), "auto", {}, budget="3min", searching=True, compared=True)
    assert (chosen.name, chosen.for_noise("by-row", 1000.0).name) == ("annealed", "hmc")
    assert chosen.for_noise("learn", 1000.0) is chosen
    assert chosen.for_noise("learn", 5000.0).name == "hmc"
    assert chosen.for_noise("by-row", 100.0) is chosen
    named = plan(target(100), "annealed", {}, budget="3min", searching=True, compared=True)
    assert named.for_noise("by-row", 1000.0) is named


def test_chains_that_do_not_fit_the_budget_say_so():
    asked = plan(target(20_000), "hmc", {}, budget="10s", searching=True)
    assert asked.reason.startswith("Method: hmc (requested); with n_warmup 20 it should take about")
    assert asked.reason.endswith("more than the budget of 10 s.")
    enough = plan(target(20_000), "hmc", {}, budget="1h", searching=True)
    assert enough.reason == "Method: hmc (requested)."
    small = plan(target(20_000), "annealed", {}, budget="1s", searching=False)
    assert "; it should take about" in small.reason
    assert small.reason.endswith("more than the budget of 1 s.")


def test_search_of_the_prior_has_its_share_of_the_budget():
    alone, searched = (
        plan(target(20_000), "hmc", {}, budget="1min", searching=searching).options.n_chains
        for searching in (False, True)
    )
    assert searched < alone


def test_senseless_sizes_are_refused_as_settings():
    with pytest.raises(InputError, match="n_chains must be"):
        plan(target(100), "hmc", {"n_chains": "many"}, budget="1min", searching=False)


def test_given_options_win():
    chosen = plan(target(100), "auto", {"n_particles": 24}, budget="3min", searching=False)
    assert chosen.options.n_particles == 24


def test_settings_of_annealed_make_auto_take_it():
    chosen = plan(target(1_000_000), "auto", {"max_moves": 8}, budget="1s", searching=True)
    assert (chosen.name, chosen.options.max_moves) == ("annealed", 8)
    assert "its settings were given" in chosen.reason
    assert chosen.reason.endswith("more than the budget of 1 s.")


@pytest.mark.parametrize(("n_islands", "batch"), [(8, 8), (16, 8), (12, 6), (4, 4), (11, 11)])
def test_islands_of_a_batch_divide_those_that_are_asked_for(n_islands, batch):
    asked = {"n_islands": n_islands}
    sampler = plan(target(100), "annealed", asked, budget="3min", searching=False).method.sampler
    assert (sampler.n_islands, sampler.annealing.n_islands) == (n_islands, batch)


def test_one_island_is_a_single_population():
    asked = {"n_islands": 1, "n_particles": 504}
    chosen = plan(target(100), "annealed", asked, budget="3min", searching=False)
    assert isinstance(chosen.method.sampler, ais.AnnealedPMC)
    assert chosen.method.work == "annealing 504 networks"


def test_time_that_a_search_took_is_not_spent_again():
    method = plan(target(100), "annealed", {}, budget=100.0, searching=True).method
    assert method.after(10.0).sampler.max_seconds == 90
    assert method.after(90.0).sampler.max_seconds == 85  # a search that overran its share
    assert method.trial().sampler.max_seconds == pytest.approx(15 / 4)

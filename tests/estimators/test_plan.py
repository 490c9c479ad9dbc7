"""Which method is chosen, and why."""

import pytest
import torch

from pmcnet.bnn import MLP, BayesianTarget, LearnedGaussian
from pmcnet.errors import InputError
from pmcnet.estimators.plan import plan, seconds_of
from pmcnet.methods.annealed import MOST_PARTICLES, n_gradients
from pmcnet.methods.cost import Cost


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


def test_small_problem_gets_the_most_particles():
    chosen = plan(target(100), "auto", {}, budget="3min", searching=True)
    assert chosen.name == "annealed"
    assert chosen.options.n_particles == MOST_PARTICLES


def test_larger_problem_gets_fewer_and_then_another_method():
    some = plan(target(30_000), "auto", {}, budget="3min", searching=True)
    assert some.name == "annealed"
    assert some.options.n_particles < MOST_PARTICLES
    large = plan(target(600_000), "auto", {}, budget="3min", searching=True)
    assert large.name == "hmc"
    assert 40 <= large.options.n_warmup + large.options.n_draws <= 400
    assert "more than the budget of 3 min" in large.reason
    huge = plan(target(10_000_000), "auto", {}, budget="3min", searching=True)
    assert huge.name == "pmcnet-light"
    assert "more than the budget of 3 min" in huge.reason


def test_named_method_is_taken_whatever_it_costs():
    assert plan(target(1_000_000), "annealed", {}, budget="1s", searching=True).name == "annealed"
    assert (
        plan(target(10), "dm-pmc", {"n_steps": 3}, budget="1s", searching=True).options.n_steps == 3
    )


@pytest.mark.parametrize(
    ("method", "size", "most"),
    [("hmc", "n_draws", 200), ("sghmc", "n_epochs", 2000), ("pmcnet-light", "n_steps", 20)],
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
    assert plan(target(50), "hmc", {}, budget="2s", searching=False).options.n_draws < 50
    assert plan(target(50), "hmc", {}, budget="1min", searching=False).options.n_draws == 200


def test_thinned_chains_take_the_same_time():
    """Trajectories between draws cost as much as those that end in one."""
    sizes = [
        plan(target(240_000), "hmc", {"thin": thin}, budget="4min", searching=False).options
        for thin in (1, 3)
    ]
    once, thinned = (chosen.n_warmup + chosen.thin * chosen.n_draws for chosen in sizes)
    assert thinned == pytest.approx(once, rel=0.1)


def test_short_trajectories_are_more():
    few, many = (
        plan(
            target(240_000), "hmc", {"max_leapfrog": n}, budget="1min", searching=False
        ).options.n_draws
        for n in (60, 10)
    )
    assert many > 3 * few


def test_chains_that_do_not_fit_the_budget_say_so():
    asked = plan(target(20_000), "hmc", {}, budget="10s", searching=True)
    assert asked.reason.startswith(
        "Method: hmc (requested); with n_warmup 20 and n_draws 20 it should take about"
    )
    assert asked.reason.endswith("more than the budget of 10 s.")
    enough = plan(target(20_000), "hmc", {}, budget="1h", searching=True)
    assert enough.reason == "Method: hmc (requested)."
    small = plan(target(20_000), "annealed", {}, budget="1s", searching=False)
    assert "with n_particles 64 it should take about" in small.reason


def test_search_of_the_prior_has_its_share_of_the_budget():
    alone, searched = (
        plan(target(20_000), "hmc", {}, budget="1min", searching=searching).options.n_draws
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
    assert "more than the budget of 1 s; its settings were given" in chosen.reason


def per_particle(n_rows):
    """Seconds that a particle adds to a run."""
    cost = Cost.of(target(n_rows))
    return (cost.gradient(n_rows) + cost.per_product) * n_gradients(n_rows)


def test_few_particles_are_within_a_small_budget():
    asked = {"n_particles": 8}
    cost = 8 * per_particle(100)
    assert (
        "within the budget"
        in plan(target(100), "auto", asked, budget=1.01 * cost, searching=False).reason
    )
    assert (
        "more than the budget"
        in plan(target(100), "auto", asked, budget=0.99 * cost, searching=False).reason
    )


def test_auto_takes_what_it_can_just_afford():
    for n_rows in (50, 333, 1000):
        for n_particles in (64, 72, 640):
            chosen = plan(
                target(n_rows),
                "auto",
                {},
                budget=n_particles * per_particle(n_rows) * (1 + 1e-9),
                searching=False,
            )
            assert chosen.options.n_particles == n_particles


def test_trial_of_the_prior_tells_how_long_the_run_takes():
    """Twice the gradients, or twice the particles, take twice the time."""
    cost = Cost.of(target(500))
    chosen = plan(target(500), "annealed", {"n_particles": 40}, budget="1min", searching=True)
    seconds = chosen.method.seconds_after(300, cost)
    assert seconds == pytest.approx(40 * 300 * (cost.gradient(500) + cost.per_product))
    assert chosen.method.seconds_after(600, cost) == pytest.approx(2 * seconds)

from types import SimpleNamespace

import pytest

from pmcnet.runs.advice import advice


def model(status, method="annealed", made=0, **options):
    return SimpleNamespace(
        verdict_=SimpleNamespace(status=status),
        method_=method,
        method_options_=options,
        posterior_=SimpleNamespace(n_islands=made),
    )


def test_nothing_is_advised_where_the_posterior_can_be_trusted():
    assert advice(model("trustworthy")) == []


@pytest.mark.parametrize(("given", "doubled"), [({"n_islands": 12}, 24), ({}, 16)])
def test_more_islands_are_advised_first(given, doubled):
    first, *rest = advice(model("doubtful", **given))
    assert f"--option n_islands={doubled} " in first
    assert "larger --budget" in first
    assert len(rest) == 2


def test_islands_that_the_budget_made_are_doubled():
    first, *_ = advice(model("doubtful", made=24))
    assert "--option n_islands=48 (now 24)" in first


def test_chains_are_advised_to_run_longer():
    first, *_ = advice(model("doubtful", "hmc", n_warmup=50, n_draws=70))
    assert "--option n_warmup=100 --option n_draws=140 (now 50 and 70)" in first


def test_another_method_is_advised_where_nothing_measures_the_fit():
    first, second = advice(model("doubtful", "ensemble"))
    assert "--method annealed" in first
    assert "not a posterior" in second

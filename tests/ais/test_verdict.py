"""The verdict module: ordered rules, one set of limits, and a reason that names what was broken."""

import ast
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from pmcnet import ais
from pmcnet.ais import verdict as verdict_function
from pmcnet.ais.agreement import Agreement
from pmcnet.ais.hmc.result import ChainResult
from pmcnet.ais.islands.state import Settling
from pmcnet.ais.verdict import (
    STATUSES,
    Rule,
    Verdict,
    chain_verdict,
    evidence_note,
    is_known,
    islands_verdict,
    khat_limit,
    max_chain_drift,
    needed_islands,
)
from pmcnet.ais.verdict.limits import MAX_KHAT, MIN_ESS
from pmcnet.ais.verdict.rules import first_broken

SOURCE = Path(ais.__file__).parents[1]


def chains(shift: float = 0.0, acceptance: float = 0.8, n_draws: int = 200) -> ChainResult:
    """Eight chains that agree, or half of which are shifted."""
    noise = torch.Generator().manual_seed(0)
    monitors = torch.randn(n_draws, 8, 3, generator=noise, dtype=torch.float64)
    monitors[:, ::2] += shift
    values = torch.randn(n_draws, 8, generator=noise, dtype=torch.float64)
    theta = torch.zeros(n_draws, 8, 2, dtype=torch.float64)
    return ChainResult(theta, values, monitors, (), True, acceptance)


def test_first_broken_rule_decides():
    rules = [
        Rule(False, "degenerate", "first", "Do a."),
        Rule(True, "doubtful", "second", "Do b."),
        Rule(True, "degenerate", "third", "Do c."),
    ]
    found = first_broken(iter(rules), "fine.", {"x": 1.0})
    assert found == Verdict("doubtful", "second. Do b.", {"x": 1.0})
    assert first_broken(iter(rules[:1]), "fine.", {}).status == "trustworthy"


def test_verdict_of_weights_carries_the_limits_that_were_applied():
    found = verdict_function(torch.zeros(504, dtype=torch.float64))
    assert found.status == "trustworthy"
    assert found.limits["ess"] == MIN_ESS
    assert found.limits["khat"] == khat_limit(504) < MAX_KHAT


def test_khat_between_the_limit_of_few_draws_and_that_of_many_is_doubtful():
    generator = torch.Generator().manual_seed(13)
    heavy = -0.65 * torch.rand(504, generator=generator, dtype=torch.float64).log()
    found = verdict_function(heavy)
    khat = ais.khat(heavy)
    assert khat_limit(504) < khat < MAX_KHAT
    assert found.status == "doubtful"
    assert f"k-hat is {khat:.2f}, above {found.limits['khat']:.2f}" in found.reason


def test_chains_that_agree_are_trustworthy():
    found = chains().verdict
    assert found.status == "trustworthy"
    assert found.limits["drift"] == max_chain_drift(8)


@pytest.mark.parametrize(
    ("result", "status", "text"),
    [
        (chains(shift=1.0), "doubtful", "chains differ in what they predict"),
        (chains(shift=99.0), "degenerate", "chains are in different places"),
        (chains(acceptance=0.1), "doubtful", "only 10% of the trajectories were accepted"),
        (chains(acceptance=math.nan), "doubtful", "of the trajectories were accepted"),
        (chains(n_draws=3), "degenerate", "too few to judge"),
    ],
)
def test_rules_of_chains(result, status, text):
    found = result.verdict
    assert found.status == status
    assert text in found.reason


def islands(
    quantity="values", seconds=60.0, acceptance=0.8, correlation=0.1, fit_drift=0.0, **changed
):
    """A result of sixteen islands of which only what is judged is there."""
    known = {"median": 0.03, "upper": 0.06, "std_error": 0.01, "rhat": 1.1, "drift": 0.0}
    agreement = Agreement(quantity, 16, **(known | changed), ess=400.0)
    settling = Settling(correlation, 0.1, fit_drift, 0.3)
    state = SimpleNamespace(acceptance=acceptance, settling=settling, seconds=seconds)
    return SimpleNamespace(agreement=agreement, state=state, n_islands=16)


def test_islands_that_agree_are_trustworthy_and_say_how_far():
    found = islands_verdict(islands())
    assert found.status == "trustworthy"
    assert "off by 3.0% of their stated spread (6.0% for one row in ten)" in found.reason
    assert (found.limits["error"], found.limits["error_upper"]) == (0.05, 0.1)
    known = islands_verdict(islands("probabilities", median=0.005, upper=0.02))
    assert known.status == "trustworthy"
    assert "probabilities may be off by 0.005 (0.02 for one row in ten)" in known.reason


# Each rule with the case that made it necessary.
@pytest.mark.parametrize(
    ("result", "status", "text"),
    [
        # eight islands of energy in modes of their own
        (islands(median=0.08, upper=0.09), "doubtful", "off by 8.0% of their stated spread"),
        (islands(median=0.02, upper=0.2), "doubtful", "the 16 islands disagree"),
        (islands("probabilities", median=0.02, upper=0.02), "doubtful", "off by 0.02"),
        # four islands of kin8nm that thirty seconds left in different places
        (islands(rhat=3.7), "degenerate", "in different places"),
        (islands(rhat=math.nan), "degenerate", "in different places"),
        # the funnel, whose first coordinate moves slowly
        (islands("coordinates", correlation=0.6), "doubtful", "still where annealing left them"),
        (islands(correlation=0.95), "doubtful", "still where annealing left them"),
        # a base that did not cover two badly scaled regressions
        # thirty-two islands of friedman-noisy-6-tanh, .23 off: their fit rises while they agree
        (islands(fit_drift=0.17), "doubtful", "all islands still drift alike"),
        (islands(drift=0.5), "doubtful", "predictions still shift, by 0.50"),
        (islands(acceptance=0.1), "doubtful", "only 10% of the trajectories"),
    ],
)
def test_rules_of_islands(result, status, text):
    found = islands_verdict(result)
    assert found.status == status
    assert text in found.reason


def test_remedy_names_the_islands_and_the_budget_that_would_do():
    """The error falls as 1 / sqrt(G); a run ends at four fifths of the limit."""
    doubtful = islands(median=0.08, upper=0.1, seconds=50.0)
    assert needed_islands(doubtful.agreement) == math.ceil(16 * (0.08 / 0.05 / 0.8) ** 2) == 64
    assert "About 64 islands" in islands_verdict(doubtful).reason
    assert "a budget of about 4 min" in islands_verdict(doubtful).reason
    short = islands(median=0.08, upper=0.1, seconds=5.0)
    assert "a budget of about 20 s" in islands_verdict(short).reason


def test_a_run_ends_once_predictions_are_well_known():
    assert is_known(islands().agreement)
    assert not is_known(islands(median=0.045).agreement)
    assert not is_known(islands(drift=0.5).agreement)


@pytest.mark.parametrize(
    ("error", "text"),
    [(0.3, "known to 0.3"), (5.0, "cannot choose between models"), (math.inf, "is unknown")],
)
def test_evidence_is_judged_apart(error, text):
    assert text in evidence_note(error)


def test_chains_are_judged_by_their_predictions_where_these_are_known():
    close = Agreement("values", 8, 0.02, 0.04, 0.01, 1.2, 0.0, 300.0)
    assert chain_verdict(chains(shift=0.7), close).status == "trustworthy"
    far = close._replace(median=0.2)
    found = chain_verdict(chains(), far)
    assert found.status == "doubtful"
    assert "the 8 chains disagree" in found.reason


def test_statuses_run_from_the_best_to_the_worst():
    assert STATUSES == ("trustworthy", "doubtful", "degenerate")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.stem)
def test_thresholds_of_verdicts_are_defined_in_one_module(path):
    names = {
        target.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    limits = {
        "MIN_ESS",
        "DEGENERATE_ESS",
        "MAX_KHAT",
        "MIN_ACCEPTANCE",
        "MAX_RHAT",
        "MAX_ERROR",
        "SEPARATE_RHAT",
        "STATUSES",
        "MIN_CHAIN_DRAWS",
    }
    assert not names & limits or path.parts[-2:] in {
        ("verdict", "limits.py"),
        ("verdict", "rules.py"),
    }

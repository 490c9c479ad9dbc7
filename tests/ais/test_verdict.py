"""The verdict module: ordered rules, one set of limits, and a reason that names what was broken."""

import ast
import math
from pathlib import Path

import pytest
import torch

from pmcnet import ais
from pmcnet.ais import verdict as verdict_function
from pmcnet.ais.hmc.result import ChainResult
from pmcnet.ais.verdict import STATUSES, Rule, Verdict, khat_limit, max_chain_drift
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

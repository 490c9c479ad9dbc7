import math

import numpy as np
import pytest
import torch

from pmcnet.ais import diagnostics
from pmcnet.ais.diagnostics import khat
from pmcnet.ais.verdict import khat_limit, verdict


def random_log_weight(n, scale=1.0, seed=0):
    return (
        torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale
    )


def test_ess_of_equal_weights_is_their_number():
    assert diagnostics.ess(
        torch.full((7, 50), -1e5, dtype=torch.float64)
    ).tolist() == pytest.approx([50] * 7)


def test_ess_of_one_heavy_weight_is_one():
    log_weight = torch.full((50,), -1e4, dtype=torch.float64)
    log_weight[3] = 1e4
    assert float(diagnostics.ess(log_weight)) == 1.0
    assert float(diagnostics.max_weight(log_weight)) == 1.0


def test_ess_per_proposal_ignores_the_others():
    log_weight = random_log_weight(60).reshape(3, 20)
    shifted = log_weight + torch.tensor([[0.0], [500.0], [-500.0]])
    torch.testing.assert_close(diagnostics.ess(shifted), diagnostics.ess(log_weight))


def test_all_weights_zero_have_no_effective_draw_and_no_evidence():
    nothing = torch.full((4, 30), -math.inf, dtype=torch.float64)
    assert not diagnostics.ess(nothing).any()
    assert float(diagnostics.log_evidence(nothing)) == -math.inf
    assert float(diagnostics.log_evidence_error(nothing)) == math.inf
    assert khat(nothing) == math.inf
    assert verdict(nothing).status == "degenerate"


def test_evidence_error_is_the_spread_over_repetitions():
    """Log-normal weights from strata with different means: only the variance within counts."""
    generator = torch.Generator().manual_seed(0)
    level = torch.arange(10, dtype=torch.float64)[:, None] / 3
    repeats = torch.randn(400, 10, 200, generator=generator, dtype=torch.float64) * 0.5 + level
    estimates = torch.stack([diagnostics.log_evidence(r) for r in repeats])
    claimed = torch.stack([diagnostics.log_evidence_error(r) for r in repeats]).mean()
    assert abs(float(claimed / estimates.std()) - 1) < 5 / math.sqrt(2 * 400)


def test_evidence_error_of_single_draws_is_pooled():
    log_weight = random_log_weight(500)
    torch.testing.assert_close(
        diagnostics.log_evidence_error(log_weight[:, None]),
        diagnostics.log_evidence_error(log_weight[None]),
    )
    assert float(diagnostics.log_evidence_error(log_weight[:1, None])) == math.inf


@pytest.mark.parametrize("index", [0.2, 0.5, 0.75, 1.2, 2.0])
def test_khat_finds_the_index_of_a_pareto(index):
    """Weights u^-k are Pareto with index k; its error is about (1 + k) / sqrt(tail draws)."""
    n = 40_000
    u = np.random.default_rng(0).random(n)
    tail = 3 * math.sqrt(n)
    assert abs(khat(torch.as_tensor(-index * np.log(u))) - index) < 4 * (1 + index) / math.sqrt(
        tail
    )


def test_khat_ignores_a_constant():
    log_weight = random_log_weight(2000, scale=2)
    assert khat(log_weight) == pytest.approx(khat(log_weight + 12345.0), abs=1e-9)
    assert khat(log_weight) == pytest.approx(khat(log_weight - 1e6), abs=1e-6)


def test_khat_of_bounded_weights_is_small():
    weight = np.random.default_rng(0).random(10_000)
    assert khat(torch.as_tensor(np.log(weight))) < 0.1


@pytest.mark.parametrize("level", [0.0, -3.7, 1e5])
def test_khat_of_equal_weights_is_zero(level):
    assert khat(torch.full((1000,), level, dtype=torch.float64)) == 0.0


def test_khat_takes_rounding_for_equality():
    """Proposals equal to the target give weights that differ in the last digit: no tail."""
    log_weight = torch.full((2000,), -12.5, dtype=torch.float64)
    log_weight[:5] += 1e-15
    log_weight += random_log_weight(2000, 1e-14)
    assert khat(log_weight) == 0.0
    assert verdict(log_weight).status == "trustworthy"


@pytest.mark.parametrize("gap", [1e2, 1e3, 1e6])
def test_khat_of_one_hot_weights_is_infinite(gap):
    log_weight = torch.full((5000,), -gap, dtype=torch.float64) - torch.arange(5000)
    log_weight[17] = 0
    assert khat(log_weight) > 1
    log_weight = torch.full((5000,), -math.inf, dtype=torch.float64)
    log_weight[17] = 0
    assert khat(log_weight) == math.inf


@pytest.mark.parametrize("n", [1, 5, 19, 24])
def test_khat_of_too_few_draws_is_infinite(n):
    assert khat(random_log_weight(n)) == math.inf


@pytest.mark.parametrize("n", [25, 26, 225, 226, 1000])
def test_khat_is_never_nan(n):
    for scale in (1e-12, 1e-3, 1.0, 30.0, 1e4):
        assert not math.isnan(khat(random_log_weight(n, scale)))


def test_khat_needs_no_float64_input():
    log_weight = random_log_weight(5000)
    assert khat(log_weight.float()) == pytest.approx(khat(log_weight), abs=1e-3)


def test_verdict_trusts_good_weights():
    assert verdict(random_log_weight(5000, 0.3)).status == "trustworthy"


def test_verdict_doubts_few_effective_draws():
    assert verdict(random_log_weight(60, 0.3)).status == "doubtful"


def test_verdict_doubts_a_heavy_tail():
    u = np.random.default_rng(0).random(100_000)
    judged = verdict(torch.as_tensor(-0.85 * np.log(u)))
    assert judged.status == "doubtful"
    assert "above 0.70" in judged.reason


def test_verdict_calls_a_handful_of_draws_degenerate():
    judged = verdict(random_log_weight(5000, 30.0))
    assert judged.status == "degenerate"
    assert "of 5000 draws carry the weight" in judged.reason
    assert str(judged) == f"degenerate: {judged.reason}"


def test_verdict_says_what_to_do_when_it_does_not_trust():
    for log_weight in (random_log_weight(60), random_log_weight(5000, 30.0)):
        assert "do not read the spread as uncertainty" in verdict(log_weight).reason


def test_khat_limit_grows_with_the_number_of_draws():
    limits = [khat_limit(n) for n in (5, 100, 1000, 10**6)]
    assert limits == pytest.approx([0, 0.5, 2 / 3, 0.7])

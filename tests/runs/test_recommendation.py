"""The sentence that ends a comparison: which method to use, in every case."""

import numpy as np
import pytest

from pmcnet.runs.recommendation import Lead, Standing, recommendation

N = 400
NOISE = np.random.default_rng(0).normal(size=(6, N))
NOISE -= NOISE.mean(1, keepdims=True)
BASE = np.abs(NOISE[0]) + 1


def standing(name, nll=None, *, mse=0.0, crps=0.0, ours=False, noise=1, **given):
    """Losses about as far above those of the others as is said."""
    jitter = 0.1 * NOISE[noise]
    losses = {"mse": BASE + mse + jitter, "crps": BASE + crps + jitter}
    if nll is not None:
        losses["nll"] = BASE + nll + jitter
    chosen = {"verdict": "trustworthy" if ours else None, "coverage": 0.9, "seconds": 1.0}
    return Standing(name=name, ours=ours, losses=losses, **(chosen | given))


def ours(nll=0.0, **given):
    return standing("annealed", nll, ours=True, noise=2, **given)


def test_method_of_pmcnet_that_is_clearly_ahead_is_recommended():
    said = recommendation([ours(), standing("linear", 0.5), standing("ngboost", 0.2)], N)
    assert said.startswith("Use annealed (pmcnet): its log-likelihood is ahead of that of ngboost")
    assert "the next best, by 0.2" in said
    assert said.endswith("nats per row.")
    assert said.count(".") == said.count("0.") + 1


def test_better_library_is_recommended_with_what_speaks_for_ours():
    best = standing("catboost", -0.21, coverage=0.8)
    said = recommendation([ours(coverage=0.91), best, standing("linear", 1.0, noise=3)], N)
    assert said.startswith(
        "Use catboost: its log-likelihood is ahead of that of annealed, the next best, by 0.2"
    )
    assert "annealed is within a tie in RMSE and covers better (91% of rows against 80%" in said


def test_better_library_is_named_beside_the_best_of_ours_where_others_lie_between():
    others = [standing("catboost", -0.4), standing("ngboost", -0.2, noise=3)]
    said = recommendation([ours(mse=0.5), *others], N)
    assert "ahead of that of annealed, the best of pmcnet, by 0.4" in said
    assert "annealed is behind in RMSE" in said
    assert "covers" not in said


def test_tie_names_all_in_it_and_the_fastest():
    others = [standing("linear", 0.001, seconds=0.02), standing("ngboost", 0.6, noise=3)]
    said = recommendation([ours(seconds=50), *others], N)
    assert said.startswith("Use annealed (pmcnet) or linear: their log-likelihoods are within a ")
    assert "linear is the fastest of them, in 0.02 s" in said
    assert "ngboost" not in said


def test_tie_of_libraries_says_how_far_ours_is_behind():
    others = [standing("catboost", -0.4), standing("ngboost", -0.4, noise=3)]
    said = recommendation([ours(), *others], N)
    assert "Use catboost or ngboost" in said or "Use ngboost or catboost" in said
    assert "is ahead of annealed, the best of pmcnet, by 0.4" in said


def test_long_ties_name_the_best_ours_and_the_fastest():
    others = [standing(f"other {i}", 0.0, noise=1 + i, seconds=5 - i) for i in range(1, 5)]
    best = standing("other 0", -1e-6, noise=1, seconds=9)
    said = recommendation([ours(seconds=50), best, *others], N)
    assert said.startswith("Use other 0 or ")
    assert "annealed (pmcnet)" in said.split(":")[0]
    assert "other 4" in said.split(":")[0]
    assert "or 3 others:" in said
    assert "other 4 is the fastest of them, in 1 s" in said


def test_coverage_that_chance_explains_is_not_praised():
    best = standing("catboost", -0.21, coverage=0.88)
    assert "covers" not in recommendation([ours(coverage=0.9), best], N)


def test_quantile_regression_that_is_better_in_crps_is_named():
    said = recommendation([ours(), standing("lightgbm", crps=-0.3)], N)
    assert said.startswith("Use annealed (pmcnet): no other method has a log-likelihood to compare")
    assert "lightgbm, which has no density, is ahead of annealed in CRPS by 0.3" in said
    assert "lightgbm" not in recommendation([ours(), standing("lightgbm", crps=0.3)], N)


def test_degenerate_runs_are_not_recommended():
    said = recommendation([ours(-1.0, verdict="degenerate"), standing("linear", 0.0)], N)
    assert said.startswith("Use linear")
    assert "the verdict of annealed is degenerate" in said
    alone = recommendation([ours(verdict="degenerate")], N)
    assert alone == "Use none of them: every run is degenerate."


def test_doubtful_verdict_of_the_best_of_ours_is_said():
    said = recommendation([ours(verdict="doubtful"), standing("linear", 0.5)], N)
    assert said.endswith("; the verdict of annealed is doubtful.")


def test_classes_are_compared_by_accuracy_beside():
    source = np.random.default_rng(1)
    wrong = (source.random(N) < 0.3).astype(float)
    mine = ours()._replace(losses={"nll": BASE + 0.3, "error": wrong}, coverage=None)
    best = standing("catboost")._replace(
        losses={"nll": BASE + 0.01 * NOISE[1], "error": np.zeros(N)}, coverage=None
    )
    said = recommendation([mine, best], N)
    assert "annealed is behind in accuracy" in said


def test_method_that_held_a_truth_impossible_is_behind():
    impossible = standing("random-forest", -1.0)
    impossible.losses["nll"][3] = np.inf
    said = recommendation([ours(), impossible], N)
    assert said.startswith("Use annealed (pmcnet)")
    assert "by infinitely much" in said
    assert "nan" not in said


def test_methods_of_pmcnet_alone_are_not_marked_as_its_own():
    said = recommendation([ours(), standing("bbp", 0.4, ours=True)], N)
    assert said.startswith("Use annealed: its log-likelihood is ahead of that of bbp")
    assert "pmcnet" not in said


@pytest.mark.parametrize(("n", "words"), [(1, "1 test row cannot"), (9, "9 test rows cannot")])
def test_few_rows_recommend_nothing(n, words):
    assert recommendation([ours()], n).startswith(words)


def test_lead_is_the_paired_difference_with_its_standard_error():
    difference = NOISE[1] + 0.5
    lead = Lead.of(BASE, BASE + difference)
    assert lead.mean == pytest.approx(difference.mean())
    assert lead.error == pytest.approx(difference.std(ddof=1) / np.sqrt(N))
    assert lead.clear
    assert not Lead.of(BASE, BASE + NOISE[1] - NOISE[1].mean()).clear


@pytest.mark.parametrize(
    ("lead", "text"),
    [
        (Lead(0.2134, 0.0512), "0.21 ± 0.05"),
        (Lead(12.34, 3.2), "12 ± 3"),
        (Lead(0.00123, 0.0004), "0.0012 ± 0.0004"),
        (Lead(0.5, 0.0), "0.500 ± 0.000"),
        (Lead(np.inf, 0.0), "infinitely much"),
    ],
)
def test_leads_are_written_to_the_place_of_their_error(lead, text):
    assert lead.text == text

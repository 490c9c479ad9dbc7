import math
import re

import numpy as np
import pytest

from pmcnet.ais.agreement import Agreement
from pmcnet.ais.verdict import stated
from pmcnet.reports.calibration_checks import Confidence
from pmcnet.reports.card_numbers import three_numbers
from pmcnet.reports.first_card import card_of, error_words, first_card
from pmcnet.reports.notebook_card import notebook_card
from pmcnet.reports.style_sheets import card_style, style_sheet
from reports import records


def measured(task, values, **more):
    """A bare record with metrics by name."""
    record = records.bare(task)
    record["metrics"] = [{"name": name, "value": value} for name, value in values.items()]
    record["summary"] |= {"n_test": 100} | more.pop("summary", {})
    return record | more


def shown(record):
    return [tuple(number) for number in three_numbers(record)]


def test_numbers_of_a_regression_are_coverage_error_and_crps():
    values = {"rmse": 3.0, "r2": 0.91, "mae": 2.2, "nll": 2.4, "crps": 1.61, "coverage90": 0.88}
    assert shown(measured("regression", values)) == [
        ("of 100 test rows in 90 % intervals", "88 %", "90 % is right; 84 % to 96 % by chance"),
        ("typical error", "3.00", "the spread of y is 10.0 (R squared 0.910)"),
        ("CRPS", "1.61", "2.20 if the mean were stated without its spread"),
    ]


def test_spread_of_y_is_its_standard_deviation():
    y = np.random.default_rng(0).normal(size=50)
    mse = 0.3
    values = {"rmse": math.sqrt(mse), "r2": 1 - mse / y.var()}
    (error, *_) = three_numbers(measured("regression", values))
    assert f"is {y.std():.3f} " in error.beside


def test_calibrated_intervals_take_the_place_of_those_stated():
    values = {"coverage90": 0.7, "conformal_coverage90": 0.91}
    (coverage, *_) = three_numbers(measured("regression", values))
    assert coverage[:2] == ("of 100 test rows in calibrated 90 % intervals", "91 %")


def test_numbers_of_classes_stand_beside_what_needs_no_features():
    record = measured(
        "binary",
        {"accuracy": 0.93, "nll": 0.2, "ece": 0.031},
        confusion=[[20.5, 4.5], [1.0, 74.0]],
        summary={"base_rate": {"class": "good", "accuracy": 0.75}},
        calibration={"bins": [{"confidence": 0.9, "accuracy": 0.93, "n": 100}]},
    )
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    chance = math.sqrt(2 / math.pi * 0.9 * 0.1 / 100)
    assert shown(record) == [
        ("of 100 test rows right", "93 %", "always saying 'good' would get 75 %"),
        ("log loss", "0.200", f"stating the shares of the classes would get {entropy:.3f}"),
        ("calibration error", "0.0310", f"about {chance:.4f} by chance, if calibrated"),
    ]


def test_numbers_of_censored_times_are_those_that_exist():
    values = {"nll": 3.2, "mae_observed": 4.0, "rmse_observed": 5.0}
    labels = [label for label, *_ in shown(measured("regression", values))]
    assert labels == [
        "typical error of observed events",
        "log-likelihood per row",
        "effective draws",
    ]


def test_without_test_rows_the_draws_are_counted():
    record = records.bare()
    record["diagnostics"] |= {"ess": 146.2, "n_draws": 256, "n_islands": 4, "log_evidence": -19.7}
    assert [pair[:2] for pair in shown(record)] == [
        ("effective draws", "146"),
        ("islands", "4"),
        ("log evidence", "\N{MINUS SIGN}19.7"),
    ]


def test_gap_by_chance_is_that_of_calibrated_probabilities():
    rng = np.random.default_rng(0)
    confidence, n, n_trials = np.array([0.6, 0.8, 0.95]), np.array([50, 80, 70]), 4000
    right = rng.binomial(n, confidence, (n_trials, 3)) / n
    gaps = np.abs(right - confidence) @ (n / n.sum())
    pairs = zip(confidence, n, strict=True)
    bins = [{"confidence": c, "accuracy": c, "n": int(k)} for c, k in pairs]
    found = Confidence.of(records.bare() | {"calibration": {"bins": bins}})
    # the half-normal approximation of binomial shares is good to a few percent
    assert found.gap == pytest.approx(gaps.mean(), rel=0.05)
    assert found.error == pytest.approx((right @ (n / n.sum())).std(), rel=0.05)


@pytest.mark.parametrize("quantity", ["values", "probabilities"])
def test_error_is_stated_once_and_in_the_words_of_the_verdict(quantity):
    agreement = Agreement(quantity, 4, 0.021, 0.04, math.nan, 1.0, 0.0, 100.0)
    record = records.bare()
    record["diagnostics"] |= {"quantity": quantity, "n_islands": 4, "error": 0.021}
    record["diagnostics"] |= {"error_upper": 0.04}
    assert error_words(record).lower() == stated(agreement)
    assert card_of(record).error == error_words(record)
    record["verdict"]["reason"] = f"{stated(agreement)}, by the disagreement of 4 islands."
    card = card_of(record)
    assert card.error is None
    assert card.reason.startswith(error_words(record))


def test_card_says_what_was_made_as_far_as_it_is_known():
    assert card_of(records.binary()).made == (
        "annealed · categorical, scales by layer · network 33-16-1, tanh · 280 training rows · "
        "33 features"
    )
    assert card_of(records.bare()).made == "3 training rows · 1 feature"


def test_card_has_one_sentence_of_advice():
    for make in (records.binary, records.multiclass, records.regression):
        body = first_card(make())
        assert body.count("What to do: ") == 1
        assert card_of(make()).advice in body.replace("&#x27;", "'")


def test_card_of_a_notebook_styles_nothing_else():
    style = re.sub(r"@media[^{]*\{(.*?\n\}) \}", r"\1", card_style(), flags=re.DOTALL)
    selectors = re.findall(r"^([^{}\n]+)\{", style, flags=re.MULTILINE)
    assert len(selectors) > 20
    assert all(".pmcnet" in part for selector in selectors for part in selector.split(","))


def test_card_of_a_notebook_has_every_colour_that_it_uses():
    style = card_style()
    used = set(re.findall(r"var\((--[\w-]+)\)", style))
    dark = style.split("prefers-color-scheme: dark")[1].split("}")[0]
    assert used <= set(re.findall(r"(--[\w-]+):", dark))
    assert dark.split("{")[2].strip() in style_sheet("report.css")


def test_card_of_a_notebook_escapes_names():
    assert "<script" not in notebook_card(card_of(records.bare()), "<script>alert(1)</script>")

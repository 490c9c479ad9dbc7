import pytest

from pmcnet.ais.verdict.chain_rules import WEIGHED_MODES
from pmcnet.reports.advice import MEANING, advice
from reports import records


def judged(status, method="annealed", made=0, budget=None, **options):
    """A bare record with a verdict on a method with options."""
    record = records.bare()
    record["verdict"] = {"status": status, "reason": "because."}
    record["summary"] |= {"method": method, "method_options": options}
    record["diagnostics"] |= {"n_islands": made or None}
    record["settings"] = {"budget": budget}
    return record


def trusted(task="regression", n_test=400, **changes):
    """A record whose draws can be trusted, with metrics by name."""
    record = records.bare(task)
    metrics = changes.pop("metrics", {})
    record["metrics"] = [{"name": name, "value": value} for name, value in metrics.items()]
    record["summary"] |= {"n_test": n_test} | changes.pop("summary", {})
    return record | changes


def bins(confidence, accuracy, n):
    return {"bins": [{"confidence": confidence, "accuracy": accuracy, "n": n}]}


@pytest.mark.parametrize(
    ("given", "now", "doubled"),
    [({"n_islands": 12}, 12, 24), ({}, "by the budget", 16), ({"made": 24}, 24, 48)],
)
def test_doubtful_islands_are_doubled(given, now, doubled):
    first, *rest = advice(judged("doubtful", budget="3min", **given))
    assert first == (
        f"Run longer, with a larger budget (now 3min) or the method option n_islands={doubled} "
        f"(now {now}), before a decision rests on probabilities or intervals."
    )
    assert rest[0] == "Or use a smaller network: fewer hidden units have fewer modes to find."
    assert len(rest) == 2


def test_doubtful_chains_run_longer():
    first, *_ = advice(judged("doubtful", "hmc", budget=90.0, n_warmup=20, n_draws=70))
    assert "a larger budget (now 90 s) or the method options n_warmup=40 and n_draws=140" in first
    assert "(now 20 and 70)" in first


def test_chains_as_long_as_a_budget_makes_them_need_the_options():
    first, *_ = advice(judged("doubtful", "hmc", n_warmup=2500, n_draws=2500))
    assert first.startswith("Run longer, with the method options n_warmup=5000 and n_draws=5000")


def test_chains_that_keep_a_budget_need_a_larger_one():
    first, *_ = advice(judged("doubtful", "hmc", budget=90.0, n_warmup=50, max_seconds=90.0))
    assert "a larger budget (now 90 s) or the method options n_warmup=100 and n_draws=200" in first
    assert "(now 50 and by the budget)" in first


def test_chains_that_stay_in_their_modes_need_another_method():
    record = judged("doubtful", "hmc", budget=90.0, max_seconds=90.0)
    record["verdict"]["reason"] = f"each chain stays near its mode. {WEIGHED_MODES}"
    first, *rest = advice(record)
    assert first.startswith("Fit with method annealed before a decision")
    assert "longer" not in " ".join(rest)


def test_another_method_is_advised_where_nothing_measures_the_fit():
    first, *_ = advice(judged("doubtful", "ensemble", budget="20s"))
    assert first.startswith(
        "Fit with method annealed, or with a larger budget (now 20s) so that auto takes it"
    )
    assert first.endswith("not of a posterior.")


def test_intervals_of_a_degenerate_run_are_not_to_be_read():
    first, longer, *_ = advice(judged("degenerate", made=8))
    assert first == (
        "Do not read probabilities or intervals off this run: do what the verdict says, and fit "
        "again."
    )
    assert "n_islands=16 (now 8)" in longer


@pytest.mark.parametrize("options", ["text", None, {"n_islands": "many"}, {"unknown": 3}])
def test_advice_takes_options_of_any_version(options):
    record = judged("doubtful")
    record["summary"]["method_options"] = options
    assert "n_islands=16 (now by the budget)" in advice(record)[0]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            trusted(metrics={"r2": 0.9}, update={"drift": True}),
            "Look at the newest rows before you rely on the update: they are far less probable "
            "than the model expected, so their source may have changed.",
        ),
        (
            trusted(n_test=0),
            "Measure the model on rows that the fit has not seen: the verdict is about the draws, "
            "and says nothing of how good the predictions are.",
        ),
        (
            trusted(
                "binary",
                metrics={"accuracy": 0.62},
                summary={"base_rate": {"class": "good", "accuracy": 0.62}},
            ),
            "Look for features that say more before you use this model: always saying 'good' "
            "would be right as often (62 % of the test rows).",
        ),
        (
            trusted(metrics={"r2": -0.1}),
            "Look for features that say more before you use this model: the mean of the test rows "
            "would predict them as well (R squared \N{MINUS SIGN}0.100).",
        ),
        (
            trusted(metrics={"r2": 0.5, "coverage90": 0.78}),
            "Widen the intervals before you use them, since 90 % intervals hold 78 % of the test "
            "rows: calibrate them (conformal), or try another likelihood or noise by row.",
        ),
        (
            trusted(metrics={"r2": 0.5, "coverage90": 0.9, "conformal_coverage90": 0.8}),
            "Widen the intervals before you use them, since 90 % intervals hold 80 % of the test "
            "rows: these rows differ from those of training, so collect rows like them.",
        ),
        (
            trusted(metrics={"r2": 0.5, "coverage90": 0.985}),
            "Use the intervals as safe but wide, since 90 % intervals hold 98.5 % of the test "
            "rows: another likelihood or noise by row may narrow them.",
        ),
        (
            trusted("binary", metrics={"accuracy": 0.8}, calibration=bins(0.95, 0.8, 400)),
            "Do not take the probabilities at their word, since they claim 95 % on average, and "
            "80 % of the test rows are right: calibrate sets of classes (conformal), or look for "
            "rows unlike those of training.",
        ),
        (
            trusted("binary", metrics={"accuracy": 0.95}, calibration=bins(0.8, 0.95, 400)),
            "Use the probabilities as cautious, since they claim 80 % on average, and 95 % of the "
            "test rows are right.",
        ),
        (
            trusted(n_test=30, metrics={"r2": 0.9}),
            "Read these numbers as rough, since the test rows are few (30); the draws themselves "
            "can be trusted.",
        ),
        (
            trusted(metrics={"r2": 0.9, "coverage90": 0.91}),
            "Use the predictions and intervals as they are, and fit again when rows come from "
            "another source.",
        ),
        (
            trusted("multiclass", metrics={"accuracy": 0.9}, calibration=bins(0.9, 0.91, 400)),
            "Use the probabilities as they are, and fit again when rows come from another source.",
        ),
    ],
)
def test_advice_for_draws_that_can_be_trusted_is_one_sentence(record, words):
    assert advice(record) == [words]


def test_intervals_of_whole_numbers_may_hold_more_rows_than_they_state():
    metrics = {"r2": 0.5, "coverage90": 0.985}
    counts = trusted(metrics=metrics, summary={"model": "poisson, prior N(0, 1^2)"})
    assert advice(counts)[0].startswith("Use the predictions and intervals as they are")


@pytest.mark.parametrize(("n_test", "off"), [(60, False), (4000, True)])
def test_coverage_is_off_only_beyond_chance(n_test, off):
    first = advice(trusted(n_test=n_test, metrics={"r2": 0.5, "coverage90": 0.85}))[0]
    assert first.startswith("Widen the intervals") == off


def test_every_meaning_is_a_sentence():
    assert all(words.endswith(".") and words.count(". ") == 0 for words in MEANING.values())

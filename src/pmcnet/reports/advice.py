"""What a verdict means and what to do next: the words of page, command line and notebook."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from pmcnet.ais.verdict.chain_rules import WEIGHED_MODES
from pmcnet.errors import InputError
from pmcnet.reports.calibration_checks import Confidence, Coverage, base_accuracy
from pmcnet.reports.html import count, number, real, seconds, share
from pmcnet.reports.record import metric_value

MEANING = {
    "trustworthy": "The draws stand for the whole posterior: probabilities and intervals can be "
    "used as they are.",
    "doubtful": "Use the predictions with care: averages may be about right, but probabilities "
    "and intervals can be overconfident.",
    "degenerate": "Do not use these predictions: too few draws count, and intervals are far too "
    "narrow.",
}
"""Of each verdict, in a sentence."""
FEW_ROWS = 50
"""Test rows below which their metrics are called rough."""

_USEFUL = (
    "The averaged prediction is often good all the same: compare metrics and coverage on held-out "
    "rows."
)


class Rule(NamedTuple):
    """Where it `applies`, the `sentence` is the advice."""

    applies: bool
    sentence: str


def advice(record: Mapping[str, Any]) -> list[str]:
    """What to do: one sentence, and where the posterior cannot be trusted, what else to try."""
    status = str(record["verdict"]["status"])
    if status == "trustworthy":
        return [next(rule.sentence for rule in _of_model(record) if rule.applies)]
    longer, *remedies = _of_sampling(record)
    if status == "degenerate":
        do_not = "Do not read probabilities or intervals off this run: do what the verdict says, "
        return [do_not + "and fit again.", longer, *remedies]
    return [longer, *remedies, _USEFUL]


def _of_sampling(record: Mapping[str, Any]) -> list[str]:
    """What makes the draws better, the first thing to try first."""
    from pmcnet.methods.registry import METHODS
    from pmcnet.methods.settings import Settings

    if str(record["verdict"].get("reason")).endswith(WEIGHED_MODES):
        return [
            "Fit with method annealed before a decision rests on probabilities or intervals, if "
            "you can afford its time: its islands weigh the modes near which chains stay."
        ]
    method = str(record["summary"].get("method"))
    settings = METHODS.get(method, Settings())  # a record may be of another version
    with suppress(InputError):
        settings = settings.given(method, _options(record, vars(settings)))
    longer, now = settings.longer(), vars(settings)
    if not longer:
        return [
            f"Fit with method annealed, or with a larger {_budget(record)} so that auto takes it: "
            "until then the spread of predictions is that of a few trained networks, and not of a "
            "posterior."
        ]
    given = " and ".join(f"{name}={value}" for name, value in longer.items())
    sizes = " and ".join(str(now[name] or "by the budget") for name in longer)
    by_clock = now.get("max_seconds") is not None
    grows = by_clock or all(now[name] < most for name, most in settings.largest.items())
    larger = f"a larger {_budget(record)} or " if grows else ""
    options = f"the method option{'s' * (len(longer) > 1)} {given} (now {sizes})"
    return [
        f"Run longer, with {larger}{options}, before a decision rests on probabilities or "
        "intervals.",
        *settings.remedies,
    ]


def _options(record: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the method with which the record was made."""
    found = record["summary"].get("method_options") or record["settings"].get("method_options")
    options = {k: v for k, v in found.items() if k in known} if isinstance(found, Mapping) else {}
    n_islands = record["diagnostics"].get("n_islands")
    if "n_islands" in known and isinstance(n_islands, int) and n_islands:
        options["n_islands"] = n_islands
    return options


def _budget(record: Mapping[str, Any]) -> str:
    budget = record["settings"].get("budget")
    if budget is None:
        return "budget"
    return f"budget (now {seconds(budget) if real(budget) else budget})"


def _of_model(record: Mapping[str, Any]) -> Iterator[Rule]:
    """What to do with draws that can be trusted, by what test rows say; the last always applies."""
    yield Rule(
        bool((record.get("update") or {}).get("drift")),
        "Look at the newest rows before you rely on the update: they are far less probable than "
        "the model expected, so their source may have changed.",
    )
    yield Rule(
        not any(real(metric["value"]) for metric in record["metrics"]),
        "Measure the model on rows that the fit has not seen: the verdict is about the draws, and "
        "says nothing of how good the predictions are.",
    )
    yield from _useless(record)
    yield from _of_intervals(record)
    yield from _of_probabilities(record)
    n_test = record["summary"].get("n_test")
    yield Rule(
        real(n_test) and n_test < FEW_ROWS,
        f"Read these numbers as rough, since the test rows are few ({count(n_test)}); the draws "
        "themselves can be trusted.",
    )
    what = "predictions and intervals" if record["task"] == "regression" else "probabilities"
    yield Rule(
        True,
        f"Use the {what} as they are, and fit again when rows come from another source.",
    )


def _useless(record: Mapping[str, Any]) -> Iterator[Rule]:
    """A model that is no better than one without features."""
    base, accuracy = base_accuracy(record), metric_value(record, "accuracy")
    if base is not None and accuracy is not None:
        yield Rule(
            accuracy <= base.accuracy,
            f"Look for features that say more before you use this model: always saying "
            f"{base.name!r} would be right as often ({share(base.accuracy)} of the test rows).",
        )
    r2 = metric_value(record, "r2")
    yield Rule(
        r2 is not None and r2 <= 0,
        "Look for features that say more before you use this model: the mean of the test rows "
        f"would predict them as well (R squared {number(r2)}).",
    )


def _of_intervals(record: Mapping[str, Any]) -> Iterator[Rule]:
    found = Coverage.of(record)
    if found is None:
        return
    held = f"{share(found.level)} intervals hold {share(found.found)} of the test rows"
    remedy = (
        "these rows differ from those of training, so collect rows like them"
        if found.calibrated
        else "calibrate them (conformal), or try another likelihood or noise by row"
    )
    yield Rule(found.is_narrow, f"Widen the intervals before you use them, since {held}: {remedy}.")
    yield Rule(
        found.is_wide,
        f"Use the intervals as safe but wide, since {held}: another likelihood or noise by row may "
        "narrow them.",
    )


def _of_probabilities(record: Mapping[str, Any]) -> Iterator[Rule]:
    found = Confidence.of(record)
    if found is None:
        return
    pair = f"{share(found.mean)} on average, and {share(found.right)} of the test rows are right"
    yield Rule(
        found.is_overconfident,
        f"Do not take the probabilities at their word, since they claim {pair}: calibrate sets of "
        "classes (conformal), or look for rows unlike those of training.",
    )
    yield Rule(
        found.is_underconfident,
        f"Use the probabilities as cautious, since they claim {pair}.",
    )

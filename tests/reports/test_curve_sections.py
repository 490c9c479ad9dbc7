"""The sections of curves: what their words say, what records may lack, and what is refused."""

import json
import re

import numpy as np
import pytest

from pmcnet.errors import InputError
from pmcnet.reports import (
    calibration_section,
    curve_sections,
    decision_section,
    figure_sections,
    history_section,
)
from pmcnet.reports.figures.decision_curve import decision_curve
from pmcnet.reports.figures.error_course import error_course
from pmcnet.reports.scripts import script
from reports import curve_records, records

BINARY, REGRESSION = records.binary(), records.regression()


def caption(section):
    return re.search(r"<figcaption>(.*?)</figcaption>", section.body)[1]


def test_roc_of_the_averaged_prediction_states_its_area_and_those_of_draws():
    words = caption(curve_sections.roc(BINARY))
    area = BINARY["roc"][0]["averaged"]["area"]
    assert (
        f"of the averaged prediction is {area:.3f}; single networks reach 0.900 to 0.960" in words
    )
    at_tenth = 100 * 0.1**0.05
    assert f"At a false positive rate of 10 % it finds {at_tenth:.3g} %" in words


def test_roc_of_an_earlier_version_is_the_mean_of_draws():
    old = BINARY | {"roc": [records.curve(0, 0.06), records.curve(1, 0.06)]}
    section = curve_sections.roc(old)
    assert "the area under the mean curve is" in section.body
    assert "averaged prediction" not in section.body


def test_roc_of_classes_says_how_the_metrics_average_them():
    metrics = [{"name": "auc", "value": 0.876}]
    words = caption(curve_sections.roc(records.multiclass() | {"metrics": metrics}))
    assert "The 0.876 of the metrics is their mean, weighted by the rows of each class." in words


def test_areas_that_are_alike_have_no_extremes():
    curves = json.loads(json.dumps(records.multiclass()["roc"]))
    for curve in curves:
        curve["averaged"]["area"] = 1.0
    words = caption(curve_sections.roc(records.multiclass() | {"roc": curves}))
    assert "The area is 1.000 for every class." in words
    assert "largest" not in words


def test_areas_of_a_single_network_have_no_interval():
    curve = json.loads(json.dumps(BINARY["roc"][0]))
    curve["averaged"]["area_draws"] = [0.93, 0.93]
    curve["bands"] = {level: [ends[0]] * 2 for level, ends in curve["bands"].items()}
    assert "single networks" not in caption(
        curve_sections.roc(BINARY | {"roc": [curve]})
    ).removesuffix("the bands show how much single networks disagree.")


def test_precision_and_recall_say_which_classes_are_drawn():
    record = records.multiclass([f"kind {i}" for i in range(9)])
    words = caption(curve_sections.precision_recall(record))
    assert "The 6 classes with the most test rows are drawn, of 9." in words
    assert "most test rows" not in caption(curve_sections.precision_recall(records.multiclass()))


def test_calibration_of_classes_says_which_are_drawn():
    body = calibration_section.calibration(records.multiclass([f"kind {i}" for i in range(9)])).body
    assert body.count("probability of the class</text>") == 6
    assert "The 6 classes with the most test rows are drawn, of 9." in body


def test_calibration_of_an_earlier_version_has_no_classes():
    old = BINARY["calibration"] | {"classes": None}
    body = calibration_section.calibration(BINARY | {"calibration": old}).body
    assert body.count("<figure") == 1


def test_decision_curve_has_the_net_benefit_by_hand():
    data = curve_records.plain(curve_records.decision())
    found = decision_curve(data)
    t = np.arange(1, 100) / 100
    by_hand = np.array(data["true_positive"]) / 71 - np.array(data["false_positive"]) / 71 * t / (
        1 - t
    )
    np.testing.assert_allclose(found.net_benefit, by_hand)
    np.testing.assert_allclose(found.act_on_all, 46 / 71 - 25 / 71 * t / (1 - t))


def test_decision_curve_is_complete_without_its_script():
    body = decision_section.decision(BINARY).body
    assert re.search(r'<div class="slider" id="decision-slider" hidden="">', body)
    listed = re.findall(r'<tr><th scope="row">(\d+) %</th>', body)
    assert listed == ["10", "20", "30", "40", "50", "60", "70", "80", "90"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_positive": 0}, "between 1 and n; got 0 of 71"),
        ({"n": "x"}, "got 46 of 'x'"),
        ({"threshold": [0.5, 0.4]}, "must increase between 0 and 1"),
        ({"threshold": [0.0, 0.4]}, "must increase between 0 and 1"),
        ({"true_positive": [1, 2]}, r"one value per threshold \(99\); got 2"),
        ({"bands": {"80": [[0.1], [0.2]]}}, "band 80 must have one value per threshold"),
    ],
)
def test_decision_curve_refuses_what_is_none(change, words):
    with pytest.raises(InputError, match=words):
        decision_section.decision(BINARY | {"decision": BINARY["decision"] | change})


def test_fan_counts_the_observed_values_inside():
    low, high = [0.0] * 4, [1.0] * 4
    wide = [[-9.0] * 4, [9.0] * 4]
    bands = {"50": [low, high], "80": wide, "95": wide}
    data = {"y": [0.0, 1.0, 2.0, 10.0], "mean": [1.0, 2.0, 3.0, 4.0], "bands": bands}
    words = caption(figure_sections.quantile_fan(REGRESSION | {"fan": data}))
    assert "50 % in the 50 % band, 75 % in the 80 % band, 75 % in the 95 % band." in words
    assert words.startswith("4 test rows in the order of the predicted mean, of 71.")


def test_fan_of_one_row_is_drawn():
    section = figure_sections.quantile_fan(
        REGRESSION | {"fan": curve_records.plain(curve_records.fan(1))}
    )
    assert caption(section).startswith("1 test row in the order")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": [1.0]}, r"fan y must have one value per row \(102\); got 1"),
        ({"bands": {}}, "fan bands must be among"),
        ({"bands": {"50": [[1.0] * 102, [0.0] * 102]}}, "band 50 must not have a low end above"),
    ],
)
def test_fan_refuses_what_is_none(change, words):
    with pytest.raises(InputError, match=words):
        figure_sections.quantile_fan(REGRESSION | {"fan": REGRESSION["fan"] | change})


def steps(errors):
    return [{"step": 1 + i, "seconds": 2.0, "error": error} for i, error in enumerate(errors)]


def test_error_course_is_at_the_seconds_since_the_beginning():
    found = error_course(steps([None, 0.2, None, 0.04]), "error", 0.05)
    assert found.seconds.tolist() == [4.0, 8.0]
    assert found.error.tolist() == [0.2, 0.04]


@pytest.mark.parametrize(
    ("errors", "reached"),
    [([0.2, 0.04, 0.03], 4.0), ([0.01, 0.02], 2.0), ([0.01, 0.2], None), ([0.04, 0.2, 0.03], 6.0)],
)
def test_error_course_knows_since_when_it_is_within_its_limit(errors, reached):
    assert error_course(steps(errors), "error", 0.05).reached == reached


def test_error_of_steps_without_seconds_has_no_course():
    without = [{"step": 1, "error": 0.1}]
    assert error_course(without, "error", 0.05) is None
    body = history_section.history(REGRESSION | {"history": without}).body
    assert "How the error fell" not in body
    assert "error of predictions</h4>" in body


def test_errors_that_no_axis_can_hold_have_no_course():
    assert error_course(steps([0.0, 1e-310, 1e305]), "error", 0.05) is None
    long = [{"seconds": 1e300, "error": 0.1}] * 2
    assert error_course(long, "error", 0.05) is None


def test_error_against_time_says_its_limits():
    body = history_section.history(REGRESSION).body
    assert "within its limit of 0.050" in body
    assert "limits of the verdict" in body
    no_limits = REGRESSION | {"verdict": {"status": "doubtful", "reason": "x"}}
    assert "limits of the verdict" not in history_section.history(no_limits).body


@pytest.mark.parametrize("value", [1e-300, 1e-12, 0.012, 0.0449, 3e5, 1e300])
def test_error_axis_has_ticks_around_any_error(value):
    record = REGRESSION | {"history": steps([value]), "verdict": {"status": "doubtful"}}
    drawing = re.search(r"<svg.*?</svg>", history_section.history(record).body, re.DOTALL)[0]
    ticks = [float(text) for text in re.findall(r">([\d.e+-]+)</text>", drawing)]
    assert min(tick for tick in ticks if tick) <= value


def test_script_cannot_end_its_block_early():
    text = script("decision", {"name": "</script><script>alert(1)</script><!--"})
    assert text.count("</script>") == 2
    data = re.search(r'id="decision-data">(.*?)</script>', text)[1]
    assert json.loads(data) == {"name": "</script><script>alert(1)</script><!--"}

import re
from html.parser import HTMLParser
from typing import get_args

import pytest

from pmcnet.ais.verdict import Status
from pmcnet.errors import InputError
from pmcnet.reports import figure_sections, first_card, history_section, page, sections
from pmcnet.reports.advice import MEANING
from pmcnet.reports.figures.arrays import finite
from pmcnet.reports.html import Markup, count, number, real, setting, share, tag
from pmcnet.reports.page import render, write_report
from pmcnet.reports.record import STATUSES
from reports import records
from reports.page_scripts import without_scripts

KINDS = {
    "binary": records.binary,
    "multiclass": records.multiclass,
    "regression": records.regression,
}
COMPARED = {
    "binary compared": records.binary_compared,
    "multiclass compared": records.multiclass_compared,
    "regression compared": records.regression_compared,
}
PAGES = KINDS | COMPARED | {"what if": records.what_if}
ORDER = [
    "verdict",
    "metrics",
    "scatter",
    "fan",
    "roc",
    "precision_recall",
    "decision",
    "confusion",
    "histograms",
    "uncertain",
    "comparison",
    "importance",
    "effects",
    "interaction",
    "what_if",
    "explained",
    "calibration",
    "posterior_predictive",
    "residuals",
    "loo",
    "prior_predictive",
    "diagnostics",
    "history",
    "update",
    "facts",
    "model_choice",
    "columns",
    "settings",
    "omissions",
]
ALWAYS = {"verdict", "metrics", "diagnostics", "facts"}
FIGURES = {"calibration", "histograms", "uncertain", "history", "explained"}
FIGURES |= {"posterior_predictive", "loo", "prior_predictive"}
CLASSES = FIGURES | {"roc", "precision_recall", "confusion"}
SECTIONS = {
    "binary": CLASSES | {"comparison", "decision"},
    "multiclass": CLASSES,
    "regression": FIGURES | {"scatter", "fan", "update", "model_choice", "residuals"},
}
SECTIONS |= {f"{kind} compared": names | {"comparison"} for kind, names in SECTIONS.items()}
SECTIONS["what if"] = SECTIONS["regression"] | {"what_if"}
VOID = {"meta", "input"}
EVIL = "<script>alert(\"x\")</script> & 'quotes' $x_1$"


@pytest.fixture(scope="module")
def pages():
    return {kind: render(make()) for kind, make in PAGES.items()}


class Reader(HTMLParser):
    """Notes tags, ids and attributes, and whether every tag is closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def values(self, name):
        return [value for _, key, value in self.attributes if key == name]


def sections_of(page):
    return re.findall(r'<section id="(\w+)"', page)


def in_order(*names):
    assert set(names) <= set(ORDER)
    return sorted(names, key=ORDER.index)


@pytest.mark.parametrize("kind", PAGES)
def test_page_has_its_sections_in_order(kind, pages):
    assert sections_of(pages[kind]) == in_order(*ALWAYS, *SECTIONS[kind], "settings")


def test_page_leaves_out_groups_without_sections(monkeypatch):
    empty, full = page.Group("a", "Empty?", ()), page.Group("b", "Full?", (sections.facts,))
    monkeypatch.setattr(page, "_GROUPS", (empty, full))
    text = render(records.bare())
    assert "Empty?" not in text
    assert text.count("Full?") == 2  # in the contents and above its sections


@pytest.mark.parametrize("kind", PAGES)
def test_page_is_well_formed_and_ids_are_unique(kind, pages):
    reader = Reader(pages[kind])
    assert reader.open == []
    ids = reader.values("id")
    assert len(ids) == len(set(ids))
    links = [link for link in reader.values("href") if link.startswith("#")]
    assert {link[1:] for link in links} <= set(ids)
    clips = re.findall(r"url\(#([^)]*)\)", pages[kind])
    assert set(clips) <= set(ids)


@pytest.mark.parametrize("kind", PAGES)
def test_page_loads_nothing(kind, pages):
    reader = Reader(without_scripts(pages[kind]))
    assert not re.search(r"https?:|//[a-z]|@import|@font-face|data:", pages[kind])
    assert not {"script", "link", "img", "iframe", "object", "image", "base"} & set(reader.tags)
    assert all(link.startswith("#") for link in reader.values("href"))
    assert not [key for _, key, _ in reader.attributes if key.startswith("on") or key == "src"]


@pytest.mark.parametrize("kind", PAGES)
def test_page_figures_are_told_in_words(kind, pages):
    drawings = re.findall(
        r'<svg class="drawing" role="img" aria-label="([^"]+)" viewBox="[^"]+"><title>([^<]+)<',
        pages[kind],
    )
    assert len(drawings) == pages[kind].count("<svg") > 8
    figures = re.findall(r"<figure.*?</figure>", pages[kind], re.DOTALL)
    assert all(re.search(r"<figcaption>[^<]{40,}", figure) for figure in figures)


@pytest.mark.parametrize("kind", PAGES)
def test_page_figures_follow_light_and_dark(kind, pages):
    drawings = re.findall(r"<svg.*?</svg>", pages[kind], re.DOTALL)
    assert not [
        colour
        for drawing in drawings
        for colour in re.findall(r"#[0-9a-fA-F]{3,8}\b(?![-\w])|font-family", drawing)
    ]
    used = set(re.findall(r"var\((--[\w-]+)\)", pages[kind]))
    dark = pages[kind].split("prefers-color-scheme: dark")[1].split("@media")[0].split("}")[0]
    assert used <= set(re.findall(r"(--[\w-]+):", dark))


def test_page_says_the_verdict_and_what_it_means():
    for status, words in {
        "trustworthy": "can be used",
        "doubtful": "with care",
        "degenerate": "Do not use",
    }.items():
        page = render(
            records.bare() | {"verdict": {"status": status, "reason": "because it is so."}}
        )
        assert f"</span>{status}</span>" in page
        assert "Because it is so." in page
        assert words in page


def test_page_keeps_the_digits_of_words_in_figures(pages):
    assert re.search(r">AUC 0\.\d{3}<", pages["binary"])
    assert ">0.0001<" in pages["binary"]


def test_page_escapes_everything():
    record = records.binary()
    record |= {
        "title": EVIL,
        "target": EVIL,
        "classes": [EVIL, EVIL * 3],
        "verdict": {"status": "doubtful", "reason": EVIL},
    }
    record["summary"] = dict.fromkeys(record["summary"], EVIL)
    record["settings"] = {EVIL: {EVIL: EVIL}, "list": [EVIL]}
    record["metrics"] = [
        metric | {"label": EVIL, "unit": EVIL, "better": EVIL} for metric in record["metrics"]
    ]
    record["uncertain"] = [row | {"prediction": EVIL, "truth": EVIL} for row in record["uncertain"]]
    for row in record["explained"]:
        row |= {"row": EVIL, "prediction": EVIL, "truth": EVIL, "of": EVIL}
        row["contributions"] = [
            one | {"column": EVIL, "value": EVIL} for one in row["contributions"]
        ]
        row["nearest"] = [one | {"target": EVIL, "values": {EVIL: EVIL}} for one in row["nearest"]]
    record["comparison"] = [
        row | {"method": EVIL, "verdict": EVIL, "metrics": {EVIL: 1.0}}
        for row in record["comparison"]
    ]
    record["history"] = [step | {EVIL: 2.0} for step in record["history"]]
    record["diagnostics"] |= {EVIL: EVIL}
    page = render(record)
    assert "<script" not in without_scripts(page)
    reader = Reader(page)
    assert reader.open == []
    assert "".join(reader.words).count(EVIL) > 20


@pytest.mark.parametrize(
    "name", ["日本語のクラス", "Ελληνικά 🦜", "x" * 300, "\ud800", "", "$\\frac{a$"]
)
def test_page_takes_any_name(name, tmp_path):
    record = records.binary() | {"title": name, "classes": [name, "other"]}
    assert write_report(record, tmp_path / "page.html").stat().st_size > 10_000


def test_page_of_thirty_classes_folds_most_panels():
    page = render(records.multiclass([f"class {i}" for i in range(30)]))
    assert page.count(">AUC ") == 30
    assert "The other 21 panels" in page
    assert Reader(page).open == []


@pytest.mark.parametrize("task", KINDS)
def test_page_of_the_bare_record_has_no_figure(task):
    page = render(records.bare(task))
    assert sections_of(page) == in_order(*ALWAYS)
    assert "<svg" not in page
    assert "None" not in page
    assert "1 test row," in page


@pytest.mark.parametrize("kind", KINDS)
def test_page_takes_none_for_every_optional_part(kind):
    record = KINDS[kind]()
    nothing = dict.fromkeys(set(record) - set(records.bare()))
    nothing |= {
        "summary": dict.fromkeys(record["summary"]),
        "diagnostics": dict.fromkeys(record["diagnostics"]),
    }
    page = render(record | nothing)
    assert sections_of(page) == in_order(*ALWAYS, "settings")
    assert "None" not in page


@pytest.mark.parametrize("kind", KINDS)
def test_page_takes_every_optional_part_alone(kind):
    record = KINDS[kind]()
    for key in set(record) - set(records.bare()) - {"classes", "scatter_coverage"}:
        if record[key] is not None:
            page = render(records.bare(kind) | {key: record[key]})
            assert sections_of(page) == in_order(*ALWAYS, key)


def test_page_says_of_which_rows_single_networks_are():
    record = records.regression()
    n_test = record["summary"]["n_test"]
    assert f"on {n_test - 1} of these rows" in render(record | {"n_drawn": n_test - 1})
    assert "of these rows" not in render(record | {"n_drawn": n_test})


def test_page_says_what_is_not_there():
    page = render(records.bare() | {"omissions": ["Effects need <20> rows.", "No rows."]})
    assert sections_of(page) == in_order(*ALWAYS, "omissions")
    assert "<ul><li>Effects need &lt;20&gt; rows.</li><li>No rows.</li></ul>" in page


@pytest.mark.parametrize("kind", KINDS)
def test_page_of_one_test_row(kind):
    record = KINDS[kind]()
    for key in ("scatter", "uncertain", "history", "histograms"):
        if key in record:
            record[key] = record[key][:1]
    if kind != "regression":
        record["calibration"]["bins"] = [
            {"confidence": 0.9, "accuracy": 1.0, "n": 1, "low": 0.1, "high": 1.0}
        ]
    assert Reader(render(record)).open == []


def test_page_takes_numbers_of_any_size():
    record = records.regression()
    record["metrics"] = [
        {
            "name": "huge",
            "value": 1e300,
            "per_draw": {"mean": None, "std": None, "interval95": [1e299, 1e300]},
        },
        {"name": "lost", "value": float("nan"), "per_draw": None},
        {
            "name": "endless",
            "value": float("inf"),
            "per_draw": {"mean": 1.0, "std": 0.0, "interval95": [1.0, 1.0]},
        },
    ]
    record["history"] = [
        {"ess": None, "log_evidence": -1e9},
        {"ess": float("nan"), "log_evidence": 5},
    ]
    record["histograms"] = [
        {"row": 0, "y": None, "draws": [2.0] * 200},
        {"row": 1, "y": 3.0, "draws": [1e6, 2e6]},
    ]
    page = render(record)
    assert ">∞<" in page
    assert ">-<" in page
    assert len(page) < 300_000


def test_page_marks_the_best_usable_method(pages):
    assert "<strong>0.950</strong>" in pages["binary"]
    assert "<strong>0.960</strong>" not in pages["binary"]


def test_page_without_rows_in_any_bin_has_no_calibration():
    empty = {"bins": [{"confidence": None, "accuracy": None, "n": 0}], "ece": None}
    assert "calibration" not in sections_of(render(records.binary() | {"calibration": empty}))


def test_write_report_is_the_same_for_the_same_record(tmp_path):
    first = write_report(records.binary(), tmp_path / "new folder" / "a.html")
    second = write_report(records.binary(), str(tmp_path / "b.html"))
    assert first == tmp_path / "new folder" / "a.html"
    assert first.read_bytes() == second.read_bytes()


def test_write_report_leaves_the_old_page_when_it_fails(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(InputError):
        write_report(records.bare() | {"confusion": [[1, 2]]}, path)
    assert path.read_text() == "old"
    write_report(records.bare(), path)
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_write_report_leaves_no_part_behind_when_the_disk_refuses(tmp_path):
    (tmp_path / "page.html").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_report(records.bare(), tmp_path / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "format 2.*Upgrade pmcnet"),
        ({"format": 0}, "format of 1"),
        ({"format": None}, "must say its format"),
        ({"task": "ranking"}, "binary, multiclass, regression; got 'ranking'"),
        (
            {"verdict": {"status": "fine", "reason": "x"}},
            "trustworthy, doubtful, degenerate; got 'fine'",
        ),
        ({"metrics": {"accuracy": 1}}, "metrics of a record must be a list"),
        ({"metrics": [3]}, r"metrics\[0\] of a record must be a mapping"),
        ({"metrics": [{"name": "a"}]}, "key 'value'"),
        ({"metrics": [{"name": "a", "value": "high"}]}, "number or null"),
        (
            {"metrics": [{"name": "a", "value": 1, "per_draw": {"interval95": [2.0, 1.0]}}]},
            "must be \\[low, high\\]",
        ),
        ({"roc": "x"}, "roc of a record must be a list"),
        ({"roc": [{"class": 0}]}, "key 'grid'"),
        ({"roc": [records.curve("x", 0.5)]}, "the roc of this record cannot be read"),
        ({"confusion": [[1, 0, 0], [0, 1]]}, "confusion must be numbers"),
        ({"calibration": {"ece": 0.1}}, "key 'bins'"),
        (
            {"calibration": {"levels": [0.5, 0.9], "coverage": [0.5]}},
            "one coverage, low and high per level",
        ),
        (
            {"scatter": [{"y": 1.0, "mean": 1.0, "low": 2.0, "high": 0.0}]},
            "low must not exceed high",
        ),
        ({"histograms": [{"row": 1, "class": 0, "probability": [0.5, None]}]}, "finite"),
    ],
)
def test_page_refuses_what_is_no_record(change, words):
    with pytest.raises(InputError, match=words):
        render(records.bare() | change)


@pytest.mark.parametrize("key", records.bare())
def test_page_refuses_a_record_without_a_key(key):
    record = records.bare()
    del record[key]
    with pytest.raises(InputError, match=key):
        render(record)


def test_page_refuses_what_is_no_mapping():
    with pytest.raises(InputError, match="must be a mapping; got list"):
        render([])


def test_tag_escapes_text_and_keeps_markup():
    assert tag("b", "<", Markup("<i>"), None, class_='"') == '<b class="&quot;">&lt;<i></b>'


def judged(khat, limits, status="doubtful"):
    """The page of a run of 504 draws with this k-hat, as the verdict judged it."""
    record = records.bare()
    verdict = {"status": status, "reason": "k-hat was judged.", "limits": limits}
    diagnostics = {"n_draws": 504, "ess": 300.0, "khat": khat}
    return render(record | {"verdict": verdict, "diagnostics": diagnostics})


def test_khat_is_judged_by_the_limit_of_the_verdict():
    above = judged(0.65, {"khat": 0.63, "ess": 100.0})
    assert "tail of the weights; above the limit of 0.63, so rare draws may dominate" in above
    within = judged(0.65, {"khat": 0.7, "ess": 100.0}, "trustworthy")
    assert "tail of the weights; within the limit of 0.70" in within
    at = judged(0.7, {"khat": 0.7}, "trustworthy")
    assert "within the limit of 0.70" in at
    assert not any("reliable" in text for text in (above, within, at))


@pytest.mark.parametrize("limits", [{}, None, {"ess": 100.0}, {"khat": None}, {"khat": "x"}])
def test_khat_without_a_limit_is_not_judged(limits):
    page = judged(0.65, limits)
    assert "Pareto k-hat" in page
    assert not re.search(r"reliable|the limit|0\.7\b", page)


def test_limits_of_a_verdict_are_a_mapping():
    with pytest.raises(InputError, match="verdict limits of a record must be a mapping; got list"):
        judged(0.65, [0.63])


def test_every_status_of_a_verdict_has_its_sign_and_its_meaning():
    assert set(first_card._SIGNS) == set(MEANING) == set(STATUSES) == set(get_args(Status))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.95, "0.950"),
        (12.345, "12.35"),
        (-65.1, "\N{MINUS SIGN}65.10"),
        (12345.6, "12,346"),
        (1e-5, "1e\N{MINUS SIGN}05"),
        (1e9, "1.000e+09"),
    ],
)
def test_number_is_short_at_every_size(value, text):
    assert number(value) == text


def test_counts_shares_and_settings_are_readable():
    assert (count(1234.4), count(None), share(0.9312), share(None)) == ("1,234", "-", "93.1 %", "-")
    assert (setting(True), setting([1, 2.5]), setting([]), setting(2.0)) == (
        "yes",
        "1, 2.5",
        "-",
        "2",
    )


def test_many_intervals_are_counted_and_some_of_them_drawn():
    rows = [
        {"y": i, "mean": i, "low": i - 1, "high": i + 1 if i % 10 else i - 0.5} for i in range(1000)
    ]
    section = figure_sections.scatter({"scatter": rows, "scatter_coverage": 0.9})
    assert "900 of 1,000 intervals of level 90 % contain the observed value" in section.body
    assert "400 of the rows are drawn." in section.body


def test_course_of_nothing_known_is_left_out():
    assert (
        history_section.history(records.bare() | {"history": [{"strange": 1}, {"strange": 2}]})
        is None
    )
    assert history_section.history(records.bare() | {"history": []}) is None


@pytest.mark.parametrize("value", [1e308, -1.7e308, 10**299])
def test_history_leaves_out_what_no_axis_can_hold(value):
    steps = [{"step": i, "ess": 10.0, "log_evidence": (-1) ** i * value} for i in range(3)]
    steps.append({"step": value, "ess": 10.0, "log_evidence": -3.0})
    body = history_section.history(records.bare() | {"history": steps}).body
    shown = abs(value) <= 1e300
    assert ("e+299" in body) == shown
    assert "log Z" in body or "evidence" in body


def test_intervals_that_no_axis_can_hold_are_refused():
    rows = [{"y": 1.0, "mean": 1.0, "low": -1e308, "high": 1e308}]
    with pytest.raises(
        InputError, match=r"scatter low must be finite, at most 1e\+300; 1 of 1 values are not"
    ):
        figure_sections.scatter({"scatter": rows})


def test_arithmetic_that_fails_is_told_as_a_record_that_cannot_be_read(monkeypatch):
    def failing(record):
        raise OverflowError("too large")

    monkeypatch.setattr(page, "_GROUPS", (page.Group("group", "Why?", (failing,)),))
    with pytest.raises(
        InputError, match=r"the failing of this record cannot be read \(OverflowError: too large\)"
    ):
        render(records.regression())


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("nan"), True, "1"])
def test_what_double_precision_has_no_number_for_is_shown_as_none(value):
    assert not real(value)
    assert real(1.7e308)
    with pytest.raises(InputError, match="must be"):
        finite([value if value != "1" else "x", float("nan")], "values")


def test_keys_of_a_record_are_told_in_a_short_line():
    long = {"x" * 50_000: 1, "\x1b[2J": 2}
    rows = [{"y": 1.0, "low": 0.0, "high": 2.0} | long]
    whole = records.regression()
    bare = {key: value for key, value in whole.items() if key != "title"} | long
    for record in (whole | {"scatter": rows}, bare, whole | {"metrics": [long]}):
        with pytest.raises(InputError, match="must have the key") as refusal:
            render(record)
        assert len(str(refusal.value)) < 600
        assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "about as probable as the model expected"),
        ({"drift": True}, "far less probable than the model expected"),
        ({"expected": None, "std": None, "log_predictive": None}, "expected of these rows is not"),
    ],
)
def test_update_says_whether_its_rows_were_expected(change, words):
    record = records.regression()
    text = page.render(record | {"update": record["update"] | change})
    section = text[text.index('<section id="update"') :]
    assert words in section[: section.index("</section>")]
    assert "151" in section

"""The page in a real browser: nothing fetched or clipped, readable on a phone and in the dark."""

import json
import os
import shutil
from importlib.resources import files

import pytest

from pmcnet.reports.page import write_report
from reports import records

webdriver = pytest.importorskip("selenium.webdriver")
Keys = webdriver.Keys
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)",
)

LONG = [
    "<script>alert(1)</script>",
    "a" * 80,
    "日本語のクラス",
    *(f"class number {i}" for i in range(27)),
]
PAGES = {
    "binary": records.binary,
    "multiclass": records.multiclass,
    "regression": records.regression,
    "thirty classes": lambda: records.multiclass(LONG),
    "binary compared": records.binary_compared,
    "multiclass compared": records.multiclass_compared,
    "regression compared": records.regression_compared,
    "thirty classes compared": lambda: records.multiclass_compared(LONG),
    "bare": records.bare,
    "what if": records.what_if,
}
N_DRAWINGS = {"binary": 23, "multiclass": 24, "regression": 25, "thirty classes": 57, "bare": 0}
N_DRAWINGS |= {"binary compared": 24, "multiclass compared": 24, "regression compared": 29}
N_DRAWINGS |= {"thirty classes compared": 57}
N_DRAWINGS |= {"what if": 26}
N_WITHOUT_LETTERS = {"regression compared": 3}  # violins above the last, which has the axis of all
WIDTHS = (390, 1280)

JUDGED = ("binary compared", "multiclass", "regression")
AXE = files("selenium_axe_python").joinpath("axe-core", "axe.min.js").read_text(encoding="utf-8")
RUN = """const done = arguments[arguments.length - 1];
axe.run({exclude: [['svg > *']]}, {resultTypes: ['violations']}).then(
  found => done(found.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html)])))"""
FOCUSED = """const e = document.activeElement, style = getComputedStyle(e);
const outline = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
const box = e.getBoundingClientRect();
return [e.tagName, e.getAttribute('href') || e.getAttribute('aria-label') || e.textContent,
        outline, box.top < innerHeight && box.bottom > 0]"""
STOPS = """return [...document.querySelectorAll(
  'a[href], summary, button, input, select, [tabindex="0"]')]
  .filter(e => e.checkVisibility()).length"""

OVERFLOW = """const e = document.documentElement;
return [e.scrollWidth, e.clientWidth, document.body.scrollWidth]"""
DRAWINGS = """return [...document.querySelectorAll('svg.drawing')].map(svg => {
  const box = svg.getBoundingClientRect();
  const letters = [...svg.querySelectorAll('text')].map(t => {
    const turned = t.getScreenCTM();
    return parseFloat(getComputedStyle(t).fontSize) * Math.hypot(turned.c, turned.d);
  });
  const outside = [...svg.querySelectorAll('text')].filter(t => {
    const r = t.getBoundingClientRect();
    return r.left < -1 || r.right > document.documentElement.clientWidth + 1;
  }).map(t => t.textContent);
  return {width: box.width, height: box.height, left: box.left, right: box.right,
          visible: svg.checkVisibility(),
          smallest: letters.length ? Math.min(...letters) : null, outside};
})"""
COLOURS = """const page = getComputedStyle(document.body);
const letters = document.querySelector('svg.drawing text');
const card = getComputedStyle(document.querySelector('section'));
const badge = getComputedStyle(document.querySelector('.badge'));
const note = document.querySelector('figcaption, footer');
return {paper: page.backgroundColor, ink: page.color, card: card.backgroundColor,
        soft: getComputedStyle(note).color,
        badge: badge.color, badgePaper: badge.backgroundColor,
        letters: letters ? getComputedStyle(letters).fill : page.color}"""

POINT = """const point = document.querySelector('#decision circle');
const at = new DOMPoint(+point.getAttribute('cx'), +point.getAttribute('cy'));
const curve = [...document.querySelectorAll('#decision .drawing path')]
  .find(path => /fill: none.*--accent/.test(path.getAttribute('style')));
const steps = [...Array(2001).keys()].map(i => i / 2000 * curve.getTotalLength());
const away = steps.map(s => curve.getPointAtLength(s)).map(p => Math.hypot(p.x - at.x, p.y - at.y));
return [at.x, Math.min(...away)]"""


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {name: write_report(make(), folder / f"{name}.html") for name, make in PAGES.items()}


def show(browser, path, width=1280, scheme="light"):
    screen = {
        "width": width,
        "height": 900,
        "deviceScaleFactor": 1,
        "mobile": False,
    }  # windows are at least 500 wide
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get(path.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(part => part.open = true)")


def contrast(first, second):
    """Ratio of relative luminances as WCAG 2 defines it; 4.5 is the least for text."""

    def luminance(colour):
        parts = [
            float(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")
        ]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", PAGES)
def test_page_fetches_nothing_and_complains_of_nothing(name, browser, paths):
    browser.get_log("performance")
    browser.get_log("browser")
    show(browser, paths[name])
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    events = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [paths[name].as_uri()]
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", WIDTHS)
def test_page_never_scrolls_sideways(name, width, browser, paths):
    show(browser, paths[name], width)
    page, seen, body = browser.execute_script(OVERFLOW)
    assert seen == width
    assert page <= width
    assert body <= width


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", WIDTHS)
def test_page_figures_are_seen_whole_with_readable_letters(name, width, browser, paths):
    show(browser, paths[name], width)
    drawings = browser.execute_script(DRAWINGS)
    assert len(drawings) == N_DRAWINGS[name]
    assert sum(drawing["smallest"] is None for drawing in drawings) == N_WITHOUT_LETTERS.get(
        name, 0
    )
    for drawing in drawings:
        assert drawing["visible"]
        assert drawing["width"] > 150
        assert drawing["height"] > 30
        assert drawing["left"] >= 0
        assert drawing["right"] <= width
        assert drawing["smallest"] is None or drawing["smallest"] >= 9
        assert drawing["outside"] == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_text_stands_out(name, scheme, browser, paths):
    show(browser, paths[name], scheme=scheme)
    seen = browser.execute_script(COLOURS)
    assert (
        contrast(seen["paper"], "rgb(255, 255, 255)" if scheme == "dark" else "rgb(0, 0, 0)") > 15
    )
    for text, behind in [("ink", "paper"), ("ink", "card"), ("letters", "card")]:
        assert contrast(seen[text], seen[behind]) > 7, (text, behind)
    for text, behind in [("soft", "card"), ("soft", "paper"), ("badge", "badgePaper")]:
        assert contrast(seen[text], seen[behind]) > 4.5, (text, behind)


@pytest.mark.parametrize("name", ["binary", "regression"])
def test_page_links_lead_to_sections(name, browser, paths):
    show(browser, paths[name])
    links = browser.execute_script(
        "return [...document.querySelectorAll('nav a')].map(a => a.getAttribute('href'))"
    )
    assert len(links) >= 8
    assert browser.execute_script(
        "return arguments[0].every(link => document.querySelector(link))", links
    )


def test_decision_slider_reads_the_curve_at_its_threshold(browser, paths):
    show(browser, paths["binary"])
    curve = records.binary()["decision"]
    slider = browser.find_element("id", "decision-threshold")
    before, away = browser.execute_script(POINT)
    assert away < 1
    slider.send_keys(Keys.ARROW_RIGHT * 15)
    after, away = browser.execute_script(POINT)
    assert browser.find_element("id", "decision-shown").text == "65 %"
    assert after > before + 20
    assert away < 1
    words = browser.find_element("id", "decision-words").text
    found, others = curve["true_positive"][64], curve["false_positive"][64]
    assert f"Acted on: {found + others} of 71 rows" in words
    assert f"True positives: {found}, false positives: {others}, missed: {46 - found}." in words
    assert f"Net benefit: {(found - others * 0.65 / 0.35) / 71:.3f};" in words


def test_decision_slider_is_reached_and_told_without_a_mouse(browser, paths):
    show(browser, paths["binary"])
    browser.find_element("css selector", "#decision summary").send_keys(Keys.SHIFT + Keys.TAB)
    slider = browser.switch_to.active_element
    assert slider.get_attribute("id") == "decision-threshold"
    assert slider.accessible_name == "Threshold"
    slider.send_keys(Keys.HOME)
    assert slider.get_attribute("aria-valuetext") == "1 %"
    slider.send_keys(Keys.END)
    assert slider.get_attribute("aria-valuetext") == "99 %"
    assert browser.find_element("id", "decision-words").get_attribute("aria-live") == "polite"


def test_page_prints_on_white_without_navigation(browser, paths):
    show(browser, paths["multiclass"], scheme="dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    seen = browser.execute_script(COLOURS)
    hidden = browser.execute_script("return !document.querySelector('nav').checkVisibility()")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert hidden
    assert seen["paper"] == "rgb(255, 255, 255)"
    assert contrast(seen["letters"], seen["card"]) > 7


PLACES = """const top = e => document.querySelector(e).getBoundingClientRect().top;
return [top('#verdict .advice'), top('#verdict'), top('nav'), top('#metrics')]"""


def test_card_comes_first_on_a_phone_and_the_contents_follow(browser, paths):
    show(browser, paths["binary"], 390)
    advice, card, contents, metrics = browser.execute_script(PLACES)
    assert advice < 900
    assert card < contents < metrics


def test_contents_stay_beside_a_wide_page(browser, paths):
    show(browser, paths["binary"], 1280)
    _, card, contents, _ = browser.execute_script(PLACES)
    assert contents == pytest.approx(card, abs=2)
    browser.execute_script("window.scrollTo({top: 3000, behavior: 'instant'})")
    _, card, contents, _ = browser.execute_script(PLACES)
    assert card < -1000
    assert 0 <= contents < 100


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_breaks_no_rule_of_axe(name, width, scheme, browser, paths):
    show(browser, paths[name], width, scheme)
    browser.execute_script(AXE)
    assert browser.execute_async_script(RUN) == []


def test_axe_finds_letters_that_are_too_pale(browser, paths):
    show(browser, paths["binary"])
    browser.execute_script("document.querySelector('.made').style.color = '#bbb'")
    browser.execute_script(AXE)
    ((impact, rule, (found,)),) = browser.execute_async_script(RUN)
    assert (impact, rule) == ("serious", "color-contrast")
    assert 'class="made"' in found


@pytest.mark.parametrize("name", JUDGED)
def test_keyboard_reaches_everything_and_shows_where_it_is(name, browser, paths):
    show(browser, paths[name])
    n_stops = browser.execute_script(STOPS)
    seen = []
    for _ in range(n_stops):
        webdriver.ActionChains(browser).send_keys(webdriver.Keys.TAB).perform()
        seen.append(browser.execute_script(FOCUSED))
    assert seen[0][:2] == ["A", "#verdict"]
    folded = [stop for stop in seen if stop[0] == "SUMMARY"]  # many are called "The numbers"
    others = {tuple(stop[:2]) for stop in seen if stop[0] != "SUMMARY"}
    assert len(folded) + len(others) >= n_stops - 2
    assert [stop for stop in seen if stop[0] == "BODY" or not stop[2]] == []

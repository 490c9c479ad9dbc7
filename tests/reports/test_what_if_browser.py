"""The page predicts as Python does, redraws at once, and is used by keyboard."""

import json
import os
import shutil

import numpy as np
import pytest
import torch
from scipy import special

from pmcnet.bnn import MLP, HierarchicalMLP
from pmcnet.bnn.likelihoods import registry
from pmcnet.estimators.evaluation.what_if_record import LIKELIHOODS, what_if_record
from pmcnet.reports.page import write_report
from reports import mixed_table, records

webdriver = pytest.importorskip("selenium.webdriver")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)",
)
LEVELS = (0.05, 0.25, 0.75, 0.95)
N_NETWORKS = 40
SETTINGS = {
    "Gaussian": {"sigma": 0.4},
    "KnownGaussian": {"sigma": 0.4},
    "RowGaussian": {"floor": 0.05},
    "LogNormal": {"spread": 0.8},
    "RowLogNormal": {"spread": 0.8, "floor": 0.05},
    "CensoredWeibull": {"spread": 0.7, "centre": 1.3},
    "CensoredLogLogistic": {"spread": 0.7, "centre": 1.3},
    "Beta": {"centre": -0.5, "spread": 0.9},
    "Poisson": {"centre": 1.2, "spread": 1.1},
    "NegativeBinomial": {"centre": 1.2, "spread": 1.1},
}
OF_NUMBERS = [kind for kind in LIKELIHOODS if kind not in ("Bernoulli", "Categorical", "Ordinal")]


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(20)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def frame():
    return mixed_table.table()


@pytest.fixture(scope="module")
def asked(frame):
    return mixed_table.asked_rows(frame)


@pytest.fixture(scope="module")
def models(frame):
    return {
        "regression": mixed_table.regressor(frame),
        "binary": mixed_table.classifier(frame, 2),
        "multiclass": mixed_table.classifier(frame, 4),
    }


@pytest.fixture(scope="module")
def pages(models, frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    return {kind: written(*fitted, frame, folder, kind) for kind, fitted in models.items()}


def written(model, y, frame, folder, task):
    """The page of a model, and its record."""
    own = {"what_if": what_if_record(model, mixed_table.known(y, frame))}
    own |= {} if task == "regression" else {"classes": [str(name) for name in np.unique(y)]}
    return write_report(records.bare(task) | own, folder / f"{task}.html"), own["what_if"]


def show(browser, path, width=1280):
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get(path.as_uri())


def answers(browser, values):
    script = """return arguments[0].map(window.pmcnetWhatIf.predict).map(
      ({mean, interval50, interval90, probability, bands}) =>
      ({mean, interval50, interval90, probability, bands}))"""
    return browser.execute_script(script, values)


def control(browser, name, part):
    script = """return [...document.querySelectorAll('#what_if_controls .item')]
      .find(item => item.querySelector('label').textContent === arguments[0])
      .querySelector(arguments[1])"""
    return browser.execute_script(script, name, part)


def move(browser, part, value):
    script = """arguments[0].value = arguments[1];
      arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"""
    browser.execute_script(script, part, value)


def curve(browser):
    return browser.execute_script(
        "return document.querySelector('#what_if_curve .density').getAttribute('d')"
    )


def words(browser, part):
    return browser.execute_script(
        "return document.getElementById(`what_if_${arguments[0]}`).textContent", part
    )


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_what_if_equals_python_on_random_rows(kind, browser, models, pages, asked):
    path, record = pages[kind]
    thinned = models[kind][0].thinned(100)
    show(browser, path)
    found = answers(browser, mixed_table.page_values(record["columns"], asked, thinned))
    if kind == "regression":
        mean, expected = [each["mean"] for each in found], thinned.predict
    else:
        mean, expected = [each["probability"] for each in found], thinned.predict_proba
    np.testing.assert_allclose(mean, mixed_table.quietly(expected, asked), rtol=1e-5)


def test_what_if_intervals_equal_python_on_random_rows(browser, models, pages, asked):
    path, record = pages["regression"]
    thinned = mixed_table.in_doubles(models["regression"][0].thinned(100))
    show(browser, path)
    found = answers(browser, mixed_table.page_values(record["columns"], asked, thinned))
    ends = [(*each["interval90"], *each["interval50"]) for each in found]
    expected = mixed_table.quietly(thinned.predict_quantiles, asked, (0.05, 0.95, 0.25, 0.75))
    np.testing.assert_allclose(ends, expected, rtol=1e-5)


def test_what_if_bands_are_quantiles_of_networks(browser, models, pages, asked):
    path, record = pages["multiclass"]
    thinned = models["multiclass"][0].thinned(100)
    rows = asked[:20]
    show(browser, path)
    found = answers(browser, mixed_table.page_values(record["columns"], rows, thinned))
    posterior, x = thinned.posterior_, mixed_table.quietly(thinned.encoded, rows).inputs
    n = posterior.network.layout.dim
    each = posterior.likelihood.mean(posterior.network(posterior.theta[:, :n], x), None)
    expected = np.quantile(each.numpy(), (0.05, 0.95), axis=0, method="inverted_cdf")
    np.testing.assert_allclose([one["bands"] for one in found], expected.transpose(1, 2, 0), 1e-4)


@pytest.mark.parametrize("kind", OF_NUMBERS)
def test_what_if_knows_the_likelihood(kind, browser, models, frame, asked, tmp_path):
    model = random_networks(models["regression"][0], kind)
    path, record = written(model, models["regression"][1], frame, tmp_path, "regression")
    rows = asked[:10]
    show(browser, path)
    found = answers(browser, mixed_table.page_values(record["columns"], rows, model))
    exact = mixed_table.in_doubles(model.thinned(100))
    mean = mixed_table.quietly(exact.predict, rows)
    ends = mixed_table.quietly(exact.predict_quantiles, rows, LEVELS)
    np.testing.assert_allclose([each["mean"] for each in found], mean, rtol=1e-5)
    seen = [(each["interval90"][0], *each["interval50"], each["interval90"][1]) for each in found]
    np.testing.assert_allclose(seen, ends, rtol=1e-5)
    assert browser.get_log("browser") == []


def random_networks(model, kind):
    """Networks and noise that never saw data, with scales among their parameters."""
    likelihood = registry._stored()[kind](**SETTINGS.get(kind, {}))
    network = HierarchicalMLP(
        (model.encoder_.input_shape[0], 4, likelihood.n_outputs), per_input=True
    )
    source = torch.Generator().manual_seed(0)
    theta = 0.5 * torch.randn(N_NETWORKS, network.layout.dim, generator=source)
    noise = 0.5 * torch.randn(N_NETWORKS, likelihood.n_extra, generator=source)
    theta = torch.cat([theta, likelihood.from_normal(noise)], 1)
    shifted = "Log" not in kind and kind not in ("CensoredWeibull", "Beta", "Poisson")
    shifted = shifted and kind != "NegativeBinomial"
    name = next(n for n, kinds in registry.FAMILIES.items() if type(likelihood) in kinds)
    units = {"y_mean_": 30.0 if shifted else 0.0, "y_std_": 2.0 if shifted else 1.0}
    if kind.endswith("LogNormal"):
        units = {"y_mean_": 0.0, "y_std_": 3.0}
    return mixed_table.with_networks(model, network, likelihood, theta, likelihood_=name, **units)


@pytest.mark.parametrize("kind", ["Categorical", "Ordinal"])
def test_what_if_knows_the_classes(kind, browser, models, frame, asked, tmp_path):
    model, y = models["multiclass"]
    likelihood = registry._stored()[kind](4)
    network = MLP((model.encoder_.input_shape[0], 4, likelihood.n_outputs), "silu")
    source = torch.Generator().manual_seed(0)
    theta = 0.5 * torch.randn(N_NETWORKS, network.layout.dim, generator=source)
    noise = torch.randn(N_NETWORKS, likelihood.n_extra, generator=source)
    theta = torch.cat([theta, likelihood.from_normal(noise)], 1)
    model = mixed_table.with_networks(model, network, likelihood, theta)
    path, record = written(model, y, frame, tmp_path, "multiclass")
    rows = asked[:10]
    show(browser, path)
    found = answers(browser, mixed_table.page_values(record["columns"], rows, model))
    expected = mixed_table.quietly(model.thinned(100).predict_proba, rows)
    np.testing.assert_allclose([each["probability"] for each in found], expected, rtol=1e-5)


def test_what_if_special_functions_equal_scipy(browser, pages):
    show(browser, pages["binary"][0])
    source = np.random.default_rng(0)
    a, b = 10 ** source.uniform(-2, 5, (2, 300))
    x, share = a * np.exp(source.normal(size=300) / np.sqrt(1 + a)), source.beta(a, b)
    script = """const [a, b, x, share] = arguments, f = window.pmcnetWhatIf.special;
      return a.map((_, i) => [f.gammaTail(a[i], x[i]), f.betaCumulative(a[i], b[i], share[i]),
                              f.logGamma(a[i])])"""
    given = [each.tolist() for each in (a, b, x, share)]
    gamma, beta, log_gamma = np.array(browser.execute_script(script, *given)).T
    np.testing.assert_allclose(gamma, special.gammaincc(a, x), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(beta, special.betainc(a, b, share), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(log_gamma, special.gammaln(a), rtol=1e-12, atol=1e-12)


def test_what_if_slider_moves_the_curve_and_reset_brings_it_back(browser, pages):
    show(browser, pages["regression"][0])
    before, told = curve(browser), words(browser, "now")
    slider = control(browser, "area", "input[type=range]")
    move(browser, slider, slider.get_attribute("max"))
    field = control(browser, "area", "input[type=number]")
    assert float(field.get_attribute("value")) == float(slider.get_attribute("max"))
    assert curve(browser) != before
    assert words(browser, "now") != told
    browser.execute_script("document.querySelector('#what_if_controls button').click()")
    assert (curve(browser), words(browser, "now")) == (before, told)


def test_what_if_shows_a_missing_value_as_the_model_has_it(browser, pages):
    path, record = pages["regression"]
    show(browser, path)
    browser.execute_script("arguments[0].click()", control(browser, "age", "input[type=checkbox]"))
    names = [column["name"] for column in record["columns"]]
    values = list(record["starts"][0]["values"])
    values[names.index("age")] = None
    (found,) = answers(browser, [values])
    assert f"{found['mean']:.2f}" in words(browser, "now")
    assert control(browser, "age", "input[type=number]").get_attribute("value") == ""


def test_what_if_redraws_within_fifty_milliseconds(browser, pages):
    show(browser, pages["regression"][0])
    slider = control(browser, "area", "input[type=range]")
    script = """const [slider] = arguments, times = [];
      for (let i = 0; i < 9; i++) {
        slider.value = 60 + 5 * i;
        const start = performance.now();
        slider.dispatchEvent(new Event('input'));
        times.push(performance.now() - start);
      }
      return times.sort((a, b) => a - b)[4]"""
    assert browser.execute_script(script, slider) < 50


def test_what_if_is_used_by_keyboard(browser, pages):
    from selenium.webdriver import ActionChains, Keys

    show(browser, pages["regression"][0])
    browser.execute_script("document.getElementById('what_if_start').focus()")
    before, seen = curve(browser), set()
    for _ in range(40):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        seen.add(browser.execute_script("return document.activeElement.getAttribute('aria-label')"))
        seen.add(browser.execute_script("return document.activeElement.id"))
    sliders = browser.execute_script(
        "return [...document.querySelectorAll('.ask input[type=range]')]"
        ".filter(s => s.checkVisibility()).map(s => s.getAttribute('aria-label'))"
    )
    assert len(sliders) >= 5
    assert set(sliders) <= seen
    browser.execute_script("arguments[0].focus()", control(browser, "area", "input[type=range]"))
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT * 10).perform()
    assert curve(browser) != before


def test_what_if_names_every_control(browser, pages):
    show(browser, pages["multiclass"][0])
    unnamed = browser.execute_script(
        "return [...document.querySelectorAll('.ask input, .ask select, .ask button')].filter("
        "one => !(one.labels?.length || one.getAttribute('aria-label') || one.textContent.trim()))"
        ".length"
    )
    assert unnamed == 0


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize("width", [390, 1280])
def test_what_if_never_scrolls_sideways(kind, width, browser, pages):
    show(browser, pages[kind][0], width)
    browser.execute_script("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(
        "return document.getElementById('what_if_page').checkVisibility()"
    )


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_what_if_asks_for_nothing_and_complains_of_nothing(kind, browser, pages):
    browser.get_log("performance")
    browser.get_log("browser")
    show(browser, pages[kind][0])
    slider = control(browser, "area", "input[type=range]")
    move(browser, slider, slider.get_attribute("min"))
    events = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    sent = [event for event in events if event["method"] == "Network.requestWillBeSent"]
    asked = {event["params"]["request"]["url"] for event in sent}
    # Chromium draws the sign of its date fields from an address that is the picture itself
    assert {url for url in asked if not url.startswith("data:image")} == {pages[kind][0].as_uri()}
    assert browser.get_log("browser") == []
    assert pages[kind][0].stat().st_size < 1_500_000


def test_what_if_says_that_it_is_broken(browser, pages, tmp_path):
    text = pages["binary"][0].read_text()
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace('"activation"', '"other"'))
    show(browser, broken)
    seen = "return document.getElementById(arguments[0]).checkVisibility()"
    assert browser.execute_script(seen, "what_if_broken")
    assert not browser.execute_script(seen, "what_if_page")


def test_what_if_takes_names_for_names(browser, tmp_path):
    evil = "</script><script>document.title = 'gone'</script><img src=x onerror=alert(1)>"
    record = records.what_if() | {"target": evil}
    for column in record["what_if"]["columns"]:
        column["name"] += evil
    record["what_if"]["columns"][1]["levels"] = [evil, "]]>&lt;"]
    path = write_report(record, tmp_path / "evil.html")
    show(browser, path)
    assert browser.title == record["title"]
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert evil[:30] in browser.execute_script(
        "return document.querySelector('#what_if_1').options[0].textContent"
    )
    assert browser.get_log("browser") == []


def test_what_if_shows_the_truth_of_a_test_row_until_it_is_changed(browser, pages):
    show(browser, pages["regression"][0])
    marks = "return document.querySelectorAll('#what_if_curve line.truth').length"
    assert browser.execute_script(marks) == 0
    script = """const rows = document.getElementById('what_if_start');
      rows.value = '3'; rows.dispatchEvent(new Event('change'))"""
    browser.execute_script(script)
    assert browser.execute_script(marks) == 1
    slider = control(browser, "area", "input[type=range]")
    move(browser, slider, slider.get_attribute("min"))
    assert browser.execute_script(marks) == 0


def test_what_if_prints_without_sliders(browser, pages):
    show(browser, pages["regression"][0])
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.execute_script(
        "return ['input[type=range]', '#what_if_curve svg'].map("
        "name => document.querySelector(`.ask ${name}`).checkVisibility())"
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == [False, True]

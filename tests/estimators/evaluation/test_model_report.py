import json
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.tables import QUICK, classes, numbers
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import InputError
from pmcnet.estimators.evaluation import model_report
from pmcnet.estimators.evaluation.model_report import unscored_record
from pmcnet.reports import page
from pmcnet.reports.card_numbers import three_numbers
from pmcnet.reports.first_card import card_of


@pytest.fixture(scope="module")
def regressor():
    x, y = numbers(40)
    return PMCNetRegressor(**QUICK, likelihood="gaussian", noise=0.3).fit(x, y)


@pytest.fixture(scope="module")
def classifier():
    return PMCNetClassifier(**QUICK).fit(*classes(40, 3))


def sections_of(text):
    return set(re.findall(r'<section id="(\w+)"', text))


def test_report_without_rows_has_what_the_fit_knows(regressor, tmp_path):
    path = regressor.report(tmp_path / "page.html")
    text = path.read_text()
    assert path == tmp_path / "page.html"
    assert sections_of(text) == {
        "verdict", "loo", "diagnostics", "history", "facts", "columns", "settings", "omissions",
    }  # fmt: skip
    assert "<h1>PMCNetRegressor</h1>" in text
    assert "40 training rows · 3 features" in text
    assert "give X and y to report" in text


def test_report_with_rows_has_their_metrics_and_figures(regressor, tmp_path):
    x, y = numbers(30, seed=1)
    path = str(tmp_path / "new" / "page.html")
    text = regressor.report(path, x, pd.Series(y, name="price"), title="Houses").read_text()
    assert {"metrics", "scatter", "calibration", "uncertain"} <= sections_of(text)
    assert "<h1>Houses</h1>" in text
    assert "of 30 test rows in 90 % intervals" in text
    assert "<dd>price</dd>" in text


@pytest.fixture
def drawn(monkeypatch):
    """The records of pages that are not drawn."""
    found = []
    monkeypatch.setattr(page, "write_report", lambda record, path: found.append(record))
    return found


def test_report_of_classes_has_the_metrics_of_the_averaged_prediction(classifier, drawn):
    x, y = classes(30, 3, seed=1)
    classifier.report("page.html", x, y)
    found = {metric["name"]: metric["value"] for metric in drawn[0]["metrics"]}
    assert found["accuracy"] == pytest.approx(classifier.score(x, y))
    assert drawn[0]["classes"] == ["a", "b", "c"]
    assert "roc" in drawn[0]
    json.dumps(drawn[0], allow_nan=False)


def test_report_depends_on_the_seed_of_its_draws_alone(regressor, drawn):
    x, y = numbers(10, seed=1)
    for seed in (1, 1, 2):
        regressor.report("page.html", x, y, n_passes=20, random_state=seed)
    first, second, other = (record["metrics"] + record["histograms"] for record in drawn)
    assert first == second
    assert first != other


def test_report_takes_lists_and_says_what_few_rows_lack(regressor, drawn):
    x, y = numbers(19, seed=1)
    regressor.report("page.html", x.tolist(), y.tolist(), what_if=False)
    assert {"explained", "loo"} <= set(drawn[0])
    assert not {"what_if", "importance", "effects", "residuals"} & set(drawn[0])
    assert "20 test rows or more" in drawn[0]["omissions"][0]


def test_explained_rows_of_numbered_classes_have_a_class_for_truth(drawn):
    x, y = classes(40, 2)
    PMCNetClassifier(**QUICK).fit(x, y == "b").report("page.html", x[:9], (y == "b")[:9])
    known = {each["row"]: each["truth"] for each in drawn[0]["explained"]}
    assert known == {row: str(y[row - 1] == "b") for row in known}


def test_report_of_chains_names_the_one_way_to_leave_rows_out(drawn):
    x, y = numbers(40)
    sizes = {"n_chains": 4, "n_warmup": 3, "n_draws": 8, "max_leapfrog": 4, "n_epochs": 2}
    chains = QUICK | {"method": "hmc", "method_options": sizes}
    model = PMCNetRegressor(**chains, likelihood="gaussian", noise=0.3).fit(x, y)
    model.report("page.html", x, y, what_if=False)
    assert drawn[0]["omissions"][-1].endswith(
        "does not hold: give them back with restore_rows(X, y)."
    )
    model.restore_rows(x, y).report("page.html", x, y, what_if=False)
    assert not drawn[1]["omissions"]


def test_report_without_the_noise_of_each_row_leaves_its_checks_out(drawn):
    x, y = numbers(40)
    model = PMCNetRegressor(**QUICK, likelihood="gaussian", noise=np.full(40, 0.3)).fit(x, y)
    model.report("page.html", x, y)
    assert "importance" in drawn[0]
    assert "residuals" not in drawn[0]


@pytest.mark.parametrize(("x", "y", "alone"), [(None, [1.0], "y"), ([[1.0] * 3], None, "X")])
def test_report_needs_both_or_neither(x, y, alone, regressor, tmp_path):
    with pytest.raises(InputError, match=f"got {alone} alone. Give both"):
        regressor.report(tmp_path / "page.html", x, y)


def test_report_takes_exposures_of_counts(drawn):
    x, _ = numbers(40)
    exposure = np.full(40, 2.0)
    y = np.random.default_rng(0).poisson(exposure * np.exp(0.5 * x[:, 0]))
    model = PMCNetRegressor(**QUICK, likelihood="poisson").fit(x, y, exposure=exposure)
    model.report("page.html", x[:20], y[:20], exposure=exposure[:20])
    coverage, *_ = three_numbers(drawn[0])
    assert coverage.label == "of 20 test rows in 90 % intervals"
    assert coverage.beside.startswith("at least 90 % is right")


def test_report_takes_times_and_events():
    rows = np.array([(2.0, True), (3.0, False)], dtype=[("time", float), ("event", bool)])
    values, second = model_report._truth(PMCNetRegressor(), rows, None)
    assert values.tolist() == [2.0, 3.0]
    assert second.event.tolist() == [1.0, 0.0]


def test_report_refuses_exposures_of_classes(classifier, tmp_path):
    x, y = classes(30, 3)
    with pytest.raises(InputError, match="predicts classes"):
        classifier.report(tmp_path / "page.html", x, y, exposure=2.0)


@pytest.mark.parametrize(
    ("value", "shown"), [(np.arange(30.0), "30 values"), (object, "type"), ((5, 4), [5, 4])]
)
def test_settings_of_any_type_are_plain(value, shown):
    assert model_report._setting(value) == shown


@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_notebook_shows_the_card_of_a_fitted_model(name, request):
    model = request.getfixturevalue(name)
    card = card_of(unscored_record(model))
    for html in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert f"</span>{model.verdict_.status}</span>" in html
        assert card.meaning in html
        assert "3 features" in html
        assert type(model).__name__ in html
        assert len(html) < 10_000


def test_notebook_and_page_print_the_same_advice(regressor, tmp_path):
    card = card_of(unscored_record(regressor))
    assert card.advice in regressor._repr_html_()
    assert card.advice in page.render(unscored_record(regressor))


def test_notebook_predicts_nothing(regressor, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a prediction was made")

    monkeypatch.setattr(type(regressor.posterior_), "predict", refuse)
    monkeypatch.setattr(type(regressor.posterior_), "draws", refuse)
    assert "first-card" in regressor._repr_html_()


def test_notebook_shows_the_settings_before_the_fit():
    model = PMCNetRegressor(budget="1h")
    assert "sk-" in model._repr_html_()
    assert "first-card" not in model._repr_html_()
    assert set(model._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_notebook_shows_text_where_it_is_asked_to(regressor):
    with sklearn.config_context(display="text"):
        assert set(regressor._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(regressor, "_repr_html_")


def test_notebook_shows_pipelines_as_scikit_learn_does(regressor):
    shown = make_pipeline(StandardScaler(), regressor)._repr_html_()
    assert "sk-" in shown
    assert "first-card" not in shown

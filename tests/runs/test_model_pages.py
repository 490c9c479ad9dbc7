"""The page that a model writes, beside that of the run which fitted it."""

import warnings

import pytest

from cli.commands import classes, numbers, written
from pmcnet.errors import UnseenLevelsWarning
from pmcnet.reports import page
from pmcnet.reports.progress import FitProgress
from pmcnet.runs.config import RunSettings
from pmcnet.runs.fit import fit_run
from pmcnet.runs.prepare import prepare


@pytest.fixture(scope="module", params=[numbers, classes])
def run(request, tmp_path_factory):
    """The finished run of a table, and its rows."""
    folder = tmp_path_factory.mktemp("run")
    table = written(request.param(120), folder / "table.csv")
    settings = RunSettings(
        data=str(table),
        target="y",
        method="annealed",
        method_options={"n_islands": 4, "n_particles": 8},
        prior_std=1.0,
        noise="learn",
        hidden=(2,),
        test_share=0.5,
        n_passes=10,
        device="cpu",
    )
    with pytest.MonkeyPatch.context() as patched, FitProgress() as shown:
        patched.setattr(page, "write_report", lambda record, path: None)
        return fit_run(settings, folder / "run", shown=shown), prepare(settings)


def record_of(model, x, y):
    """What the page of a model is drawn from."""
    found = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(page, "write_report", lambda record, path: found.append(record))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelsWarning)
            model.report("page.html", x, y, n_passes=10)
    return found[0]


def sections(record):
    return [part.key for _, parts in page._made_groups(record) for part in parts]


def test_page_of_a_model_has_the_sections_of_its_run(run):
    finished, rows = run
    own = record_of(finished.model, rows.x_test, rows.y_test)
    assert sections(own) == sections(finished.report)
    assert own["metrics"] == finished.report["metrics"]
    assert own["effects"]["held_out"]
    assert not finished.report["effects"]["held_out"]
    assert own["loo"]["merged"]
    explained = {each["row"]: each["truth"] for each in own["explained"]}
    assert {each["row"] for each in own["uncertain"][:3]} <= set(explained)
    assert all(rows.y_test[row - 1] == truth for row, truth in explained.items())


def test_page_of_a_loaded_model_says_what_it_lacks(run):
    finished, rows = run
    model = type(finished.model).load(finished.folder.model, device="cpu")
    own = record_of(model, rows.x_test, rows.y_test)
    assert set(finished.report) - set(own) == {"loo"}
    (why,) = own["omissions"]
    assert "training_rows=True" in why

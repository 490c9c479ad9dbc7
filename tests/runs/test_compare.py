"""Comparisons: tuned or not, what they tell of the settings, what they leave behind."""

import json

import pytest

from cli.commands import classes, done, files, numbers, refused, written
from pmcnet import requirements
from pmcnet.errors import InputError
from pmcnet.methods.point_estimates import AdamMethod
from pmcnet.methods.registry import METHODS
from pmcnet.reports import page
from pmcnet.reports.progress import FitProgress
from pmcnet.runs import compare
from pmcnet.runs.compare import compare_runs
from pmcnet.runs.config import RunSettings, read_config

EXTRAS = ["laplace", "nuts"]
QUICK = tuple({"n_epochs": n, "prior_std": sigma} for n in (2, 40) for sigma in (0.5, 1.0, 3.0))


@pytest.fixture
def quick(monkeypatch):
    """Choices that train in no time, and pages that are not drawn."""
    monkeypatch.setattr(AdamMethod, "grid", QUICK)
    monkeypatch.setattr(compare, "write_report", lambda record, path: path)
    monkeypatch.setattr(page, "write_report", lambda record, path: path.write_text("<html>"))


def settings(folder, **given):
    return RunSettings(
        data=str(folder / "rows.csv"), target="y", hidden=(2,), device="cpu", budget="1s", **given
    )


@pytest.mark.parametrize("kind", [classes, numbers])
def test_tuned_method_is_fitted_with_the_best_of_six(quick, tmp_path, kind):
    written(kind(), tmp_path / "rows.csv")
    compared = compare_runs(
        settings(tmp_path), ["adam-map", "annealed"], tmp_path / "out", shown=FitProgress()
    )
    ours, other = compared.entries
    assert len(ours["trials"]) == 6
    best = min(ours["trials"], key=lambda trial: trial["validation_nll"])
    assert ours["chosen"] == {
        name: value for name, value in best.items() if name != "validation_nll"
    }
    assert (ours["chosen_by"], other["chosen_by"]) == ("validation", "evidence")
    assert ours["tuning_seconds"] > 0
    assert other["tuning_seconds"] > 0
    assert ours["seconds"] > 0
    config = read_config(tmp_path / "out" / "adam-map" / "config.toml")
    assert config["prior_std"] == ours["chosen"]["prior_std"]
    assert config["method_options"]["n_epochs"] == ours["chosen"]["n_epochs"]
    total = json.loads((tmp_path / "out" / "annealed" / "metrics.json").read_text())["seconds"][
        "fit"
    ]
    assert other["seconds"] + other["tuning_seconds"] == pytest.approx(total)


def test_without_tuning_the_defaults_are_taken(quick, tmp_path):
    written(classes(), tmp_path / "rows.csv")
    given = settings(tmp_path, prior_std=1.0)
    entries = compare_runs(
        given, ["adam-map", "adam-mle"], tmp_path / "out", shown=FitProgress(), tune="none"
    ).entries
    assert [entry["chosen"] for entry in entries] == [{"prior_std": 1.0}, {}]
    assert all(
        (entry["trials"], entry["chosen_by"], entry["tuning_seconds"]) == ([], None, 0.0)
        for entry in entries
    )
    assert (
        read_config(tmp_path / "out" / "adam-map" / "config.toml")["method_options"]["n_epochs"]
        > 40
    )


def test_comparison_has_the_same_numbers_again(quick, tmp_path):
    written(classes(), tmp_path / "rows.csv")
    found = [
        compare_runs(settings(tmp_path), ["adam-map"], tmp_path / out, shown=FitProgress()).entries[
            0
        ]
        for out in ("a", "b")
    ]
    for name in ("metrics", "chosen", "trials"):
        assert found[0][name] == found[1][name]


def test_command_tells_choices_as_a_table_and_as_json(quick, tmp_path):
    written(classes(), tmp_path / "rows.csv")
    common = (
        "compare",
        tmp_path / "rows.csv",
        "--target",
        "y",
        "--methods",
        "adam-map,adam-mle",
        "--hidden",
        2,
    )
    result = done(*common, "--out", tmp_path / "a")
    assert "tuning s" in result.stdout
    assert "(the best of 6 by validation)" in result.stdout
    assert "adam-map, choice 6 of 6, n_epochs 40, prior_std 3: validation NLL" in result.stderr
    plain = done(*common, "--tune", "none", "--prior-std", 1, "--out", tmp_path / "b", "--json")
    assert [entry["trials"] for entry in json.loads(plain.stdout)] == [[], []]
    assert (
        "its defaults (as given)"
        in done(*common, "--tune", "none", "--prior-std", 1, "--out", tmp_path / "c").stdout
    )


def test_run_of_a_tuned_method_is_repeated_from_its_config(quick, tmp_path):
    written(classes(), tmp_path / "rows.csv")
    compare_runs(settings(tmp_path), ["adam-map"], tmp_path / "out", shown=FitProgress())
    done(
        "fit",
        "--config",
        tmp_path / "out" / "adam-map" / "config.toml",
        "--out",
        tmp_path / "again",
    )
    first, again = (
        (folder / "predictions.csv").read_text()
        for folder in (tmp_path / "out" / "adam-map", tmp_path / "again")
    )
    assert first == again


def test_too_few_rows_to_tune_leave_nothing(tmp_path):
    written(classes(15), tmp_path / "rows.csv")
    common = (
        "compare",
        tmp_path / "rows.csv",
        "--target",
        "y",
        "--methods",
        "annealed,adam-map",
        "--out",
        tmp_path / "o",
    )
    refused(*common, says=("tuning needs at least 20 training rows; got 12. Use --tune none",))
    assert files(tmp_path) == {"rows.csv"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, InputError])
def test_tuning_that_stops_leaves_nothing(quick, tmp_path, monkeypatch, error):
    def stop(*given, **named):
        raise error

    monkeypatch.setattr(compare, "tuned", stop)
    written(classes(), tmp_path / "rows.csv")
    with pytest.raises(error):
        compare_runs(settings(tmp_path), ["adam-map"], tmp_path / "out", shown=FitProgress())
    assert files(tmp_path) == {"rows.csv"}


def test_method_without_its_library_is_refused_before_anything_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(requirements, "find_spec", lambda module: None)
    written(classes(), tmp_path / "rows.csv")
    common = ("compare", tmp_path / "rows.csv", "--target", "y", "--out", tmp_path / "out")
    refused(
        *common,
        "--methods",
        "annealed,laplace",
        says=("laplace needs laplace-torch", "pip install 'pmcnet[laplace]'"),
    )
    refused(
        "fit",
        tmp_path / "rows.csv",
        "--target",
        "y",
        "--method",
        "nuts",
        says=("nuts needs NumPyro",),
    )
    assert files(tmp_path) == {"rows.csv"}


@pytest.mark.parametrize("name", EXTRAS)
def test_method_of_another_library_is_compared(quick, tmp_path, name, monkeypatch):
    library = METHODS[name].library
    if not library.installed:
        pytest.skip(f"{library.title} is not installed: pip install 'pmcnet[{name}]'")
    written(classes(), tmp_path / "rows.csv")
    given = settings(tmp_path, prior_std=1.0)
    entry = compare_runs(given, [name], tmp_path / "out", shown=FitProgress()).entries[0]
    assert entry["method"] == name
    assert entry["verdict"] == "doubtful"
    assert entry["metrics"]["accuracy"] > 0.5
    assert done("predict", tmp_path / "out" / name, tmp_path / "rows.csv").stdout

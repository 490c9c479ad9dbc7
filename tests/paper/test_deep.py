"""The large experiments at tiny sizes on made data: results, and going on after interruption."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from data.making import pixels, svhn_mat
from paper import small
from pmcnet import data
from pmcnet.errors import DivergedError, InputError
from pmcnet.paper import EXPERIMENTS, deep_baselines, reproduce
from pmcnet.paper.deep_table import LABELS
from pmcnet.paper.experiment import Session
from pmcnet.paper.result_table import timing
from pmcnet.paper.tables import cifar10, mnist_c
from pmcnet.tune import grid_search

PHASES = ("proposals", "target", "moves")
SHORT = replace(EXPERIMENTS["naval"].settings.quick(), baselines=False)


class Stop(Exception):
    """Raised where a run is to be interrupted."""


@pytest.fixture
def little(monkeypatch):
    """Every experiment finds small data."""
    monkeypatch.setattr(data, "load_images", small.images)
    monkeypatch.setattr(data, "paper_split", small.split)


def quiet(line):
    pass


def stopping_at(words):
    """Progress that ends the run where a line has these words."""

    def say(line):
        if words in line:
            raise Stop

    return say


def quick(name, say=quiet, **kept):
    return reproduce(name, quick=True, device="cpu", say=say, **kept)


def short(say=quiet, settings=SHORT, folder=None):
    """Naval without the methods it is compared with."""
    return EXPERIMENTS["naval"].run(settings, Session(torch.device("cpu"), say, folder))


def plain(record):
    """The record as it is written."""
    return json.loads(json.dumps(record, allow_nan=False))


def check(record, name, metric):
    """Every method has its row, its scores and its time."""
    assert plain(record)["experiment"] == name
    assert set(record["runs"]) == set(LABELS)
    assert {row["label"] for row in record["table"]["rows"]} == {
        *LABELS.values(),
        "BBP, mean network",
    }
    assert {row["method"] for row in record["timing"]} == set(LABELS.values())
    for runs in record["runs"].values():
        assert np.isfinite(runs[0]["per_draw"][metric]["mean"])
        assert {"ess", "khat", "verdict", "reason"} <= runs[0]["diagnostics"].keys()
    for row in record["timing"]:
        assert row["fit_seconds"] > 0
        assert row["milliseconds_per_row"] > 0


@pytest.mark.parametrize("name", ["naval", "protein"])
def test_regression_runs_at_quick_sizes(name, little):
    record = quick(name)
    check(record, name, "mse")
    errors = record["figures"]["squared_errors"]
    assert set(errors) == set(LABELS.values())
    assert {len(values) for values in errors.values()} == {small.N_TEST}
    assert (
        record["runs"]["adam-mle"][0]["per_draw"]["mse"]["mean"] < 1e-2
    )  # in the response's own unit


@pytest.mark.parametrize("name", ["mnist-c", "cifar10"])
def test_images_run_at_quick_sizes(name, little):
    record = quick(name)
    check(record, name, "accuracy")
    matrices = record["figures"]["confusion"]
    assert set(matrices) == set(LABELS.values())
    for matrix in matrices.values():
        np.testing.assert_allclose(np.sum(matrix, 1), small.N_TEST / 10)


def test_svhn_runs_from_files_of_the_official_form(tmp_path, monkeypatch):
    for seed, (part, n) in enumerate({"train": 40, "test": 20}.items()):
        label = (np.arange(n) % 10 + 1).astype(np.uint8)
        svhn_mat(tmp_path / "svhn" / f"{part}_32x32.mat", pixels(n, 32, 32, 3, seed=seed), label)
    monkeypatch.setenv("PMCNET_DATA", str(tmp_path))
    monkeypatch.setattr(data, "load_images", partial(data.load_images, verify=False))
    check(quick("svhn-g"), "svhn-g", "accuracy")


def test_choice_that_diverges_in_the_whole_training_gives_way_to_the_next_best():
    search = grid_search(
        [{"rate": 1.0}, {"rate": 3.0}, {"rate": 2.0}], lambda choice: -choice["rate"]
    )

    def fitted(choice):
        if choice["rate"] > least:
            raise DivergedError("too fast")
        return ["posterior"]

    least = 2.0
    assert deep_baselines._first_finite(search, fitted) == ({"rate": 2.0}, ["posterior"])
    least = 0.0
    with pytest.raises(DivergedError):
        deep_baselines._first_finite(search, fitted)


def test_timing_has_the_papers_seconds_of_mnist_c_alone():
    timed = {"seconds": 1.0, "milliseconds_per_row": 1.0}
    runs = {"adam-mle": [timed], "ensemble": [timed]}
    shown = [timing(runs, LABELS, table.PUBLISHED) for table in (mnist_c, cifar10)]
    assert [row["paper"] for row in shown[0]] == [[1760, 2], None]
    assert [row["paper"] for row in shown[1]] == [None, None]


@pytest.mark.parametrize("words", ["networks trained", "step 1 of 2", "step 2 of 2", "seed 0: bbp"])
def test_interrupted_run_goes_on_to_the_same_table(words, little, tmp_path):
    with pytest.raises(Stop):
        quick("naval", stopping_at(words), folder=tmp_path)
    said = []
    record, whole = quick("naval", said.append, folder=tmp_path), quick("naval")
    assert not any("epoch" in line for line in said)  # the networks are not trained again
    assert record["table"] == whole["table"]
    assert record["figures"] == whole["figures"]


def test_interrupted_run_goes_on_from_its_last_step(little, tmp_path):
    with pytest.raises(Stop):
        short(stopping_at("step 1 of 2"), folder=tmp_path)
    said = []
    record = short(said.append, folder=tmp_path)
    assert [line for line in said if "step" in line] == [
        line for line in said if "step 2 of 2" in line
    ]
    light = record["runs"]["pmcnet-light"][0]
    assert [line["step"] for line in light["phases"]] == [1, 2]
    assert light["seconds"] == pytest.approx(
        sum(sum(line[k] for k in PHASES) for line in light["phases"])
    )


def test_finished_run_is_returned_at_once(little, tmp_path):
    first = plain(quick("naval", folder=tmp_path))
    said = []
    assert plain(quick("naval", said.append, folder=tmp_path)) == first
    assert said == []


def test_seeds_can_be_added_to_a_finished_run(little, tmp_path):
    short(folder=tmp_path)
    said = []
    record = short(said.append, replace(SHORT, n_seeds=2), tmp_path)
    assert not any("seed 0" in line for line in said)
    assert len(record["runs"]["pmcnet-light"]) == 2


def test_other_settings_in_the_same_folder_are_refused(little, tmp_path):
    short(folder=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match=r"holds a run of naval with other settings.*--fresh"):
        short(settings=replace(SHORT, sigma=0.01), folder=tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_two_experiments_share_a_folder(little, tmp_path):
    quick("naval", folder=tmp_path)
    quick("protein", folder=tmp_path)
    assert {path.name.split("-")[0] for path in tmp_path.iterdir()} == {"naval", "protein"}


def test_runs_without_a_folder_leave_no_files(little, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short()
    assert list(tmp_path.iterdir()) == []


def test_data_that_are_not_at_hand_are_told_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("PMCNET_DATA", str(tmp_path / "empty"))
    with pytest.raises(InputError, match="svhn-g is not at hand"):
        quick("svhn-g", folder=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()

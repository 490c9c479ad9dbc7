"""Runs of one study with several seeds, and parts of it that ran alone, as one."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from paper import small
from pmcnet import ais
from pmcnet.errors import InputError
from pmcnet.paper import EXPERIMENTS, chains, deep_problems, join, posterior, rivals
from pmcnet.paper.averaging import Average
from pmcnet.paper.stages import Stages
from pmcnet.paper.study import PARTS
from pmcnet.runs.figure_data import finite

NAME, CPU = "mnist-c-posterior", torch.device("cpu")
TINY = replace(EXPERIMENTS[NAME].settings.quick(), budget=0.01, parts=("chains",))
LABEL = "SGHMC chains, approximate"


@pytest.fixture(autouse=True)
def little(monkeypatch):
    monkeypatch.setattr(deep_problems.data, "load_images", small.images)
    monkeypatch.setattr(deep_problems.data, "svhn_crops", lambda: None)


def run(folder, seed, **changed):
    return posterior.run(
        NAME, settings=replace(TINY, seed=seed, **changed), device=CPU, say=print, folder=folder
    )


def joined(*folders, folder=None):
    return join(NAME, folders, device="cpu", say=print, folder=folder)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Folders of two runs, of 5 and of 10 draws."""
    monkeypatch.setattr(chains, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    for seed, n_epochs in ((3, 6), (4, 11)):
        monkeypatch.setattr(chains, "_MOST_EPOCHS", n_epochs)
        run(tmp_path / str(seed), seed, budget=1e9)
    return tmp_path / "3", tmp_path / "4"


def test_all_draws_of_all_runs_count_once(runs, tmp_path):
    record = joined(*runs, folder=tmp_path / "both")
    json.dumps(record, allow_nan=False)
    assert record["settings"]["seed"] == [3, 4]
    assert (
        not {"budget", "marks", "parts"} & record["settings"].keys()
    )  # which may have been different
    found = record["rows"][LABEL]
    few, many = (Stages.of(folder, NAME).kept(chains.KEY, CPU).tensors for folder in runs)
    assert (int(few["n"]), int(many["n"])) == (5 * TINY.n_chains, 10 * TINY.n_chains)
    assert found["scores"]["n_networks"] == 15 * TINY.n_chains
    assert len(found["seconds"]) == 2
    average = (few["probability"] + many["probability"]) / (15 * TINY.n_chains)
    stored = np.load(tmp_path / "both" / f"{NAME}-probability.npz")["probability"]
    np.testing.assert_array_equal(stored, average.half().numpy())
    monitors = torch.cat([few["monitors"], many["monitors"][5:]], dim=1)
    density = torch.cat([few["log_density"], many["log_density"][5:]], dim=1)
    alone = ais.ChainResult(density, density, monitors, (), True)
    assert (found["rhat"], found["ess"], found["drift"]) == (alone.rhat, alone.ess, alone.drift)
    assert found["verdict"][0] == "doubtful"
    assert f"{LABEL}: R-hat of predictions {found['rhat']:.3g}, " in record["table"]["caption"]
    assert found["verdict"][1] in record["table"]["caption"]


def test_seeds_give_other_networks_and_joining_averages_their_starts_too(runs):
    first, second = (Stages.of(folder, NAME).kept(chains.START, CPU).tensors for folder in runs)
    assert not torch.equal(first["theta"], second["theta"])
    study = posterior.made(NAME, settings=TINY, device=CPU, say=print)
    all_of_them = study.added(study.nothing(), torch.cat([first["theta"], second["theta"]]))
    found, expected = (
        joined(*runs)["rows"]["starting networks"]["scores"],
        study.scores(all_of_them),
    )
    assert found == pytest.approx(expected)


def test_runs_that_went_on_from_networks_are_joined(runs, tmp_path):
    for seed, before in zip((5, 6), runs, strict=True):
        on = TINY.going_on(str(before / f"{NAME}-networks.safetensors"))
        run(tmp_path / str(seed), seed, start=on.start, walk_epochs=on.walk_epochs)
    found = joined(tmp_path / "5", tmp_path / "6")["rows"][LABEL]
    assert found["scores"]["n_networks"] >= 2 * TINY.n_chains


def test_one_run_joined_with_none_is_itself(runs):
    alone = joined(runs[0])["rows"][LABEL]
    assert alone["scores"]["n_networks"] == 5 * TINY.n_chains
    again = Average.of(Stages.of(runs[0], NAME).kept(chains.KEY, CPU).tensors)
    study = posterior.made(NAME, settings=TINY, device=CPU, say=print)
    assert alone["scores"] == study.scores(again)


def test_corrected_chains_are_joined_with_their_own_verdict(tmp_path):
    for seed in (0, 1):
        run(tmp_path / str(seed), seed, sampler="hmc")
    found = joined(tmp_path / "0", tmp_path / "1")["rows"]["Hamiltonian chains"]
    states = [Stages.of(tmp_path / str(seed), NAME).kept(chains.KEY, CPU).state for seed in (0, 1)]
    n = min(len(state.log_density) for state in states)
    density = torch.cat([state.log_density[-n:] for state in states], dim=1)
    assert density.shape[1] == 2 * TINY.n_chains
    monitors = torch.cat([state.monitors[-n:] for state in states], dim=1)
    accepted = sum(state.acceptance for state in states) / 2
    expected = ais.ChainResult(density, density, monitors, (), True, accepted)
    assert found["drift"] == finite(expected.drift)
    assert found["verdict"][0] == expected.verdict.status
    assert found["scores"]["n_networks"] == sum(state.log_density.numel() for state in states)


def test_rivals_are_joined_where_all_runs_have_them(runs, monkeypatch):
    first = posterior.made(
        NAME, settings=replace(TINY, seed=3, budget=1.0), device=CPU, say=print, folder=runs[0]
    )
    second = posterior.made(
        NAME, settings=replace(TINY, seed=4, budget=1.0), device=CPU, say=print, folder=runs[1]
    )
    monkeypatch.setattr(
        rivals, "since", lambda begun, device: 0.4
    )  # seconds of every round: two fit
    start = torch.zeros(TINY.n_chains, first.target.dim)
    rivals.ensemble(first, start, 0.01)
    rivals.others(second, start)
    rows = joined(*runs)["rows"]
    assert posterior.ENSEMBLE not in rows
    assert rows["SGLD"]["scores"] == second.stages.record("sgld")["scores"]
    assert rows["PMCnet-light, equal weights"]["scores"]["n_networks"] > 0
    assert (
        "PMCnet-light, equal weights: of the run with seed 4." in joined(*runs)["table"]["caption"]
    )
    rivals.ensemble(second, start, 0.01)
    rows = joined(*runs)["rows"]
    assert rows[posterior.ENSEMBLE]["scores"]["n_networks"] == 2 * 3 * TINY.n_chains


def test_ensembles_without_chains_are_joined(tmp_path, monkeypatch):
    monkeypatch.setattr(
        rivals, "since", lambda begun, device: 0.4
    )  # seconds of every round: two fit
    folders = [tmp_path / "0", tmp_path / "1"]
    for seed, folder in enumerate(folders):
        run(folder, seed, parts=("ensemble",), budget=1.0)
    rows = joined(*folders, folder=tmp_path / "both")["rows"]
    assert list(rows) == ["starting networks", posterior.ENSEMBLE]
    kept = [
        Average.of(Stages.of(folder, NAME).kept(rivals.ENSEMBLE, CPU).tensors) for folder in folders
    ]
    study = posterior.made(NAME, settings=TINY, device=CPU, say=print)
    assert rows[posterior.ENSEMBLE]["scores"] == study.scores(kept[0].merged(kept[1]))
    assert not (tmp_path / "both").exists()
    run(tmp_path / "2", 2, parts=("ensemble", "chains"), budget=1.0)
    with pytest.raises(
        InputError, match="0 has no draws yet, and no other with seed 0 is named that has"
    ):
        joined(*folders, tmp_path / "2")


def test_parts_of_one_seed_that_ran_alone_are_joined(tmp_path, monkeypatch):
    monkeypatch.setattr(rivals, "since", lambda begun, device: 0.4)
    folders = [tmp_path / part for part in PARTS]
    for part, folder in zip(PARTS, folders, strict=True):
        run(folder, 3, parts=(part,), budget=1.0)
    for part, folder in zip(("chains", "ensemble"), folders, strict=False):
        place = folder / f"{NAME}-{part}.json"
        record = json.loads(place.read_text())
        scores = json.loads((folder / f"{NAME}-start.json").read_text())["scores"]
        place.write_text(json.dumps(record | {"marks": {"60.0": scores}}))
    together = joined(*reversed(folders))
    assert together["settings"]["seed"] == [3]
    whole = tmp_path / "whole"
    whole.mkdir()
    for folder in reversed(folders):  # the chains' starting networks in place of the others'
        for file in folder.glob(f"{NAME}-*"):
            (whole / file.name).write_bytes(file.read_bytes())
    expected = run(whole, 3, parts=PARTS, budget=1.0)["rows"]
    assert list(together["rows"]) == list(expected)
    assert {f"{posterior.ENSEMBLE}, 1 min", f"{LABEL}, 1 min"} < expected.keys()
    for label, row in together["rows"].items():
        assert row["scores"] == expected[label]["scores"]
    (folders[2] / f"{NAME}-sgld.json").replace(
        folders[0] / f"{NAME}-sgld.json"
    )  # a part of the others, named first
    assert "MC dropout" in joined(*folders)["rows"]


def test_runs_that_do_not_belong_together_are_refused(runs, tmp_path):
    with pytest.raises(
        InputError, match=r"seeds of their own \(--seed\); .*3 and .*3 both have chains of seed 3"
    ):
        joined(runs[0], runs[0])
    with pytest.raises(InputError, match="holds no run of mnist-c-posterior"):
        joined(runs[0], tmp_path)
    run(tmp_path / "other", 5, friction=0.3)
    with pytest.raises(InputError, match=r"other differs from that in .*3 in friction"):
        joined(runs[0], tmp_path / "other")
    with pytest.raises(InputError, match="runs of naval cannot be joined"):
        join("naval", runs, device="cpu", say=print)
    with pytest.raises(InputError, match="no experiment is called"):
        join("mnist", runs, device="cpu", say=print)
    settings = runs[1] / f"{NAME}-settings.json"
    known = settings.read_text()
    settings.write_text("{}")
    with pytest.raises(InputError, match="4 has settings that this version does not know"):
        joined(*runs)
    settings.write_text(known)
    (runs[1] / f"{NAME}-chains.json").unlink()
    with pytest.raises(InputError, match="4 has no draws yet, and no other with seed 4"):
        joined(*runs)
    posterior.made(
        NAME, settings=replace(TINY, seed=7), device=CPU, say=print, folder=tmp_path / "7"
    )
    with pytest.raises(InputError, match="7 has no starting networks yet"):
        joined(tmp_path / "7", runs[0])


def test_outliers_that_are_missing_now_are_missed(runs):
    for folder in runs:
        place = folder / f"{NAME}-settings.json"
        place.write_text(json.dumps(json.loads(place.read_text()) | {"n_outliers": 7}))
    with pytest.raises(InputError, match="had 7 outliers to tell apart; 0 are at hand"):
        joined(*runs)

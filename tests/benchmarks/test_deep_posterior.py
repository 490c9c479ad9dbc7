"""The study of chains at tiny sizes: what comes out, going on, and joining runs."""

import json
from dataclasses import replace
from pathlib import Path

import baseline_methods
import chains
import numpy as np
import pytest
import run as script
import study as studies
import torch
from average import Average
from chains import Run
from checkpoint import check_settings, load_stage
from problem import Problem
from study import STUDIES
from summary import CHAINS, ENSEMBLE, START, summarise

from distributed.launching import launched, place_of
from paper import small
from pmcnet import ais, data

CPU = torch.device("cpu")
TINY = STUDIES["mnist-c"].quick()
BASELINES = ["SGLD", "MC dropout", "PMCnet-light, exact weights", "PMCnet-light, equal weights"]

pytestmark = pytest.mark.usefixtures("little", "few_passes")


@pytest.fixture
def few_passes(monkeypatch):
    """Baselines are averaged over four networks."""
    monkeypatch.setattr(baseline_methods, "N_PASSES", 4)


@pytest.fixture
def short(monkeypatch):
    """Chains of seven epochs, of which six are draws, with a checkpoint after each."""
    monkeypatch.setattr(studies, "MOST_EPOCHS", 7)
    monkeypatch.setattr(chains, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)


@pytest.fixture
def rounds(monkeypatch):
    """Rounds of the ensemble that take 0.3 s each."""
    monkeypatch.setattr(baseline_methods, "seconds_since", lambda begun, device: 0.3)


def run_of(folder, *, seed=0, budget=1e9, study=TINY):
    check_settings(folder, {"seed": seed, "n_chains": study.n_chains})
    return Run(study, Problem.of(study, CPU), seed, budget, folder)


def results(run, *folders):
    """The rows of a run, or of several."""
    summarise(run.study, run.problem, folders or [run.folder], run.folder)
    return json.loads((run.folder / "results.json").read_text())["rows"]


def command(*arguments):
    script.main([*arguments[:1], "--quick", "--device", "cpu", *map(str, arguments[1:])])


def test_chains_stand_beside_their_start_an_ensemble_and_other_methods(tmp_path, capsys):
    command("mnist-c", "--budget", 0.5, "--out", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert list(found) == [START, ENSEMBLE, *BASELINES, CHAINS]
    assert found[CHAINS]["seconds"][0] >= 0.5
    assert found[CHAINS]["verdict"][0] == "doubtful"
    assert found["PMCnet-light, exact weights"]["ess"] >= 1
    printed = capsys.readouterr().out
    assert all(label in printed for label in found)
    assert "likelihood weight 10 for all" in printed
    stored = np.load(tmp_path / "probability.npz")["probability"]
    assert (stored.shape, stored.dtype) == ((small.N_TEST, 10), np.float16)
    assert np.allclose(stored.astype(float).sum(-1), 1, atol=5e-3)
    command("mnist-c", "--budget", 0.5, "--out", tmp_path)  # nothing is left to do
    assert json.loads((tmp_path / "results.json").read_text())["rows"] == found


def test_chains_draw_after_their_burn_in_whatever_the_budget_and_go_on(tmp_path):
    run = run_of(tmp_path, budget=0.0)
    run.sample()
    first = results(run)[CHAINS]["history"]["0"]
    assert [("scores" in line) for line in first] == [False, True]  # the burn-in has two epochs
    longer = replace(run, budget=first[-1]["seconds"] + 0.01)
    longer.sample()
    found = results(longer)[CHAINS]
    epochs = [line["epoch"] for line in found["history"]["0"]]
    assert found["history"]["0"][:2] == first
    assert epochs == list(range(1, len(epochs) + 1))
    assert found["scores"]["n_networks"] == (len(epochs) - 1) * TINY.n_chains


def test_two_processes_share_the_chains_of_a_study(tmp_path, monkeypatch):
    words = ["mnist-c", "--budget", 0, "--only", "chains", "--out"]
    for name, value in place_of(1, rank=0).items():
        monkeypatch.setenv(name, value)
    command(*words, tmp_path / "one")
    study = Path(__file__).with_name("small_study.py")
    shared = [study, *words, tmp_path / "two", "--quick", "--device", "cpu"]
    processes = launched(2, list(map(str, shared)))
    output = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], output
    assert output[1][0] == ""
    one, two = (
        load_stage(tmp_path / name / "chains.safetensors", CPU).tensors for name in ("one", "two")
    )
    assert all(torch.equal(two[name], part) for name, part in one.items())


def test_draws_are_as_far_apart_as_asked(tmp_path, short):
    run = run_of(tmp_path, study=replace(TINY, draw_every=2))
    run.sample()
    history = results(run)[CHAINS]["history"]["0"]
    assert [line["epoch"] for line in history if "scores" in line] == [2, 4, 6]


class KilledError(Exception):
    """Stands for a signal that cannot be heard."""


@pytest.mark.parametrize("epoch", [1, 5])
def test_a_killed_run_counts_every_draw_once(tmp_path, short, monkeypatch, epoch):
    whole = run_of(tmp_path / "whole")
    whole.sample()
    run = run_of(tmp_path / "killed")
    with monkeypatch.context() as patch:

        def dying(path, stage):
            if stage.state is not None and stage.state.epoch == epoch:
                raise KilledError
            return save(path, stage)

        save = chains.save_stage
        patch.setattr(chains, "save_stage", dying)
        with pytest.raises(KilledError):
            run.sample()
    run.sample()
    found, expected = (results(each)[CHAINS] for each in (run, whole))
    assert found["scores"] == expected["scores"]
    assert (found["rhat"], found["ess"]) == (expected["rhat"], expected["ess"])
    assert [line["epoch"] for line in found["history"]["0"]] == list(range(1, 8))


def test_ensemble_has_all_rounds_that_fit_and_no_more_when_called_again(tmp_path, rounds):
    run = run_of(tmp_path, budget=1.0)
    stage = run.started()
    chains.save_stage(tmp_path / "start.safetensors", stage._replace(record={"seconds": 0.01}))
    baseline_methods.ensemble(run)
    found = results(run)[ENSEMBLE]
    assert [line["scores"]["n_networks"] for line in found["history"]["0"]] == [4, 6, 8]
    baseline_methods.ensemble(run)
    assert results(run)[ENSEMBLE] == found


def test_steps_that_are_too_long_are_reset_and_reported(tmp_path):
    steps = replace(TINY.sghmc, step=10.0, cold_step=0.01, metric="prior")
    run = run_of(tmp_path, budget=0.0, study=replace(TINY, burn_in=8, sghmc=steps))
    run.sample()
    assert results(run)[CHAINS]["n_resets"] > 0


def test_all_draws_of_all_seeds_count_once(tmp_path, monkeypatch):
    monkeypatch.setattr(chains, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    runs = []
    for seed, n_epochs in ((3, 6), (4, 11)):
        monkeypatch.setattr(studies, "MOST_EPOCHS", n_epochs)
        runs.append(run_of(tmp_path / str(seed), seed=seed))
        runs[-1].sample()
    both = replace(runs[0], folder=tmp_path / "both")
    found = results(both, *(run.folder for run in runs))
    few, many = (load_stage(run.folder / "chains.safetensors", CPU).tensors for run in runs)
    assert (int(few["n"]), int(many["n"])) == (5 * TINY.n_chains, 10 * TINY.n_chains)
    assert found[CHAINS]["scores"]["n_networks"] == 15 * TINY.n_chains
    average = (few["probability"] + many["probability"]) / (15 * TINY.n_chains)
    stored = np.load(tmp_path / "both" / "probability.npz")["probability"]
    np.testing.assert_array_equal(stored, average.half().numpy())
    density, monitors = (
        torch.cat([few[name], many[name][5:]], dim=1) for name in ("log_density", "monitors")
    )
    alone = ais.ChainResult(density, density, monitors, (), True)
    assert [found[CHAINS][name] for name in ("rhat", "ess", "drift")] == [
        alone.rhat,
        alone.ess,
        alone.drift,
    ]
    starts = [Average.of(run.started().tensors) for run in runs]
    expected = starts[0].merged(starts[1]).scores(both.problem.label)
    assert found[START]["scores"] == expected


def test_parts_that_ran_alone_are_joined(tmp_path, monkeypatch):
    light = {"pmcnet-light": baseline_methods.METHODS["pmcnet-light"]}
    monkeypatch.setattr(baseline_methods, "METHODS", light)
    for part in script.PARTS:
        command("mnist-c", "--budget", 0.1, "--only", part, "--out", tmp_path / part)
    folders = [tmp_path / part for part in script.PARTS]
    command("mnist-c", "--out", tmp_path / "all", "--join", *folders)
    found = json.loads((tmp_path / "all" / "results.json").read_text())["rows"]
    assert list(found) == [START, ENSEMBLE, *BASELINES[2:], CHAINS]
    alone = json.loads((tmp_path / "chains" / "results.json").read_text())["rows"]
    assert found[CHAINS] == alone[CHAINS]


def test_runs_that_do_not_belong_together_are_refused(tmp_path, short):
    for name, chosen in (("a", TINY), ("b", TINY), ("c", replace(TINY, n_chains=3))):
        run_of(tmp_path / name, study=chosen).sample()
    run = run_of(tmp_path / "a")
    with pytest.raises(SystemExit, match="two of these runs have chains of seed 0"):
        results(run, tmp_path / "a", tmp_path / "b")
    with pytest.raises(SystemExit, match="different settings"):
        results(run, tmp_path / "a", tmp_path / "c")
    with pytest.raises(SystemExit, match="holds no run"):
        results(run, tmp_path / "a", tmp_path)
    with pytest.raises(SystemExit, match="holds a run with other settings"):
        run_of(tmp_path / "a", seed=1)


def test_likelihood_weight_multiplies_the_log_likelihood():
    weighted, once = (
        Problem.of(replace(TINY, likelihood_weight=weight), CPU).target for weight in (4.0, 1.0)
    )
    theta = torch.zeros(1, once.dim)
    torch.testing.assert_close(weighted.log_likelihood(theta), 4 * once.log_likelihood(theta))


def cifar10(monkeypatch, crops=None):
    """The problem of CIFAR10 on small sets of images of the real size."""
    monkeypatch.setitem(small.SHAPES, "cifar10", (3, 32, 32))
    monkeypatch.setattr(data, "svhn_crops", lambda: crops)
    return Problem.of(replace(STUDIES["cifar10"].quick(), limits=(20, 0, 10)), CPU)


def test_rows_are_held_out_for_choices_where_none_are(monkeypatch):
    problem = cifar10(monkeypatch)
    target, (x, _) = problem.held_out()
    assert (len(target.y), len(target.weight), len(x)) == (18, 18, 2)
    assert torch.equal(torch.cat([target.x, x]), problem.target.x)


def test_resnet_has_no_batch_statistics(monkeypatch):
    target = cifar10(monkeypatch).target
    assert target.dim == 274042
    theta = 0.1 * torch.randn(1, target.dim, generator=torch.Generator().manual_seed(0))
    few, all_of_them = (target.network(theta, target.x[:n]) for n in (5, 20))
    assert torch.allclose(all_of_them[:, :5], few, atol=1e-4)


def test_crops_of_house_numbers_are_scaled_as_the_images_are(monkeypatch):
    crops = np.random.default_rng(0).integers(0, 256, (30, 3, 32, 32)).astype(np.uint8)
    problem = cifar10(monkeypatch, crops)
    assert problem.n_outliers == 10
    split = data.image_split(small.images("cifar10"), 0, seed=0)
    mean, spread = (getattr(split.x_train[:20], kind)((0, 2, 3)) for kind in ("mean", "std"))
    expected = (crops[:10] - mean[:, None, None]) / spread[:, None, None]
    np.testing.assert_allclose(problem.x_test[10:].numpy(), expected, rtol=1e-5)

"""Posteriors of deep networks at tiny sizes on data made for it."""

import itertools
import json
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save

from paper import small
from pmcnet.errors import DivergedError, InputError, RunInterrupted
from pmcnet.paper import EXPERIMENTS, chains, deep_problems, posterior, reproduce, rivals
from pmcnet.paper.averaging import Average
from pmcnet.paper.stages import Stages
from pmcnet.paper.study import PARTS, said

TINY = replace(
    EXPERIMENTS["mnist-c-posterior"].settings.quick(), sampler="hmc", budget=1.0, parts=("chains",)
)
STEPS = replace(TINY, sampler="sghmc", budget=0.01)
RIVALS = ["SGLD", "MC dropout", "PMCnet-light, exact weights", "PMCnet-light, equal weights"]


@pytest.fixture(autouse=True)
def little(monkeypatch):
    monkeypatch.setattr(deep_problems.data, "load_images", small.images)
    monkeypatch.setattr(deep_problems.data, "svhn_crops", lambda: None)


def run(settings=TINY, folder=None, say=lambda line: None):
    return posterior.run(
        "mnist-c-posterior", settings=settings, device=torch.device("cpu"), say=say, folder=folder
    )


def test_averages_are_those_of_all_networks():
    draws = torch.rand(6, 20, 3, generator=torch.Generator().manual_seed(0)).softmax(-1)
    label = torch.arange(20) % 3
    added = Average.nothing(20, 3, draws.device).plus(draws[:2], label).plus(draws[2:], label)
    mean = draws.double().mean(0)
    assert torch.allclose(added.mean, mean)
    scores = added.scores(label)
    assert scores["n_networks"] == 6
    assert scores["accuracy"] == pytest.approx(float((mean.argmax(-1) == label).double().mean()))
    assert scores["single_accuracy"] == pytest.approx(
        float((draws.argmax(-1) == label).double().mean())
    )
    assert scores["nll"] == pytest.approx(float(-mean.gather(1, label[:, None]).log().mean()))
    total, shared = added.uncertainty
    assert (shared >= -1e-12).all()
    assert torch.allclose(total - shared, -(draws * draws.log()).sum(-1).double().mean(0))


def test_certainty_about_something_false_is_told_and_kept_as_plain_data():
    label = torch.tensor([0, 1])
    scores = (
        Average.nothing(2, 2, label.device)
        .plus(torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), label)
        .scores(label)
    )
    assert scores["nll"] is None
    assert "NLL infinite" in said(scores)


def test_outliers_are_told_apart_by_what_networks_are_unsure_of_and_disagree_about():
    """Ten rows of classes that all networks are sure of, then five on which each is sure of another class."""
    sure = torch.eye(3).double()[torch.arange(10) % 3].expand(4, 10, 3) * 0.9 + 0.1 / 3
    apart = torch.eye(3).double()[torch.arange(4) % 3][:, None].expand(4, 5, 3) * 0.9 + 0.1 / 3
    label = torch.arange(10) % 3
    scores = (
        Average.nothing(15, 3, label.device).plus(torch.cat([sure, apart], 1), label).scores(label)
    )
    assert (scores["accuracy"], scores["single_accuracy"]) == (1.0, 1.0)
    assert (scores["auroc_entropy"], scores["auroc_information"]) == (1.0, 1.0)


def test_chains_are_compared_with_their_start_more_networks_and_other_methods(
    tmp_path, monkeypatch
):
    clock = itertools.count()  # a tenth of a second for every step
    monkeypatch.setattr(chains, "since", lambda begun, device: 0.1 * next(clock))
    record = run(replace(TINY, parts=PARTS, marks=(0.7,)), folder=tmp_path)
    json.dumps(record, allow_nan=False)
    labels = [row["label"] for row in record["table"]["rows"]]
    assert labels == [*record["rows"]]
    assert [label for label in labels if ", 0 min" not in label] == [
        "starting networks", "ensemble, same time", *RIVALS, "Hamiltonian chains",
    ]  # fmt: skip
    assert "Hamiltonian chains, 0 min" in labels
    found = record["rows"]["Hamiltonian chains"]
    assert found["seconds"] >= TINY.budget
    assert found["verdict"][0] in ("doubtful", "degenerate")  # of so few draws
    assert record["rows"]["PMCnet-light, exact weights"]["ess"] >= 1
    again = run(replace(TINY, parts=PARTS, marks=(0.7,)), folder=tmp_path)
    assert again["table"] == record["table"]
    kept = np.load(tmp_path / "mnist-c-posterior-probability.npz")["probability"]
    assert kept.dtype == np.float16
    assert np.allclose(kept.astype(float).sum(-1), 1, atol=5e-3)


def test_parts_may_run_alone_and_are_found_when_the_rest_does(tmp_path):
    first = run(replace(TINY, parts=("ensemble",)), folder=tmp_path)["rows"]
    assert list(first) == ["starting networks", "ensemble, same time"]
    assert not (tmp_path / NETWORKS).exists()
    assert list(run(replace(TINY, parts=("others",)), folder=tmp_path)["rows"])[1:] == RIVALS
    whole = run(replace(TINY, parts=PARTS), folder=tmp_path)["rows"]
    assert whole["ensemble, same time"] == first["ensemble, same time"]
    assert list(whole)[-1] == "Hamiltonian chains"
    with pytest.raises(InputError, match="parts must be some of chains, ensemble, others"):
        replace(TINY, parts=("chain",))


def test_an_ensemble_that_has_no_time_for_another_round_has_none_when_called_again(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(rivals, "since", lambda begun, device: 0.3)  # seconds of every round
    settings, cpu = replace(TINY, budget=1.0), torch.device("cpu")
    study = posterior.made(
        "mnist-c-posterior", settings=settings, device=cpu, say=print, folder=tmp_path
    )
    start = torch.zeros(settings.n_chains, study.target.dim)
    first = rivals.ensemble(study, start, 0.01)  # far less than a round takes
    assert first["scores"]["n_networks"] == 4 * settings.n_chains
    assert rivals.ensemble(study, start, 0.01) == first


def test_a_larger_budget_goes_on_where_the_run_was(tmp_path):
    first, lines = run(folder=tmp_path)["rows"], []
    budget = first["Hamiltonian chains"]["seconds"] + 0.5
    more = run(replace(TINY, budget=budget), folder=tmp_path, say=lines.append)["rows"]
    before, after = (rows["Hamiltonian chains"]["history"] for rows in (first, more))
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert more["starting networks"] == first["starting networks"]
    assert not any("networks trained" in line for line in lines)


def test_steps_on_mini_batches_draw_after_their_walk_and_go_on(tmp_path):
    told, again = [], []
    first = run(STEPS, folder=tmp_path, say=told.append)["rows"]["SGHMC chains, approximate"]
    assert sum("the first draws come after epoch 2" in line for line in told) == 1
    assert first["verdict"][0] == "doubtful"
    assert [("log_density" in line) for line in first["history"]] == [
        False,
        True,
    ]  # the walk has two epochs
    assert first["scores"]["n_networks"] == STEPS.n_chains
    longer = replace(STEPS, budget=first["seconds"] + 0.01)
    more = run(longer, folder=tmp_path, say=again.append)["rows"]["SGHMC chains, approximate"]
    assert not any("first draws" in line for line in again)
    assert more["history"][:2] == first["history"]
    assert len(more["history"]) > 2
    assert [line["epoch"] for line in more["history"]] == list(range(1, len(more["history"]) + 1))
    drawn = [line["epoch"] for line in more["history"] if "log_density" in line]
    assert drawn == list(range(2, len(more["history"]) + 1, STEPS.drawn_every))
    assert more["scores"]["n_networks"] == len(drawn) * STEPS.n_chains


NETWORKS = "mnist-c-posterior-networks.safetensors"


def test_chains_go_on_from_the_networks_that_another_run_left(tmp_path, monkeypatch):
    """They are the last that are known to be good, to half precision; there is no walk, no filter is stretched."""
    monkeypatch.setattr(chains, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    monkeypatch.setattr(chains, "_MOST_EPOCHS", 7)
    long = replace(STEPS, budget=1e9, walk_epochs=5)
    run(long, folder=tmp_path / "first")
    left = Stages.of(tmp_path / "first", "mnist-c-posterior").kept(chains.KEY, torch.device("cpu"))
    start = tmp_path / "first" / NETWORKS
    walked, settings = [], long.going_on(str(start))
    monkeypatch.setattr(chains.SGHMC, "run", recording(chains.SGHMC.run, walked))
    record = run(settings, folder=tmp_path / "second")
    begun = walked[0]
    assert torch.equal(begun, left.state.tensors["good_theta"].half().float())
    assert record["settings"]["start"] == str(start)
    drawn = record["rows"]["SGHMC chains, approximate"]["history"]
    assert ["log_density" in line for line in drawn] == [False] * 5 + [True] * 2
    assert (
        run(settings, folder=tmp_path / "second")["table"] == record["table"]
    )  # nothing is left to do
    assert load_file(tmp_path / "second" / NETWORKS)["theta"].shape == begun.shape


def recording(walk, starts):
    def walked(self, target, start, **options):
        starts.append(start.clone())
        return walk(self, target, start, **options)

    return walked


def test_corrected_chains_leave_networks_too(tmp_path):
    run(folder=tmp_path)
    kept = Stages.of(tmp_path, "mnist-c-posterior").kept(chains.KEY, torch.device("cpu"))
    assert torch.equal(load_file(tmp_path / NETWORKS)["theta"], kept.state.points.theta.half())


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"theta": torch.zeros(3, 61706)}, "holds 3 networks for 2 chains"),
        (
            {"theta": torch.zeros(2, 5)},
            r"holds a tensor \(2, 5\); chains of this experiment need \(n_chains, 61706\)",
        ),
        ({"theta": torch.zeros(0, 61706)}, r"holds a tensor \(0, 61706\)"),
        ({"other": torch.zeros(2)}, "holds no networks"),
        ({"theta": torch.full((2, 61706), torch.nan)}, "weights that are not finite"),
        (None, "cannot be read"),
    ],
)
def test_networks_that_do_not_fit_are_refused(tmp_path, tensors, message):
    place = tmp_path / "networks.safetensors"
    place.write_bytes(b"nothing" if tensors is None else save(tensors))
    with pytest.raises(InputError, match=message):
        run(STEPS.going_on(str(place)))


class KilledError(Exception):
    """Stands for a signal that cannot be heard."""


@pytest.mark.parametrize("n_files", [0, 1, 2])
@pytest.mark.parametrize("first", [True, False])
def test_what_a_killed_run_has_kept_belongs_together(tmp_path, monkeypatch, n_files, first):
    """Killed before the first, second or third file of a checkpoint is there: every draw still counts once."""
    monkeypatch.setattr(chains, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    monkeypatch.setattr(chains, "_MOST_EPOCHS", 7)
    whole, endless = run(replace(STEPS, budget=1e9)), replace(STEPS, budget=1e9)
    written, last = [], [*("start",) * 2, *("chains",) * 3 * (0 if first else 4)]

    def dying(method):
        def write(self, key, *content):
            if len(written) == len(last) + n_files:
                raise KilledError
            written.append(key)
            return method(self, key, *content)

        return write

    with monkeypatch.context() as patch:
        posterior.made(
            "mnist-c-posterior",
            settings=endless,
            device=torch.device("cpu"),
            say=print,
            folder=tmp_path,
        )
        for name in ("keep_tensors", "keep_state", "keep_record"):
            patch.setattr(Stages, name, dying(getattr(Stages, name)))
        with pytest.raises(KilledError):
            run(endless, folder=tmp_path)
    again = run(endless, folder=tmp_path)
    label = "SGHMC chains, approximate"
    assert again["rows"][label]["scores"] == whole["rows"][label]["scores"]
    epochs = [
        [line["epoch"] for line in record["rows"][label]["history"]] for record in (whole, again)
    ]
    assert epochs[0] == epochs[1] == list(range(1, 8))


def test_a_killed_ensemble_counts_every_network_once(tmp_path, monkeypatch):
    monkeypatch.setattr(
        rivals, "since", lambda begun, device: 0.3
    )  # seconds of every round: three fit
    settings, cpu = replace(TINY, budget=1.0), torch.device("cpu")
    study = posterior.made(
        "mnist-c-posterior", settings=settings, device=cpu, say=print, folder=tmp_path
    )
    start = torch.zeros(settings.n_chains, study.target.dim)
    with monkeypatch.context() as patch:
        kept = Stages.keep_record

        def dying(self, key, record):
            if record.get("seed") == rivals.ENSEMBLE_SEED + 1:
                raise KilledError
            kept(self, key, record)

        patch.setattr(Stages, "keep_record", dying)
        with pytest.raises(KilledError):
            rivals.ensemble(study, start, 0.01)
    assert rivals.ensemble(study, start, 0.01)["scores"]["n_networks"] == 4 * settings.n_chains
    assert (
        rivals.ensemble(study, start, 0.01)["scores"]
        == rivals.ensemble(alone(settings), start, 0.01)["scores"]
    )


def alone(settings):
    return posterior.made(
        "mnist-c-posterior", settings=settings, device=torch.device("cpu"), say=print
    )


def test_marks_are_scores_of_their_time(tmp_path):
    first = run(STEPS, folder=tmp_path)["rows"]["SGHMC chains, approximate"]
    passed = first["seconds"] / 2
    settings = replace(STEPS, budget=first["seconds"] + 0.01, marks=(passed,))
    assert run(settings, folder=tmp_path)["rows"]["SGHMC chains, approximate"]["marks"] == {}


def test_chains_that_diverge_are_told_with_a_remedy(tmp_path):
    for _ in range(2):  # and again when called again
        with pytest.raises(DivergedError, match=r"a thousandth of the step too\. Use a smaller step"):
            run(replace(STEPS, walk_step=1e6, walk_epochs=60, metric="prior"), folder=tmp_path)


def test_chains_that_were_sent_back_are_told():
    """Steps that are too long for a while: the noise grows, and steps with it."""
    told = []
    record = run(replace(STEPS, walk_step=10.0, walk_epochs=8, metric="prior"), say=told.append)
    found = record["rows"]["SGHMC chains, approximate"]
    assert found["n_returns"] > 0
    assert f"{found['n_returns']} times diverged and reset" in told[-1]
    assert f"diverged and were reset {found['n_returns']} times" in found["verdict"][1]


def test_a_signal_lets_the_step_end_and_keeps_it(tmp_path):
    """The second call goes on from the epoch in which the signal came."""
    endless, lines = replace(STEPS, budget=1e9), []

    def interrupting(line):
        lines.append(line)
        if "epoch 3" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(RunInterrupted, match="goes on from") as caught:
        run(endless, folder=tmp_path, say=interrupting)
    assert caught.value.signal == signal.SIGTERM
    more = run(replace(STEPS, budget=0.02), folder=tmp_path)["rows"]["SGHMC chains, approximate"]
    assert [line["epoch"] for line in more["history"]] == [1, 2, 3]


def test_damaged_files_and_seeds_beyond_those_of_studies_are_refused(tmp_path):
    run(STEPS, folder=tmp_path)
    file = tmp_path / "mnist-c-posterior-chains-0.tensors"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(
        InputError, match=r"chains-0\.tensors cannot be read .* Begin anew with --fresh"
    ):
        run(STEPS, folder=tmp_path)
    (tmp_path / "mnist-c-posterior-settings.json").write_text("{")
    with pytest.raises(InputError, match=r"settings\.json cannot be read"):
        run(STEPS, folder=tmp_path)
    with pytest.raises(InputError, match="seed must be a whole number from 0 to 999; got 1000"):
        replace(STEPS, seed=1000)


@pytest.mark.parametrize("text", ["[]", "{}"])
def test_a_record_that_says_nothing_is_refused(tmp_path, text):
    run(STEPS, folder=tmp_path)
    (tmp_path / "mnist-c-posterior-chains.json").write_text(text)
    with pytest.raises(InputError, match="are missing or incomplete"):
        run(STEPS, folder=tmp_path)


@pytest.mark.parametrize("lost", ["chains-0.tensors", "chains-0.safetensors"])
def test_a_run_does_not_go_on_without_a_part_of_it(tmp_path, lost):
    run(STEPS, folder=tmp_path)
    (tmp_path / f"mnist-c-posterior-{lost}").unlink()
    with pytest.raises(InputError, match=r"chains-0\.\* are missing or incomplete"):
        run(STEPS, folder=tmp_path)


def test_settings_that_differ_are_named_and_those_that_are_lost_are_missed(tmp_path):
    run(STEPS, folder=tmp_path)
    with pytest.raises(
        InputError,
        match=r"other settings \(friction: 0\.1 there, 0\.3 asked, seed: 0 there, 2 asked\)",
    ):
        run(replace(STEPS, seed=2, friction=0.3), folder=tmp_path)
    (tmp_path / "mnist-c-posterior-settings.json").unlink()
    with pytest.raises(InputError, match="without its settings"):
        run(STEPS, folder=tmp_path)


def test_draws_on_mini_batches_are_as_far_apart_as_asked(monkeypatch):
    monkeypatch.setattr(chains, "_MOST_EPOCHS", 7)
    record = run(replace(STEPS, drawn_every=2, budget=1e9))["rows"]["SGHMC chains, approximate"]
    assert [line["epoch"] for line in record["history"]] == [1, 2, 3, 4, 5, 6, 7]
    assert [line["epoch"] for line in record["history"] if "log_density" in line] == [2, 4, 6]
    assert record["scores"]["n_networks"] == 3 * STEPS.n_chains


def test_draws_of_cycles_are_at_their_ends(monkeypatch):
    monkeypatch.setattr(chains, "_MOST_EPOCHS", 17)
    cycles = replace(
        STEPS,
        walk_epochs=8,
        cycle_epochs=8,
        drawn_every=1,
        metric="prior",
        walk_step=1e-6,
        budget=1e9,
    )
    record = run(cycles)["rows"]["SGHMC chains, approximate"]
    assert [line["epoch"] for line in record["history"]] == list(range(1, 17))
    assert [line["epoch"] for line in record["history"] if "log_density" in line] == [8, 15, 16]
    longer = replace(cycles, walk_epochs=20, cycle_epochs=20, drawn_every=3)
    assert [epoch for epoch in range(70) if longer.draws_at(epoch)] == [20, 37, 40, 57, 60]


def test_crops_of_house_numbers_are_told_from_objects(monkeypatch):
    monkeypatch.setitem(small.SHAPES, "cifar10", (3, 32, 32))
    crops = np.random.default_rng(0).integers(0, 256, (30, 3, 32, 32)).astype(np.uint8)
    monkeypatch.setattr(deep_problems.data, "svhn_crops", lambda: crops)
    how = deep_problems.Evaluation("float32", False, 1 << 30)
    problem = deep_problems.posterior_problem(
        "cifar10-posterior", torch.device("cpu"), how, limits=(20, 0, 10)
    )
    assert problem.outliers.shape == (10, 3, 32, 32)
    split = deep_problems.data.image_split(small.images("cifar10"), 0, seed=0)
    mean, spread = (getattr(split.x_train[:20], kind)((0, 2, 3)) for kind in ("mean", "std"))
    expected = (crops[:10] - mean[:, None, None]) / spread[:, None, None]
    np.testing.assert_allclose(problem.outliers.numpy(), expected, rtol=1e-5)


def test_outliers_that_are_not_at_hand_are_missed_and_do_not_appear_between_calls(
    monkeypatch, tmp_path
):
    monkeypatch.setitem(small.SHAPES, "cifar10", (3, 32, 32))
    said = []
    study = {
        "settings": STEPS,
        "device": torch.device("cpu"),
        "say": said.append,
        "folder": tmp_path,
    }
    posterior.made("cifar10-posterior", **study)
    assert len(said) == 1
    assert "without crops of SVHN" in said[0]
    crops = np.random.default_rng(0).integers(0, 256, (30, 3, 32, 32)).astype(np.uint8)
    monkeypatch.setattr(deep_problems.data, "svhn_crops", lambda: crops)
    with pytest.raises(InputError, match="other settings"):
        posterior.made("cifar10-posterior", **study)


def test_labels_count_as_often_as_asked(monkeypatch):
    settings = replace(TINY, label_count=4.0)
    study = posterior.made(
        "mnist-c-posterior", settings=settings, device=torch.device("cpu"), say=print
    )
    theta = torch.zeros(1, study.target.dim)
    once = study.problem._replace(label_count=1.0).target(settings.prior_variance)
    torch.testing.assert_close(study.target.log_likelihood(theta), 4 * once.log_likelihood(theta))
    assert study.problem.held_out().label_count == 4.0
    assert "Each label counts 4 times" in run(settings)["table"]["caption"]
    assert "Each label" not in run(replace(settings, label_count=1.0))["table"]["caption"]


def test_rows_are_held_out_for_choices_where_none_are(monkeypatch):
    monkeypatch.setitem(small.SHAPES, "cifar10", (3, 32, 32))
    how = deep_problems.Evaluation("float32", False, 1 << 30)
    problem = deep_problems.posterior_problem(
        "cifar10-posterior", torch.device("cpu"), how, limits=(20, 0, 10)
    )
    tuning = problem.held_out()
    assert (len(tuning.train[1]), len(tuning.validation[1])) == (18, 2)
    assert torch.equal(torch.cat([tuning.train[0], tuning.validation[0]]), problem.train[0])
    assert tuning.held_out() is tuning


def test_resnet_of_posterior_studies_has_all_rows_and_no_batch_statistics(monkeypatch):
    monkeypatch.setitem(small.SHAPES, "cifar10", (3, 32, 32))
    how = deep_problems.Evaluation("float32", False, 1 << 30)
    problem = deep_problems.posterior_problem(
        "cifar10-posterior", torch.device("cpu"), how, limits=(20, 0, 10)
    )
    assert problem.network.layout.dim == 274042
    assert problem.augmentation is None
    theta = 0.1 * torch.randn(1, 274042, generator=torch.Generator().manual_seed(0))
    x = problem.train[0]
    assert torch.allclose(
        problem.network(theta, x)[:, :5], problem.network(theta, x[:5]), atol=1e-4
    )


def test_budget_and_seeds_are_refused_where_they_mean_nothing():
    with pytest.raises(InputError, match="naval has no chains"):
        reproduce("naval", quick=True, device="cpu", say=print, budget=3.0)
    with pytest.raises(InputError, match="naval has no chains"):
        reproduce("naval", quick=True, device="cpu", say=print, seed=0)
    with pytest.raises(InputError, match="naval has no chains"):
        reproduce("naval", quick=True, device="cpu", say=print, n_chains=2)
    with pytest.raises(InputError, match="naval has no chains"):
        reproduce("naval", quick=True, device="cpu", say=print, parts=["chains"])
    with pytest.raises(InputError, match="has one seed"):
        reproduce("mnist-c-posterior", quick=True, device="cpu", say=print, n_seeds=2)

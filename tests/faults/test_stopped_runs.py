"""What is left of runs that signals, a full disk, a lost folder or a second process stop."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from cli.commands import classes, done, files, invoke, refused, written
from pmcnet import ais
from pmcnet.io import atomic
from pmcnet.io.checkpoint import load_checkpoint
from pmcnet.methods.registry import METHODS
from pmcnet.methods.training.state import TrainingState
from pmcnet.reports import page
from pmcnet.runs import fit as run_fit
from pmcnet.runs.lock import locked
from pmcnet.runs.run_observer import VARIABLE, RunObserver

NAMES = [name for name, settings in METHODS.items() if settings.library is None]
PMC = ("n_proposals=4", "n_draws=5", "n_steps=4", "n_epochs=6")
OPTIONS = {
    **dict.fromkeys(NAMES, ("n_epochs=6",)),
    **dict.fromkeys(("pmcnet", "pmcnet-light", "gradfree", "covfree", "dm-pmc", "sl-pmc"), PMC),
    "annealed": ("n_islands=4", "n_particles=8"),
    "hmc": (
        "n_chains=2",
        "n_warmup=3",
        "n_draws=3",
        "max_leapfrog=3",
        "n_epochs=6",
        "walk_epochs=4",
    ),
    "sae": ("n_epochs=3", "n_members=3", "n_next_epochs=2", "n_chains=2"),
}
SAMPLED = ("annealed", "hmc", "pmcnet", "pmcnet-light", "gradfree", "covfree", "dm-pmc", "sl-pmc")

STATES = (ais.IslandsState, ais.ChainState, ais.PMCState, TrainingState)


@pytest.fixture(autouse=True)
def no_page(monkeypatch):
    monkeypatch.setattr(page, "write_report", lambda record, path: Path(path).write_text("<html>"))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return written(classes(), tmp_path_factory.mktemp("table") / "rows.csv")


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after every step and epoch."""
    monkeypatch.setenv(VARIABLE, "0")


def fit(table, method, out):
    options = [word for text in OPTIONS[method] for word in ("--option", text)]
    common = ("--target", "y", "--prior-std", 1, "--hidden", 2, "--device", "cpu", "--passes", 5)
    return ("fit", table, *common, "--method", method, *options, "--out", out)


@pytest.fixture(scope="module")
def whole(table, tmp_path_factory):
    """An uninterrupted run of a method."""
    made = {}

    def run(method):
        if method not in made:
            made[method] = tmp_path_factory.mktemp("whole") / method
            done(*fit(table, method, made[method]))
        return made[method]

    return run


def assert_same(ours: Path, theirs: Path) -> None:
    a, b = (load_file(run / "model" / "tensors.safetensors") for run in (ours, theirs))
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert (ours / "predictions.csv").read_bytes() == (theirs / "predictions.csv").read_bytes()
    texts = [(run / "history.jsonl").read_text().splitlines() for run in (ours, theirs)]
    histories = [[json.loads(line) for line in lines] for lines in texts]
    for one, other in zip(*histories, strict=True):
        assert one.keys() == other.keys()
        assert all(
            one[key] == other[key]
            for key in one
            if not key.startswith("seconds") and key != "memory"
        )


def after(monkeypatch, stage, n, act):
    """Do something when the observer is called the n-th time at a stage."""
    original, calls = RunObserver.__call__, []

    def observe(self, state, info):
        if getattr(info, "stage", "steps") in stage:
            calls.append(1)
            if len(calls) == n:
                act(self)
        original(self, state, info)

    monkeypatch.setattr(RunObserver, "__call__", observe)


EPOCHS, STEPS = ("fit", "start", "burn-in"), ("steps",)


def observed(method):
    return STEPS if method in SAMPLED else EPOCHS


def seen_epochs(monkeypatch):
    """The epochs that the observer is shown."""
    original, epochs = RunObserver.__call__, []

    def observe(self, state, info):
        if hasattr(info, "epoch"):
            epochs.append(info.epoch)
        original(self, state, info)

    monkeypatch.setattr(RunObserver, "__call__", observe)
    return epochs


def press(number):
    return lambda observer: os.kill(os.getpid(), number)


@pytest.mark.parametrize("method", NAMES)
def test_every_method_is_stopped_after_a_step_and_resumed(
    method, table, whole, tmp_path, monkeypatch
):
    number = signal.SIGTERM if method in ("bbp", "pmcnet") else signal.SIGINT
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, observed(method), 2, press(number))
        result = invoke(*fit(table, method, out))
    assert result.exit_code == 128 + number
    assert "stopping after this step" in result.stderr
    said = f"Error: interrupted. A checkpoint was saved; go on with: pmcnet resume {out}"
    assert result.stderr.splitlines()[-1] == said
    state = load_checkpoint(out / "checkpoint" / "state.safetensors", STATES)
    assert (state.epoch if isinstance(state, TrainingState) else state.step) == 2
    assert not (out / ".lock").exists()
    done("resume", out)
    assert_same(out, whole(method))


def test_time_to_fit_is_that_of_all_calls(table, tmp_path, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, STEPS, 2, press(signal.SIGINT))
        invoke(*fit(table, "hmc", out))
    lines = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    lines[-1]["seconds"] = 1000.0
    (out / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done("resume", out)
    assert 1000 < json.loads((out / "metrics.json").read_text())["seconds"]["fit"] < 1100


@pytest.mark.parametrize(
    ("method", "told", "place", "left"),
    [
        ("pmcnet", 3, ("start", 3), [4, 5, 6]),
        ("hmc", 6 + 2, ("burn-in", 2), [3, 4]),  # 6 epochs of the start
    ],
)
def test_training_before_sampling_is_stopped_and_resumed(
    method, told, place, left, table, whole, tmp_path, monkeypatch
):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, EPOCHS, told, press(signal.SIGINT))
        assert invoke(*fit(table, method, out)).exit_code == 130
    state = load_checkpoint(out / "checkpoint" / "state.safetensors", STATES)
    assert (state.stage, state.epoch) == place
    epochs = seen_epochs(monkeypatch)
    done("resume", out)
    assert epochs == left
    assert_same(out, whole(method))


def test_start_is_not_trained_again_once_sampling_has_begun(table, whole, tmp_path, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, STEPS, 2, press(signal.SIGINT))
        invoke(*fit(table, "pmcnet", out))
    epochs = seen_epochs(monkeypatch)
    done("resume", out)
    assert epochs == []
    assert_same(out, whole("pmcnet"))


@pytest.mark.usefixtures("often")
def test_second_signal_leaves_the_last_checkpoint(table, whole, tmp_path, monkeypatch):
    def twice(observer):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, EPOCHS, 4, twice)
        result = invoke(*fit(table, "bbp", out))
    assert result.exit_code == 130
    assert load_checkpoint(out / "checkpoint" / "state.safetensors", STATES).epoch == 3
    done("resume", out)
    assert_same(out, whole("bbp"))


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("method", ["annealed", "sgld", "pmcnet-light"])
@pytest.mark.parametrize("damage", ["missing", "torn"])
def test_run_goes_on_from_the_checkpoint_before(
    method, damage, table, whole, tmp_path, monkeypatch
):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, observed(method), 3, press(signal.SIGINT))
        invoke(*fit(table, method, out))
    latest = out / "checkpoint" / "state.safetensors"
    if damage == "missing":
        latest.unlink()
    else:
        os.truncate(latest, 100)
    if (out / "history.jsonl").exists():
        with (out / "history.jsonl").open("a") as file:
            file.write('{"step": 4, "ess"')
    result = done("resume", out)
    assert f"{latest} {'is missing' if damage == 'missing' else 'cannot be read'}" in result.stderr
    assert_same(out, whole(method))


def test_run_killed_while_its_history_is_cut_is_resumed(table, whole, tmp_path, monkeypatch):
    def die(*args):
        raise SystemExit(9)  # as good as a kill: nothing is put right on the way out

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, STEPS, 3, press(signal.SIGINT))
        invoke(*fit(table, "annealed", out))
    with monkeypatch.context() as patch:
        patch.setattr(run_fit, "write_text", die)
        assert invoke("resume", out).exit_code == 9
    done("resume", out)
    assert_same(out, whole("annealed"))


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("hidden = [", "hidden = [3, ", "hidden"),
        ("seed = 0", "seed = 5", "seed"),
        ("n_kept = 100", "n_kept = 9", "method_"),
    ],
)
def test_run_with_other_settings_is_refused_and_unchanged(
    old, new, name, table, tmp_path, monkeypatch
):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, EPOCHS, 3, press(signal.SIGINT))
        invoke(*fit(table, "bbp", out))
    text = (out / "config.toml").read_text()
    assert old in text
    (out / "config.toml").write_text(text.replace(old, new, 1))
    before = {path: (out / path).read_bytes() for path in files(out) if (out / path).is_file()}
    refused("resume", out, says=("belongs to another run", f"begun with another {name}"))
    assert {
        path: (out / path).read_bytes() for path in files(out) if (out / path).is_file()
    } == before


def test_run_that_another_process_works_on_is_refused_and_unchanged(table, tmp_path, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, EPOCHS, 3, press(signal.SIGINT))
        invoke(*fit(table, "bbp", out))
    with locked(out):
        before = files(out)
        refused("resume", out, says=(str(out), "is in use"))
        refused(*fit(table, "bbp", out), says=("exists already",))
        assert files(out) == before
    (tmp_path / "new").mkdir()
    with locked(tmp_path / "new"):
        refused(*fit(table, "bbp", tmp_path / "new"), says=("is in use",))
        assert files(tmp_path / "new") == {".lock"}


def failed(result, *says: str) -> None:
    assert result.exit_code == 1, result.output
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert "Traceback" not in result.output
    for words in says:
        assert words in last, last


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("method", ["annealed", "psgld"])
def test_disk_that_takes_no_more_leaves_a_run_to_go_on_with(
    number, method, table, whole, tmp_path, monkeypatch
):
    def fill(observer):
        def full(place):
            raise OSError(number, os.strerror(number))

        patch.setattr(atomic.os, "fsync", full)

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, observed(method), 3, fill)
        result = invoke(*fit(table, method, out))
    failed(result, os.strerror(number), f"pmcnet resume {out}")
    load_checkpoint(out / "checkpoint" / "state.safetensors", STATES)
    done("resume", out)
    assert_same(out, whole(method))


def test_disk_that_is_full_from_the_beginning_leaves_nothing(table, tmp_path, monkeypatch):
    def full(place):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic.os, "fsync", full)
    failed(invoke(*fit(table, "bbp", tmp_path / "run")), "No space left", "fit again")
    assert files(tmp_path) == set()


def test_folder_that_is_lost_ends_the_run(table, tmp_path, monkeypatch):
    out = tmp_path / "run"
    for method in ("annealed", "mc-dropout"):
        with monkeypatch.context() as patch:
            patch.setenv(VARIABLE, "0")
            after(patch, observed(method), 3, lambda observer: shutil.rmtree(out))
            failed(invoke(*fit(table, method, out)), f"{out} is gone", "fit again")
        assert files(tmp_path) == set()


@pytest.mark.usefixtures("often")
def test_checkpoints_and_history_that_are_lost_are_made_anew(table, whole, tmp_path, monkeypatch):
    def lose(observer):
        shutil.rmtree(out / "checkpoint")
        (out / "history.jsonl").unlink()

    out = tmp_path / "run"
    after(monkeypatch, STEPS, 3, lose)
    done(*fit(table, "pmcnet-light", out))
    assert_same(out, whole("pmcnet-light"))


def test_files_beyond_the_limit_end_the_run(table, tmp_path):
    out = tmp_path / "run"
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); "
        "from pmcnet.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, *map(str, fit(table, "annealed", out))]
    environment = {**os.environ, VARIABLE: "0", "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert result.returncode == 1, result.stderr
    assert (
        "(File too large), so the run has stopped. Make room there"
        in result.stderr.splitlines()[-1]
    )
    assert not list(out.rglob(".*"))
    done("resume", out)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_run_that_may_not_be_written_to_is_not_resumed(table, tmp_path, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        after(patch, EPOCHS, 3, press(signal.SIGINT))
        invoke(*fit(table, "bbp", out))
    out.chmod(0o500)
    failed(invoke("resume", out), "Permission denied", f"pmcnet resume {out}")
    out.chmod(0o700)
    done("resume", out)

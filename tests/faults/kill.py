"""Runs that are killed at random moments and resumed end as uninterrupted ones, bit for bit.

    python tests/faults/kill.py --kills 50 --seed 0 [--methods pmcnet,bbp] [--folder DIR]

For each method a run is fitted once as it is. Then it is fitted again and gets SIGKILL at a random
moment; after each kill every checkpoint in its folder must be readable, and it is resumed (or
fitted again, if it had not come to write its settings) and killed again, until it ends before its
time is up. Its networks and predictions must then be those of the first run. That is repeated until
each method has had as many kills as asked for. Processes are forked from one that has imported
everything, since imports would take most of their time."""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from random import Random

import torch
from safetensors.torch import load_file

from pmcnet import ais
from pmcnet.cli import main
from pmcnet.io.checkpoint import load_checkpoint
from pmcnet.methods.training.state import TrainingState
from pmcnet.reports import page
from pmcnet.runs.run_observer import VARIABLE

SECONDS_BETWEEN_CHECKPOINTS = 0.03
STATES = (ais.IslandsState, ais.ChainState, ais.PMCState, TrainingState)
DATA = ("fit", "wine", "--hidden", "4", "--device", "cpu", "--passes", "10", "--seed", "1")
FIXED = ("--prior-std", "1")
PMC = ("n_proposals=12", "n_draws=30", "n_steps=25", "n_epochs=25", "batch_size=20")
OPTIONS = {
    "annealed": ("n_islands=8", "batch=4", "n_particles=12"),
    "hmc": (
        "n_chains=4",
        "n_warmup=20",
        "n_draws=20",
        "max_leapfrog=20",
        "n_epochs=30",
        "walk_epochs=20",
    ),
    **dict.fromkeys(("pmcnet", "gradfree", "covfree", "dm-pmc", "sl-pmc"), PMC),
    "pmcnet-light": (*PMC[:2], "n_steps=10", *PMC[3:]),
    **dict.fromkeys(("adam-mle", "adam-map"), ("n_epochs=250", "batch_size=50")),
    "ensemble": ("n_epochs=40", "batch_size=50", "n_members=4"),
    "bbp": ("n_epochs=300",),
    "sgld": ("n_epochs=400",),
    "psgld": ("n_epochs=400",),
    "sghmc": ("n_epochs=300",),
    "mc-dropout": ("n_epochs=350",),
    "sae": ("n_epochs=100", "n_members=6", "n_next_epochs=30"),
}
SEARCHED = ("pmcnet-light", "ensemble")
"""Methods whose prior is searched, so that some kills fall into that."""


@dataclass
class Tally:
    """What happened to one method."""

    kills: int = 0
    runs: int = 0
    seconds: float = 0.0
    found: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        found = ", ".join(f"{n} {name}" for name, n in sorted(self.found.items()))
        end = f"{self.runs} runs compared, {len(self.faults)} faults, {self.seconds:.0f} s"
        return f"{self.kills} kills ({found}), {end}"


def import_all() -> None:
    """What a fit imports when it comes to need it."""
    for name in (
        "arviz_stats",
        "pandas",
        "pyarrow",
        "rich.progress",
        "sklearn.model_selection",
        "torch._dynamo",
    ):
        import_module(name)
    for path in (Path(page.__file__).parents[1] / "runs").glob("[a-z]*.py"):
        import_module(f"pmcnet.runs.{path.stem}")


def arguments(method: str, out: Path) -> list[str]:
    prior = ("--prior-std", "validation") if method in SEARCHED else FIXED
    options = [word for text in OPTIONS[method] for word in ("--option", text)]
    return [*DATA, *prior, "--method", method, *options, "--out", str(out)]


def fork(words: Sequence[str], log: Path) -> int:
    """A process that runs a command, its output in a file; returns its number."""
    if number := os.fork():
        return number
    code = 1
    try:
        place = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(place, 1)
        os.dup2(place, 2)
        os.environ[VARIABLE] = str(SECONDS_BETWEEN_CHECKPOINTS)
        torch.set_num_threads(1)
        page.write_report = lambda record, path: Path(path).write_text(
            "<html>"
        )  # drawing takes longer than fitting
        main(list(words))
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(number: int, seconds: float) -> int | None:
    """The exit code of a process, or None where it had to be killed after that time."""
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        done, status = os.waitpid(number, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(number, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    return None if code == -signal.SIGKILL else code


def seen(run: Path) -> str:
    """What a kill has left, in a word; every checkpoint is read."""
    if not (run / "config.toml").is_file():
        return "before the settings"
    if (run / "metrics.json").is_file():
        return "after the end"
    for path in (run / "checkpoint").glob("*.safetensors"):
        load_checkpoint(path, STATES)
    latest = run / "checkpoint" / "state.safetensors"
    if not latest.is_file():
        return (
            "between two checkpoints"
            if (run / "checkpoint" / "previous.safetensors").is_file()
            else "before any"
        )
    if any((run / name).exists() for name in ("model", "predictions.csv")):
        return "while finishing"
    state = load_checkpoint(latest, STATES)
    return f"in training ({state.stage})" if isinstance(state, TrainingState) else "in sampling"


def same(run: Path, whole: Path) -> bool:
    """Whether networks and predictions are the same, bit for bit."""
    ours, theirs = (load_file(place / "model" / "tensors.safetensors") for place in (run, whole))
    equal = ours.keys() == theirs.keys() and all(
        torch.equal(ours[name], theirs[name]) for name in ours
    )
    return (
        equal and (run / "predictions.csv").read_bytes() == (whole / "predictions.csv").read_bytes()
    )


def tally(method: str, n_kills: int, draw: Random, folder: Path) -> Tally:
    """Kill runs of one method."""
    found, start, log = Tally(), time.monotonic(), folder / "log.txt"
    began = time.monotonic()
    if code := ended(fork(arguments(method, folder / "whole"), log), 600):
        found.faults.append(f"the uninterrupted run ended with {code}: {log.read_text()[-2000:]}")
        return found
    seconds = time.monotonic() - began
    while found.kills < n_kills and not found.faults:
        run = folder / f"run{found.runs}"
        code: int | None = None
        while code is None and not found.faults:
            words = (
                ["resume", str(run)] if (run / "config.toml").is_file() else arguments(method, run)
            )
            limit = draw.uniform(0, seconds) if found.kills < n_kills else 600.0
            code = ended(fork(words, log), limit)
            if code is None:
                found.kills += 1
                found.found[seen(run)] += 1
                code = (
                    0 if (run / "metrics.json").is_file() else None
                )  # the last file: only the process had not ended
        if code:
            found.faults.append(f"a command ended with {code}: {log.read_text()[-2000:]}")
        elif not same(run, folder / "whole"):
            found.faults.append(f"{run} differs from the uninterrupted run")
        found.runs += 1
    found.seconds = time.monotonic() - start
    return found


def every(methods: Sequence[str], n_kills: int, seed: int, folder: Path) -> int:
    """Kill runs of each method, and tell; returns the number of faults."""
    import_all()
    n_faults, total = 0, Counter[str]()
    for method in methods:
        place = folder / method
        place.mkdir(parents=True)
        found = tally(method, n_kills, Random(f"{seed} {method}"), place)
        print(f"{method}: {found}", *found.faults, sep="\n  ", flush=True)  # noqa: T201
        n_faults += len(found.faults)
        total += Counter(kills=found.kills, runs=found.runs)
    print(f"{total['kills']} kills, {total['runs']} runs compared, {n_faults} faults")  # noqa: T201
    return n_faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50, help="of each method")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", default=",".join(OPTIONS), help="separated by commas")
    parser.add_argument(
        "--folder", type=Path, help="where the runs are kept; removed afterwards when absent"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        where = given.folder or Path(temporary)
        sys.exit(bool(every(given.methods.split(","), given.kills, given.seed, where)))

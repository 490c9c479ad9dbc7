"""One process that fits and predicts for an hour: memory flat, files closed, threads ended.

PYTHONPATH=tests python -m faults.soak --minutes 60 --json FILE
python tests/faults/soak.py --minutes 60                          # the same

Resident memory, open descriptors and threads are read after every round. The first fifth of the
time is the warm-up; of the rest, the median of the last fifth must lie within 5 % of that of the
first, as must the line through all of it, and descriptors and threads must not grow. Returns 1
otherwise."""

import argparse
import gc
import json
import os
import platform
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import linear_regression, median
from typing import Any, NamedTuple

if __name__ == "__main__":  # started as a file
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

MOST_GROWTH = 0.05
WARM_UP = 0.2
LEAST_ROUNDS = 25
"""After the warm-up, so that each fifth of them has a median."""


class Sample(NamedTuple):
    """What a round left behind."""

    number: int
    seconds: float  # since the beginning
    memory: int  # resident, in bytes
    descriptors: int
    threads: int


class Judged(NamedTuple):
    """The verdict on the samples after the warm-up."""

    n_rounds: int
    memory_first: float
    memory_last: float
    growth: float  # of the median, as a share
    slope: float  # bytes per round of the line through all of them
    fitted_growth: float  # of that line from end to end, as a share
    complaints: list[str]


def sampled(number: int, start: float) -> Sample:
    """Read what the kernel says of this process."""
    status = Path("/proc/self/status").read_text()
    found = {
        name: int(re.search(rf"^{name}:\s+(\d+)", status, re.M)[1]) for name in ("VmRSS", "Threads")
    }  # type: ignore[index]
    descriptors = len(os.listdir("/proc/self/fd")) - 1  # one is the listing's own
    return Sample(
        number, time.monotonic() - start, 1024 * found["VmRSS"], descriptors, found["Threads"]
    )


def soak(
    seconds: float, work: Callable[[int], None], *, most_rounds: int = sys.maxsize
) -> Iterator[Sample]:
    """Repeat the work for so long, and say after each round what it left."""
    start, number = time.monotonic(), 0
    while number < most_rounds and (number == 0 or time.monotonic() - start < seconds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work(number)
        gc.collect()
        yield sampled(number, start)
        number += 1


def judged(samples: Sequence[Sample]) -> Judged:
    """Whether anything grew."""
    end = samples[-1].seconds
    rest = [sample for sample in samples if sample.seconds >= WARM_UP * end]
    first, last = _fifth(rest, 0), _fifth(rest, 4)
    memory = [median(sample.memory for sample in part) for part in (first, last)]
    growth = memory[1] / memory[0] - 1
    line = (
        linear_regression([s.number for s in rest], [s.memory for s in rest])
        if len(rest) > 1
        else None
    )
    slope = line.slope if line else 0.0
    fitted = slope * (rest[-1].number - rest[0].number) / memory[0]
    complaints = []
    if len(rest) < LEAST_ROUNDS:
        complaints.append(
            f"{len(rest)} rounds after the warm-up are too few; {LEAST_ROUNDS} are needed"
        )
    if abs(growth) > MOST_GROWTH:
        complaints.append(
            f"memory went from {_mib(memory[0])} to {_mib(memory[1])}, by {growth:+.1%}"
        )
    if abs(fitted) > MOST_GROWTH:
        complaints.append(f"memory grows by {_mib(slope)} a round, by {fitted:+.1%} in all")
    for name in ("descriptors", "threads"):
        before, after = (max(getattr(sample, name) for sample in part) for part in (first, last))
        if after > before:
            complaints.append(f"{name} went from {before} to {after}")
    return Judged(len(rest), *memory, growth, slope, fitted, complaints)


def _fifth(rest: Sequence[Sample], i: int) -> list[Sample]:
    """The i-th fifth of the time that these cover."""
    start, span = rest[0].seconds, rest[-1].seconds - rest[0].seconds
    own = [
        sample
        for sample in rest
        if start + i * span / 5 <= sample.seconds <= start + (i + 1) * span / 5
    ]
    return own or [rest[-1]]


def _mib(n_bytes: float) -> str:
    return f"{n_bytes / 2**20:.2f} MiB"


def main() -> int:
    """Soak, and say what was found."""
    from faults.soaked import soaked

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--json", type=Path, help="a file for the samples and the verdict")
    given = parser.parse_args()
    samples: list[Sample] = []
    for sample in soak(60 * given.minutes, soaked):
        samples.append(sample)
        if len(samples) == 1 or sample.seconds // 60 > samples[-2].seconds // 60:
            _say(
                f"{sample.seconds / 60:5.1f} min: {len(samples)} rounds, {_mib(sample.memory)}, "
                f"{sample.descriptors} descriptors, {sample.threads} threads"
            )
    found = judged(samples)
    if given.json:
        given.json.write_text(
            json.dumps(_record(samples, found), indent=1) + "\n", encoding="utf-8"
        )
    _say(
        f"{found.n_rounds} rounds after the warm-up: median {_mib(found.memory_first)} in the "
        "first fifth, "
    )
    _say(
        f"{_mib(found.memory_last)} in the last ({found.growth:+.2%}), {_mib(found.slope)} a round"
    )
    for complaint in found.complaints:
        _say(f"wrong: {complaint}")
    _say("flat" if not found.complaints else "not flat")
    return 1 if found.complaints else 0


def _record(samples: Sequence[Sample], found: Judged) -> dict[str, Any]:
    import torch

    step = max(1, len(samples) // 120)
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch_threads": torch.get_num_threads(),
        "n_rounds": len(samples),
        "seconds": round(samples[-1].seconds, 1),
        "verdict": found._asdict(),
        "samples": [
            sample._asdict() | {"seconds": round(sample.seconds, 1)} for sample in samples[::step]
        ],
    }


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

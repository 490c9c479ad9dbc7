"""Damaged files by the thousand: each is refused by an `InputError` or read, in bounded memory.

PYTHONPATH=tests python -m faults.fuzz --count 10000             # of every reader PYTHONPATH=tests
python -m faults.fuzz --count 10000 --json FILE   # with a summary PYTHONPATH=tests python -m
faults.fuzz --readers model --only 123  # one case again, with its traceback"""

import argparse
import faulthandler
import json
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from faults.readers import READERS, REQUIRED, Reader, emptied
from pmcnet.errors import InputError

MOST_SECONDS = 5.0
"""Of work; waiting for a core that others have is none."""
MOST_WAITING = 20.0
"""By the clock, after which it is stopped."""
MOST_BYTES = 1 << 26
"""By which the process may grow while it reads a small file."""
MOST_TIMES = 20
"""Of its own size, by which reading a larger one may let the process grow."""


class Case(NamedTuple):
    """What became of one damaged file."""

    number: int
    outcome: str  # "refused", "read", or what was wrong
    told: str
    seconds: float  # of work
    grown: int  # bytes
    peak: int  # bytes of the whole process


class TooSlow(BaseException):
    """Not an `Exception`, so that no reader takes it for damage."""


def fuzzed(
    name: str, numbers: Sequence[int], *, seed: int = 0, keep: Path | None = None
) -> Iterator[Case]:
    """Read damaged files.

    Args:
        name: of the reader.
        numbers: of the cases; each is made from (seed, name, number) alone.
        seed: of them all.
        keep: where to leave the files of the last case.
    """
    reader = READERS[name]()
    with tempfile.TemporaryDirectory() as place:
        for number in numbers:
            folder = emptied((keep or Path(place)) / "case")
            path = reader.damaged(folder, Random(f"{seed} {name} {number}"))
            yield _case(reader, path, number)


def _case(reader: Reader, path: Path, number: int) -> Case:
    size, before, start = _size(path), _peak(afresh=True), time.process_time()
    outcome, told = "read", ""
    try:
        with _limited(MOST_WAITING), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(path)
    except InputError as error:
        outcome, told = "refused", str(error)
    except (Exception, TooSlow) as error:
        outcome, told = type(error).__name__, traceback.format_exc()
    seconds, peak = time.process_time() - start, _peak()
    grown = peak - before
    if outcome == "refused" and (len(told) > 2000 or not told.isprintable()):
        outcome = "unclear"
    if outcome in ("refused", "read") and seconds > MOST_SECONDS:
        outcome = "slow"
    if outcome in ("refused", "read") and grown > MOST_BYTES + MOST_TIMES * size:
        outcome = "large"
    return Case(number, outcome, told, seconds, grown, peak)


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _peak(*, afresh: bool = False) -> int:
    """Most bytes that were resident since the last call, where Linux reports it; else ever."""
    if afresh:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        raise TooSlow(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    """Run, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="files for each reader")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="for each reader, at most"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--readers", nargs="+", default=list(REQUIRED), choices=list(READERS))
    parser.add_argument("--only", type=int, help="one case")
    parser.add_argument("--keep", type=Path, help="a folder for the files of the last case")
    parser.add_argument("--json", type=Path, help="a file for the summary")
    given = parser.parse_args()
    numbers = range(given.count) if given.only is None else [given.only]
    found = {name: _report(name, numbers, given) for name in given.readers}
    if given.json:
        given.json.write_text(
            json.dumps({"seed": given.seed, "readers": found}, indent=1) + "\n", encoding="utf-8"
        )
    return 1 if any(one["wrong"] for one in found.values()) else 0


def _report(name: str, numbers: Sequence[int], given: argparse.Namespace) -> dict[str, Any]:
    """Read them all, print what was wrong and a summary, and return the summary."""
    outcomes: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    slowest = largest = highest = Case(-1, "", "", 0.0, -1, 0)
    start = time.monotonic()
    for case in fuzzed(name, numbers, seed=given.seed, keep=given.keep):
        faulthandler.dump_traceback_later(60, exit=True)  # code that no signal interrupts
        outcomes[case.outcome] += 1
        slowest = max(slowest, case, key=attrgetter("seconds"))
        largest = max(largest, case, key=attrgetter("grown"))
        highest = max(highest, case, key=attrgetter("peak"))
        last = case.told.strip().splitlines()[-1:] or [""]
        key = f"{case.outcome} {last[0][:80]}"
        if given.only is not None or (case.outcome not in ("refused", "read") and not shown[key]):
            sys.stdout.write(f"{name} {case.number}: {case.outcome}\n{case.told}\n")
        shown[key] += 1
        if time.monotonic() - start > given.seconds:
            break
    faulthandler.cancel_dump_traceback_later()
    told = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common())
    seconds = time.monotonic() - start
    sys.stdout.write(
        f"{name}: {outcomes.total()} files in {seconds:.0f} s: {told}; slowest "
        f"{slowest.seconds:.2f} s "
        f"({slowest.number}), grown by {largest.grown / 2**20:.0f} MiB at most ({largest.number}), "
        f"peak {highest.peak / 2**20:.0f} MiB\n"
    )
    sys.stdout.flush()
    return {
        "n_files": outcomes.total(),
        "seconds": round(seconds, 1),
        "outcomes": dict(outcomes.most_common()),
        "wrong": outcomes.total() - outcomes["refused"] - outcomes["read"],
        "slowest": {"number": slowest.number, "seconds": round(slowest.seconds, 3)},
        "grown_most": {"number": largest.number, "bytes": largest.grown},
        "peak_bytes": highest.peak,
    }


if __name__ == "__main__":
    sys.exit(main())

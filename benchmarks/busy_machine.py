"""How much longer does a fit take beside a process that keeps all cores busy?

Fits diabetes by the annealed method, alone and beside a process that multiplies matrices on as many
threads as there are cores, in turn. A fair share of a machine with as many busy threads as cores
again is one half, so that twice as long is the least to expect.

    python benchmarks/busy_machine.py --json docs/results/busy_machine.json
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sklearn.datasets import load_diabetes

from pmcnet import PMCNetRegressor

BUSY = """
import torch
torch.set_num_threads({n})
a = torch.randn(1500, 1500)
print("busy", flush=True)
while True:
    a @ a
"""


@contextmanager
def neighbour(wanted: bool) -> Iterator[None]:
    """A process beside which the block runs."""
    if not wanted:
        yield
        return
    command = [sys.executable, "-c", BUSY.format(n=os.cpu_count())]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def seconds(n_particles: int) -> float:
    """Of one fit."""
    x, y = load_diabetes(return_X_y=True)
    options = {"n_islands": 1, "n_particles": n_particles}
    model = PMCNetRegressor(random_state=0, method="annealed", method_options=options)
    start = time.perf_counter()
    model.fit(x[:400], y[:400])
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seconds(16)  # compiles or loads what the first fit needs
    found: dict[str, list[float]] = {"alone": [], "beside": []}
    for _ in range(options.repetitions):
        for name, times in found.items():
            with neighbour(name == "beside"):
                times.append(seconds(options.particles))
            print(f"{name}: {times[-1]:.1f} s", flush=True)
    ratio = statistics.median(found["beside"]) / statistics.median(found["alone"])
    print(f"beside / alone {ratio:.2f}")
    if options.json:
        stored = {"particles": options.particles, **found, "ratio": ratio}
        options.json.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""How much time and memory does a CSV of 10 000 x 20 take to fit, and a million rows to predict?

Makes the tables, runs `pmcnet fit` with its defaults and `pmcnet predict --passes 100` with a
20-50-1 network as separate processes, and prints seconds, peak memory and rows per second.

    python benchmarks/table_speed.py --json docs/results/table_speed.json
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

N_FIT, N_PREDICT, N_COLUMNS = 10_000, 1_000_000, 20


def table(n_rows: int, seed: int) -> pd.DataFrame:
    """A response that bends with some of its columns, with noise."""
    source = np.random.default_rng(seed)
    x = source.normal(size=(n_rows, N_COLUMNS)).round(5)
    y = 2 * np.sin(x[:, 0]) + x[:, 1] * x[:, 2] - x[:, 3] + 0.5 * source.normal(size=n_rows)
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(N_COLUMNS)]).assign(y=y.round(5))


def timed(*arguments: str) -> dict[str, float]:
    """Seconds and peak memory of a command."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "pmcnet", *arguments], check=True)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"seconds": seconds, "largest_peak_so_far_mib": peak}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rows", type=int, default=N_PREDICT)
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table(N_FIT, 0).to_csv(folder / "fit.csv", index=False)
        table(arguments.rows, 1).drop(columns="y").to_csv(folder / "new.csv", index=False)
        wide = [
            str(folder / "fit.csv"),
            "--target",
            "y",
            "--out",
            str(folder / "wide"),
            "--hidden",
            "50",
        ]
        few = [
            "--test-share",
            "0.95",
            "--prior-std",
            "0.5",
            "--option",
            "n_islands=1",
            "--option",
            "n_particles=104",
        ]
        timed("fit", *wide, "--method", "annealed", *few)
        model, new, out = str(folder / "wide"), str(folder / "new.csv"), str(folder / "out.csv")
        found["predict"] = timed("predict", model, new, "--passes", "100", "-o", out)
        found["predict"]["rows_per_second"] = arguments.rows / found["predict"]["seconds"]
        print("predict", found["predict"], flush=True)
        found["fit"] = timed(
            "fit", str(folder / "fit.csv"), "--target", "y", "--out", str(folder / "run")
        )
        found["fit"] |= {"metrics": json.loads((folder / "run" / "metrics.json").read_text())}
        print("fit", found["fit"], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""What a report costs beside its fit: record and page of a table of 1000 rows and 20 columns.

    python benchmarks/report_cost.py --json docs/results/report_cost.json

A model of 800 rows writes the page of the other 200 as `model.report(path, X, y)` does, the first
time in its process and once more; then that of very many new rows.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pmcnet import PMCNetClassifier, PMCNetRegressor

N_ROWS, N_TRAINING, N_COLUMNS = 1000, 800, 20
FIT = {
    "hidden_layer_sizes": (10,),
    "method": "annealed",
    "method_options": {"n_islands": 4, "n_particles": 32},
    "prior_std": 1.0,
    "random_state": 0,
    "device": "cpu",
}


def table(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of which four matter, and a response that bends with three."""
    source = np.random.default_rng(seed)
    x = source.normal(size=(n_rows, N_COLUMNS))
    mean = 2 * x[:, 0] + np.sin(2 * x[:, 1]) * x[:, 2] + 0.5 * x[:, 3] ** 2
    return x, mean + 0.5 * source.normal(size=n_rows)


def page(model: Any, x: np.ndarray, y: np.ndarray, path: Path) -> dict[str, float]:
    """Seconds of one report, its size, and the peak of resident memory until then."""
    wall, cpu = time.perf_counter(), time.process_time()
    model.report(path, x, y)
    return {
        "wall_seconds": round(time.perf_counter() - wall, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "kilobytes": path.stat().st_size // 1000,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def measured(kind: str, n_many: int, folder: Path) -> dict[str, Any]:
    """Pages of one model."""
    classes = kind == "two classes"
    model = (
        PMCNetClassifier(**FIT)
        if classes
        else PMCNetRegressor(likelihood="gaussian", noise="learn", **FIT)
    )
    x, y = table(N_ROWS, 0)
    many, truth = table(n_many, 1)
    y, truth = (y > 0, truth > 0) if classes else (y, truth)
    model.fit(x[:N_TRAINING], y[:N_TRAINING])
    rows = x[N_TRAINING:], y[N_TRAINING:]
    return {
        "networks": model.posterior_.samples.n_draws,
        "first": page(model, *rows, folder / "page.html"),
        "again": page(model, *rows, folder / "page.html"),
        f"{n_many} rows": page(model, many, truth, folder / "page.html"),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Any] = {"threads": torch.get_num_threads(), "load": os.getloadavg()[0]}
        for kind in ("regression", "two classes"):
            found[kind] = measured(kind, options.many, Path(folder))
            print(kind, json.dumps(found[kind], indent=1), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

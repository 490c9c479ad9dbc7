"""Which method should "auto" take for tables of 8000 to 40 000 rows?

Training rows of Protein and of Naval's compressor (split 0 of Hernandez-Lobato's; test rows are
never read) and rows of a made table: each method fits `n_rows` of four fifths of them within a
budget and is judged by log-likelihood and RMSE of the other fifth, at most 2000 rows.

    OMP_NUM_THREADS=1 python benchmarks/heavy_rows.py --data DIR --json FILE

Everything but the method is the estimators' default; `--cpu` counts processor seconds against the
budget in place of those on the wall, so that other work on the machine changes nothing. The
methods' own choice of model by the evidence is left out (likelihood gaussian, one noise level,
scales by layer where they are sampled, else N(0, 1)): it costs every method the same or is none.
Finished fits in the file are not repeated.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmcnet import PMCNetRegressor

Array = NDArray[Any]

METHODS = ("annealed", "hmc", "pmcnet-light", "sghmc", "ensemble")
SCALES = ("annealed", "hmc")
"""Methods that sample the prior's scales."""
MOST_HELD_OUT = 2000


def table(name: str, folder: Path) -> tuple[Array, Array]:
    """Rows of a table, none of them for tests."""
    if name == "made":
        source = np.random.default_rng(0)
        x = source.normal(size=(60_000, 8))
        y = np.sin(2 * x[:, 0]) * x[:, 1] + np.abs(x[:, 2]) + 0.3 * source.normal(size=len(x))
        return x, y
    file = np.load(folder / f"{name}.npz")
    rows = file["index_train"][0].astype(int)
    return file["X"][rows].astype(float), file["y"][rows].astype(float).ravel()


def judged(x: Array, y: Array, method: str, n_rows: int, budget: float) -> dict[str, Any]:
    """One fit."""
    order = np.random.default_rng(100).permutation(len(x))
    held_out, rows = order[: len(x) // 5][:MOST_HELD_OUT], order[len(x) // 5 :][:n_rows]
    model = PMCNetRegressor(
        likelihood="gaussian",
        noise="learn",
        prior_std="layer" if method in SCALES else 1.0,
        method=method,
        budget=budget,
        random_state=0,
        device="cpu",
    )
    start, wall = time.process_time(), time.perf_counter()
    model.fit(x[rows], y[rows])
    cpu, wall = time.process_time() - start, time.perf_counter() - wall
    error = model.predict(x[held_out]) - y[held_out]
    return {
        "n_fitted": len(rows),
        "log_likelihood": float(model.log_predictive(x[held_out], y[held_out]).mean()),
        "rmse": float(np.sqrt(np.mean(np.square(error)))),
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "verdict": model.verdict_.status,
        "n_islands": model.posterior_.n_islands,
        "settings": {k: v for k, v in model.method_options_.items() if k in _SIZES},
    }


_SIZES = ("batch", "n_particles", "n_chains", "n_warmup", "n_draws", "n_steps", "n_epochs")


def main() -> None:
    """Fit what the file lacks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    tables = ["made", "protein-tertiary-structure", "naval-propulsion-plant"]
    parser.add_argument("--tables", nargs="+", default=tables)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--rows", nargs="+", type=int, default=[8000, 20_000, 40_000])
    parser.add_argument("--budgets", nargs="+", type=float, default=[60.0, 180.0])
    parser.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    if given.cpu:
        time.monotonic = time.process_time  # what every budget is counted by
    found = json.loads(given.json.read_text()) if given.json.exists() else []
    for name in given.tables:
        x, y = table(name, given.data)
        for n_rows in given.rows:
            for budget in given.budgets:
                for method in given.methods:
                    case = {"table": name, "n_rows": n_rows, "budget": budget, "method": method}
                    case |= {"clock": "cpu" if given.cpu else "wall"}
                    if any(case.items() <= each.items() for each in found):
                        continue
                    if n_rows > 0.8 * len(x):
                        continue
                    found.append(case | judged(x, y, method, n_rows, budget))
                    print(found[-1], flush=True)
                    given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

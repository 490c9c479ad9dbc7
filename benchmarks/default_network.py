"""Which hidden layers should be the default?

Each network is fitted by the estimators' other defaults to four fifths of the training rows of a
development table, and judged by the mean log-likelihood of the other fifth. The first of
Hernandez-Lobato's splits says which rows of a UCI table are training rows; of other tables a tenth
is set aside in the same way. Test rows are never read.

    python benchmarks/default_network.py --data DIR --json FILE

The rule: for each table the networks' log-likelihoods are compared with the best one's, and the
network whose shortfall, at most one nat a table, is smallest on average is the default. Regression
and classification are decided apart. Finished fits in the file are not repeated.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from pmcnet import PMCNetClassifier, PMCNetRegressor, data

Array = NDArray[Any]

NETWORKS = {
    "16 tanh": ((16,), "tanh"),
    "32 tanh": ((32,), "tanh"),
    "50 tanh": ((50,), "tanh"),
    "16-16 tanh": ((16, 16), "tanh"),
    "24-24 tanh": ((24, 24), "tanh"),
    "32-32 tanh": ((32, 32), "tanh"),
    "50 silu": ((50,), "silu"),
    "24-24 silu": ((24, 24), "silu"),
}
UCI = (
    "concrete",
    "energy",
    "kin8nm",
    "wine-quality-red",
    "naval-propulsion-plant",
    "protein-tertiary-structure",
)
CLASSES = ("breast-cancer", "digits", "glass", "ionosphere", "wine")
MOST_SHORTFALL = 1.0
"""Nats by which one table may count against a network."""


class Rows(NamedTuple):
    """Rows to fit and to judge by."""

    x: Array
    y: Array
    x_held_out: Array
    y_held_out: Array


def training_rows(table: str, folder: Path) -> tuple[Array, Array]:
    """All rows of a table that are not set aside for tests."""
    if table in UCI:
        file = np.load(folder / f"{table}.npz")
        index = file["index_train"][0].astype(int)
        return file["X"][index].astype(float), file["y"][index].astype(float).ravel()
    readers: dict[str, Callable[[], tuple[Array, Array]]] = {
        "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
        "breast-cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
        "digits": lambda: datasets.load_digits(return_X_y=True),
        "wine": lambda: datasets.load_wine(return_X_y=True),
        "glass": lambda: data.load("glass")[1:3],
        "ionosphere": lambda: data.load("ionosphere")[1:3],
    }
    x, y = readers[table]()
    kept = np.random.RandomState(0).permutation(len(x))[: len(x) - len(x) // 10]
    return x[kept], y[kept]


def split(x: Array, y: Array, seed: int, most: int) -> Rows:
    """Four fifths, at most so many rows, and the other fifth, at most 2000."""
    order = np.random.RandomState(100 + seed).permutation(len(x))
    n = 4 * len(x) // 5
    fitted, others = order[:n][:most], order[n:][:2000]
    return Rows(x[fitted], y[fitted], x[others], y[others])


def judged(rows: Rows, task: str, network: str, budget: str, seed: int) -> dict[str, Any]:
    """One fit."""
    hidden, activation = NETWORKS[network]
    kind = PMCNetRegressor if task == "regression" else PMCNetClassifier
    start = time.perf_counter()
    model = kind(hidden, activation, budget=budget, random_state=seed).fit(rows.x, rows.y)
    seconds = time.perf_counter() - start
    if isinstance(model, PMCNetRegressor):
        score = float(model.log_predictive(rows.x_held_out, rows.y_held_out).mean())
        error = float(np.sqrt(np.mean((model.predict(rows.x_held_out) - rows.y_held_out) ** 2)))
    else:
        log_p = model.predict_log_proba(rows.x_held_out)
        code = np.searchsorted(model.classes_, rows.y_held_out)
        score = float(log_p[np.arange(len(code)), code].mean())
        error = float((log_p.argmax(1) != code).mean())
    return {
        "log_likelihood": score,
        "error": error,
        "seconds": seconds,
        "search_seconds": model.prior_seconds_,
        "model": model.formulation_.described,
        "n_islands": model.posterior_.n_islands,
        "verdict": model.verdict_.status,
    }


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """Mean shortfall of each network, by task."""
    lines = []
    for task in ("regression", "classification"):
        found = [row for row in rows if row["task"] == task]
        mean: dict[tuple[str, str], float] = {}
        for table in {row["table"] for row in found}:
            for network in NETWORKS:
                each = [
                    row["log_likelihood"]
                    for row in found
                    if (row["table"], row["network"]) == (table, network)
                ]
                if each:
                    mean[table, network] = float(np.mean(each))
        tables = {table for table, _ in mean}
        for network in NETWORKS:
            own = {table for table, name in mean if name == network}
            if own != tables or not tables:
                continue
            best = {t: max(v for (table, _), v in mean.items() if table == t) for t in tables}
            short = [min(MOST_SHORTFALL, best[t] - mean[t, network]) for t in tables]
            lines.append(f"{task}: {network}: {np.mean(short):.3f} nats short of the best")
    return lines


def main() -> None:
    """Fit what is missing, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", default=",".join((*UCI, "diabetes", *CLASSES)))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--budget", default="3min")
    parser.add_argument("--rows", type=int, default=4000, help="that are fitted, at most")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    rows = json.loads(options.json.read_text())["rows"] if options.json.exists() else []
    for seed in map(int, options.seeds.split(",")):
        for table in options.tables.split(","):
            task = "classification" if table in CLASSES else "regression"
            parts = split(*training_rows(table, options.data), seed, options.rows)
            for network in options.networks.split(","):
                key = {"table": table, "network": network, "seed": seed, "budget": options.budget}
                if any(key.items() <= row.items() for row in rows):
                    continue
                found = judged(parts, task, network, options.budget, seed)
                rows.append(key | {"task": task, "n_rows": len(parts.x)} | found)
                print(json.dumps(rows[-1]), flush=True)
                options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()

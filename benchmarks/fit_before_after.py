"""How much faster are whole fits than those of an earlier version?

Fits with the defaults, each in a process of its own, first with the sources of the earlier version
and then, with the method and the sizes that it chose, with those of this one. Seconds are those of
`fit`; each version's first fit of a small table, which compiles or loads code, is not counted.

    git worktree add ../before COMMIT
    PMCNET_DATA=../shared/data python benchmarks/fit_before_after.py ../before \
        --json docs/results/fit_before_after.json
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_wine
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

NAMES = ["ionosphere", "wine", "diabetes", "concrete", "made"]
HERE = Path(__file__).parents[1]


def table(name: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Rows, responses, and whether these are classes."""
    if name == "ionosphere":
        from pmcnet import data

        loaded = data.load("ionosphere")
        return np.asarray(loaded.x), np.asarray(loaded.y), True
    if name == "wine":
        return *load_wine(return_X_y=True), True
    if name == "diabetes":
        return *load_diabetes(return_X_y=True), False
    if name == "concrete":
        with np.load(Path(os.environ["PMCNET_DATA"]) / "uci" / "concrete.npz") as file:
            return file["X"], file["y"], False
    source = np.random.default_rng(0)
    x = source.normal(size=(10_000, 20))
    y = 2 * np.sin(x[:, 0]) + x[:, 1] * x[:, 2] - x[:, 3] + 0.5 * source.normal(size=10_000)
    return x, y, False


def fitted(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """One fit to 9 of 10 rows: seconds, the method, and the error on the others."""
    from pmcnet import PMCNetClassifier, PMCNetRegressor

    x, y, classes = table(name)
    kind = PMCNetClassifier if classes else PMCNetRegressor
    few = slice(0, 60)
    kind(random_state=0, method="annealed", method_options={"n_islands": 1, "n_particles": 16}).fit(
        x[few], y[few]
    )
    rows = train_test_split(x, y, test_size=0.1, random_state=0)
    model = kind(random_state=0, **settings)
    start = time.perf_counter()
    model.fit(rows[0], rows[2])
    seconds = time.perf_counter() - start
    if classes:
        error = log_loss(rows[3], model.predict_proba(rows[1]), labels=model.classes_)
    else:
        error = mean_squared_error(rows[3], model.predict(rows[1])) ** 0.5
    return {
        "seconds": seconds,
        "method": model.method_,
        "options": model.method_options_,
        "reason": model.method_reason_,
        "verdict": model.verdict_.status,
        "error": float(error),
    }


def in_process(tree: Path, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """`fitted` with the sources of a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree.absolute() / "src")}
    command = [sys.executable, __file__, "--one", name, "--settings", json.dumps(settings)]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(output.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, nargs="?")
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one")
    parser.add_argument("--settings", default="{}")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(fitted(options.one, json.loads(options.settings))))
        return
    found = []
    for name in options.names.split(","):
        before = in_process(options.before, name, {})
        same = {"method": before["method"], "method_options": before["options"]}
        after = in_process(HERE, name, same)
        ratio = before["seconds"] / after["seconds"]
        found.append({"name": name, "before": before, "after": after, "ratio": ratio})
        print(
            f"{name}: {before['seconds']:.1f} s before, {after['seconds']:.1f} s after, ratio "
            f"{ratio:.1f}; {before['method']} {before['options']}; error {before['error']:.4g} and "
            f"{after['error']:.4g}; {before['verdict']} and {after['verdict']}",
            flush=True,
        )
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

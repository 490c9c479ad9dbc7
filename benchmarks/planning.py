"""How near does the announced time of a fit come to the time that it takes?

Fits ten tables with the defaults and prints both, with the number of gradients that each network
took, the part of the estimate that depends on the data. The second estimate, after the search of
the prior, is of the run alone.

    PMCNET_DATA=../shared/data python benchmarks/planning.py --json docs/results/planning.json
"""

import argparse
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from pmcnet import PMCNetClassifier, PMCNetRegressor, data

UNITS = {"s": 1.0, "min": 60.0}


def tables() -> dict[str, tuple[np.ndarray, np.ndarray, bool]]:
    """Rows, responses, and whether these are classes."""
    found = {}
    for name in ("ionosphere", "glass"):
        loaded = data.load(name)
        found[name] = (np.asarray(loaded.x), np.asarray(loaded.y), True)
    for name in ("wine", "breast_cancer", "iris"):
        found[name] = (*getattr(datasets, f"load_{name}")(return_X_y=True), True)
    found["diabetes"] = (*datasets.load_diabetes(return_X_y=True), False)
    for name in ("concrete", "energy", "wine-quality-red"):
        with np.load(Path(os.environ["PMCNET_DATA"]) / "uci" / f"{name}.npz") as file:
            found[name] = (file["X"], file["y"], False)
    source = np.random.default_rng(0)
    x = source.normal(size=(10_000, 20))
    y = 2 * np.sin(x[:, 0]) + x[:, 1] * x[:, 2] - x[:, 3] + 0.5 * source.normal(size=10_000)
    found["made"] = (x, y, False)
    return found


def announced(reason: str) -> float:
    """The seconds in the sentence that says why a method was chosen."""
    match = re.search(r"about ([0-9.e-]+) (s|min)", reason)
    assert match is not None, reason
    return float(match[1]) * UNITS[match[2]]


class Stages:
    """Keeps the lines that a fit prints."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def stage(self, text: str) -> None:
        """A line."""
        self.lines.append(text)

    def planned(self, plan: Any, prior_std: float | None) -> None:
        """Nothing to keep."""

    def __call__(self, state: Any, info: Any) -> None:
        """Nothing to keep."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    for name, (x, y, classes) in tables().items():
        if options.names and name not in options.names.split(","):
            continue
        model = (PMCNetClassifier if classes else PMCNetRegressor)(random_state=0)
        start = time.perf_counter()
        stages = Stages()
        model.fit_with(x, y, observers=[stages])
        seconds, estimate = time.perf_counter() - start, announced(model.method_reason_)
        second = announced(stages.lines[-1])
        found.append(
            {
                "name": name,
                "rows": len(x),
                "method": model.method_,
                "options": model.method_options_,
                "parameters": model.posterior_.theta.shape[1],
                "gradients": sum(step.get("n_gradients", 0) for step in model.history_),
                "announced": estimate,
                "seconds": seconds,
                "search_seconds": model.prior_seconds_,
                "ratio": seconds / estimate,
                "announced_after_search": second,
                "ratio_after_search": (seconds - model.prior_seconds_) / second,
                "verdict": model.verdict_.status,
            }
        )
        print({key: value for key, value in found[-1].items() if key != "options"}, flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

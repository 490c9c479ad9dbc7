"""Does an updated model predict what a new fit to all rows predicts, and what does it save?

A stream: rows to begin with, then five batches. One model is fitted to the first rows and updated
with each batch. Beside it stands a new fit to all rows so far, twice: with the likelihood, noise
and prior that the first fit has settled, whose posterior is the same, and as a user would fit, with
all of these left open. Differences of predictions are in units of the standard errors that both
state. Columns and numbers to predict have mean 0 and standard deviation 1 in every batch, so that a
new fit scales them as the first one did. Seconds are those of the process, on one core.

    OMP_NUM_THREADS=1 python benchmarks/update_stream.py --json update_stream.json
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import DriftWarning

Rows = tuple[np.ndarray, np.ndarray]
Model = PMCNetClassifier | PMCNetRegressor
N_TEST = 300


def curve(x: np.ndarray) -> np.ndarray:
    """What is learned, of the first three of four columns."""
    return np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]


def columns(n: int, source: np.random.Generator) -> np.ndarray:
    """Four, standardised (n, 4)."""
    x = source.normal(size=(n, 4))
    return (x - x.mean(0)) / x.std(0)


def numbers(n: int, source: np.random.Generator) -> Rows:
    """A regression with noise of standard deviation .3."""
    x = columns(n, source)
    y = curve(x) + 0.3 * source.normal(size=n)
    return x, (y - y.mean()) / y.std()


def classes(n: int, source: np.random.Generator) -> Rows:
    """Two classes with a logit of twice the curve."""
    x = columns(n, source)
    return x, (source.random(n) < 1 / (1 + np.exp(-2 * curve(x)))).astype(int)


PROBLEMS: dict[str, tuple[type[Model], Callable[[int, np.random.Generator], Rows]]] = {
    "regression": (PMCNetRegressor, numbers),
    "classification": (PMCNetClassifier, classes),
}


def predicted(model: Model, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means, or probabilities of the second class, with their Monte Carlo errors (N,)."""
    if isinstance(model, PMCNetRegressor):
        mean, error = model.predict(x, return_error=True)
        return mean, error
    probability, error = model.predict_proba(x, return_error=True)
    return probability[:, 1], error[:, 1]


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What it returns, and the seconds of the process."""
    start = time.process_time()
    return work(*arguments), time.process_time() - start


def stream(
    problem: str, n_first: int, n_batch: int, n_batches: int, seed: int
) -> Iterator[dict[str, Any]]:
    """One line for each batch."""
    kind, batch = PROBLEMS[problem]
    source = np.random.default_rng(seed)
    common = {"hidden_layer_sizes": (5,), "method": "annealed", "budget": "1h"}
    x, y = batch(n_first, source)
    tested = columns(N_TEST, source)
    model, first_seconds = timed(kind(**common, random_state=seed).fit, x, y)
    settled = model.formulation_._asdict()
    if problem == "classification":
        del settled["noise"]
    for i in range(n_batches):
        more = batch(n_batch, source)
        x, y = np.concatenate([x, more[0]]), np.concatenate([y, more[1]])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DriftWarning)
            _, update_seconds = timed(model.update, *more)
        seeded = common | {"random_state": seed + 1 + i}
        same, same_seconds = timed(kind(**seeded, **settled).fit, x, y)
        _, open_seconds = timed(kind(**seeded).fit, x, y)
        (a, a_error), (b, b_error) = predicted(model, tested), predicted(same, tested)
        off = np.abs(a - b) / np.hypot(a_error, b_error)
        found = model.update_
        yield {
            "problem": problem,
            "model": model.formulation_.described,
            "batch": i + 1,
            "n_rows": len(y),
            "difference_in_errors": {
                "median": float(np.median(off)),
                "p90": float(np.quantile(off, 0.9)),
                "max": float(off.max()),
            },
            "stated_error": {"update": float(a_error.mean()), "refit": float(b_error.mean())},
            "seconds": {
                "first_fit": first_seconds,
                "update": update_seconds,
                "refit": same_seconds,
                "refit_open": open_seconds,
            },
            "ratio": update_seconds / same_seconds,
            "ratio_open": update_seconds / open_seconds,
            "verdicts": [model.verdict_.status, same.verdict_.status],
            "n_islands": [model.posterior_.n_islands, same.posterior_.n_islands],
            "update": found._asdict(),
            "warned": bool(caught),
        }


def main() -> None:
    """Run the streams and store their lines."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--first", type=int, default=200, help="rows of the first fit")
    parser.add_argument("--batch", type=int, default=40, help="rows of each batch")
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="where to write the lines")
    given = parser.parse_args()
    lines: list[dict[str, Any]] = []
    for problem in given.problems:
        for line in stream(problem, given.first, given.batch, given.batches, given.seed):
            print(json.dumps(line), flush=True)
            lines.append(line)
            if given.json:
                Path(given.json).write_text(json.dumps(lines, indent=1) + "\n")
    for name in ("ratio", "ratio_open"):
        each = [line[name] for line in lines]
        print(f"{name}: mean {np.mean(each):.2f}, largest {max(each):.2f}")


if __name__ == "__main__":
    main()

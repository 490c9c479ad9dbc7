r"""Do likelihoods of counts, censored times and ordered classes predict as the fields' own models?

One real table each (`standard_models.py` says which), five splits with a fifth of the rows held
out by `RandomState(split).permutation`. Ours is the estimator with the likelihood named and all
else at its default but the budget; the standard models are fitted by maximum likelihood to
standardised columns in an interpreter of their own. The metric is the mean log-likelihood of
held-out rows, of censored ones log P(T > time), with times in days.

    python -m venv DIR && DIR/bin/pip install statsmodels lifelines
    python benchmarks/likelihood_tables.py --python DIR/bin/python \
        --json docs/results/likelihood_tables.json

`constant` is the standard model without inputs, which says how much there is to predict. `ahead`
is ours minus the standard one, with the standard error of a mean over the same rows. Splits are
stored one by one.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import pmcnet
from pmcnet import PMCNetClassifier, PMCNetRegressor
from standard_models import split_columns

SPLITS = range(5)
SCRIPT = Path(__file__).with_name("standard_models.py")
Array = np.ndarray


class Task(NamedTuple):
    """What stands beside what."""

    likelihood: str
    standard: str
    estimator: Callable[..., Any]


TASKS = {
    "counts": Task("negative-binomial", "negative binomial regression", PMCNetRegressor),
    "censored": Task("censored", "Weibull accelerated failure times", PMCNetRegressor),
    "ordinal": Task("ordinal", "ordered logit", PMCNetClassifier),
}


def values(y: pd.DataFrame) -> Array:
    """The response (N,), or times and events (N, 2)."""
    return y.to_numpy() if y.shape[1] > 1 else y.iloc[:, 0].to_numpy()


def log_likelihood(model: Any, x: pd.DataFrame, y: Array) -> Array:
    """Of each row."""
    if isinstance(model, PMCNetRegressor):
        return model.log_predictive(x, y)
    return model.predict_log_proba(x)[np.arange(len(y)), np.searchsorted(model.classes_, y)]


def ours(
    task: Task, train: pd.DataFrame, test: pd.DataFrame, split: int, budget: float
) -> tuple[Array, dict[str, Any]]:
    """Log-likelihoods of the test rows, and what came of the fit."""
    (x, y), (x_test, y_test) = split_columns(train), split_columns(test)
    model = task.estimator(likelihood=task.likelihood, budget=budget, random_state=split)
    start = time.perf_counter()
    model.fit(x, values(y))
    seconds = time.perf_counter() - start
    about = {
        "hidden_layer_sizes": list(model.hidden_layer_sizes),
        "method": model.method_,
        "formulation": model.formulation_.described,
        "verdict": str(model.verdict_),
        "our_seconds": seconds,
    }
    return log_likelihood(model, x_test, values(y_test)), about


def standard(
    name: str, train: pd.DataFrame, test: pd.DataFrame, python: str, folder: Path
) -> dict[str, Any]:
    """What the child process finds."""
    files = [folder / file for file in ("train.csv", "test.csv")]
    for part, file in zip((train, test), files, strict=True):
        part.to_csv(file, index=False)
    out = folder / "found.json"
    subprocess.run([python, SCRIPT, "fit", name, *files, out], check=True)
    return json.loads(out.read_text())


def measured(
    name: str, table: pd.DataFrame, split: int, python: str, budget: float, folder: Path
) -> dict[str, Any]:
    """One split."""
    order, n_test = np.random.RandomState(split).permutation(len(table)), len(table) // 5
    test, train = table.iloc[order[:n_test]], table.iloc[order[n_test:]]
    found = standard(name, train, test, python, folder)
    own, about = ours(TASKS[name], train, test, split, budget)
    ahead = own - np.array(found["standard"])
    return {
        "table": name,
        "split": split,
        "n_train": len(train),
        "n_test": len(test),
        "ours": float(own.mean()),
        "standard": float(np.mean(found["standard"])),
        "constant": float(np.mean(found["constant"])),
        "ahead": float(ahead.mean()),
        "ahead_error": float(ahead.std(ddof=1) / np.sqrt(n_test)),
        **about,
        "standard_seconds": found["seconds"],
        "versions": found["versions"],
    }


def line(row: dict[str, Any]) -> str:
    """What is printed of a split."""
    name = row["table"]
    return (
        f"{name:9} split {row['split']}: ours {row['ours']:.4f}, {TASKS[name].standard} "
        f"{row['standard']:.4f}, constant {row['constant']:.4f}; ahead by {row['ahead']:.4f} +- "
        f"{row['ahead_error']:.4f}; {row['formulation']}; {row['verdict']}; "
        f"{row['our_seconds']:.0f} s, {row['standard_seconds']:.2f} s"
    )


def summary(rows: list[dict[str, Any]]) -> str:
    """Means over splits, and how often ours is ahead."""
    lines = []
    for name in dict.fromkeys(row["table"] for row in rows):
        part = [row for row in rows if row["table"] == name]
        means = ", ".join(
            f"{key} {np.mean([row[key] for row in part]):.4f}"
            for key in ("ours", "standard", "constant", "ahead")
        )
        wins = sum(row["ahead"] > 0 for row in part)
        lines.append(f"{name}: {means}; ahead on {wins} of {len(part)} splits")
    return "\n".join(lines)


def main() -> None:
    """Measure, store and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="an interpreter with the standard models")
    parser.add_argument("--tables", default=",".join(TASKS))
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of each of our fits")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    settings = {
        "budget": options.budget,
        "versions": f"pmcnet {pmcnet.__version__}, torch {version('torch')}",
        **{name: TASKS[name].standard for name in options.tables.split(",")},
    }
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([options.python, SCRIPT, "tables", folder], check=True)
        for table in options.tables.split(","):
            content = pd.read_csv(folder / f"{table}.csv")
            for split in SPLITS:
                rows.append(measured(table, content, split, options.python, options.budget, folder))
                print(line(rows[-1]), flush=True)
                if options.json:
                    text = json.dumps({"settings": settings, "rows": rows}, indent=1)
                    options.json.write_text(text + "\n")
    print(summary(rows))


if __name__ == "__main__":
    main()

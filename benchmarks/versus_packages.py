r"""How do pmcnet's defaults compare with what people would use instead, on regression tables?

Tables: five of UCI's in the splits of Hernandez-Lobato (files `X y index_train index_test`), at
most the first 4000 training rows and 2000 test rows of a split, and scikit-learn's diabetes with
10 % test rows by `RandomState(split).permutation`. Every model has its package's defaults; where
these are for a first try only, the settings of the package's own example stand beside them:

    pmcnet              PMCNetRegressor(), random_state = split
    bde                 BdeRegressor as in the regression example of its description
    bde-constructor     BdeRegressor(): two members of 4-4 units, ten draws
    ngboost             NGBRegressor(), a Gaussian
    ngboost-validated   a tenth of the training rows finds the best iteration
    catboost            RMSEWithUncertainty, posterior sampling, ten virtual ensembles
    catboost-validated  a tenth of the training rows as `eval_set`, as in the package's tutorial
    gp                  scikit-learn's: constant * RBF (a length scale for each input) + white
                        noise, normalize_y, no restarts, at most 2000 training rows
    mlp-ensemble        five MLPRegressor(early_stopping=True), a Gaussian

Inputs, and y, are standardised by the training rows for bde, gp and mlp-ensemble; all metrics are
in units of y. `log_likelihood` is the mean exact log predictive density, of the mixture for pmcnet,
bde and catboost. CRPS is twice the mean pinball loss at 110 levels, for a Gaussian too large by one
part in 10 000. Coverage is that of the central 90 % interval. Predict seconds are those of the
package's own prediction of all test rows with its uncertainty; the peak (VmHWM) includes imports.

Every fit is a process of its own, one after another, and each package takes the threads that it
takes by default: nothing else should run. The first fit of pmcnet on a machine also compiles. Rows
are stored one by one, and what is there is not run again, so a run can be stopped and continued.

    python -m venv DIR/trees && DIR/trees/bin/pip install ngboost catboost
    python -m venv DIR/bde && DIR/bde/bin/pip install sklearn-contrib-bde
    python benchmarks/versus_packages.py --data UCI --json versus_packages.json \
        --python ngboost,ngboost-validated,catboost,catboost-validated=DIR/trees/bin/python \
        --python bde,bde-constructor=DIR/bde/bin/python

Made with Python 3.11, sklearn-contrib-bde 1.0.2 (jax 0.10.2, blackjax 1.2.2), ngboost 0.5.11,
catboost 1.2.10, scikit-learn 1.9.1 and torch 2.13.0.
"""

import argparse
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from package_models import MODELS, Array
from pmcnet.competitors import RowPredictions, Rows
from pmcnet.competitors.measurement import SplitRows, measured_by
from pmcnet.errors import CompetitorFailed

FILES = {
    "concrete": "concrete",
    "energy": "energy",
    "wine-quality-red": "wine-quality-red",
    "kin8nm": "kin8nm",
    "naval": "naval-propulsion-plant",
    "protein": "protein-tertiary-structure",
}
TABLES = (*(name for name in FILES if name != "naval"), "diabetes")
LEVELS = (np.arange(110) + 0.5) / 110
"""Midpoints of equal parts of (0, 1); 0.05 and 0.95 are among them."""
BETTER = {"log_likelihood": max, "rmse": min, "crps": min}
COLUMNS = {  # of the summary: heading, width, format
    "log_likelihood": ("LL", 8, ".3f"),
    "rmse": ("RMSE", 9, ".4g"),
    "crps": ("CRPS", 9, ".4g"),
    "coverage": ("90 %", 7, ".3f"),
    "fit_seconds": ("fit s", 8, ".1f"),
    "predict_seconds": ("predict s", 11, ".2f"),
    "peak_mib": ("MiB", 7, ".0f"),
}
SCRIPT = Path(__file__).with_name("package_models.py")


def table(name: str, split: int, data: Path, n_rows: int, n_test: int) -> SplitRows:
    """Training and test rows of one split."""
    if name == "diabetes":
        from sklearn.datasets import load_diabetes

        x, y = load_diabetes(return_X_y=True)
        order = np.random.RandomState(split).permutation(len(x))
        test, train = order[: len(x) // 10], order[len(x) // 10 :]
    else:
        file = np.load(data / f"{FILES[name]}.npz")
        x, y = file["X"].astype(float), file["y"].astype(float)
        train, test = (file[f"index_{part}"][split].astype(int) for part in ("train", "test"))
    train, test = train[:n_rows], test[:n_test]
    return SplitRows(Rows(x[train]), y[train], Rows(x[test]), y[test])


def n_splits(name: str, data: Path) -> float:
    """How many there are."""
    return np.inf if name == "diabetes" else len(np.load(data / f"{FILES[name]}.npz")["index_test"])


def scores(found: RowPredictions, y: Array) -> dict[str, float]:
    """Of one prediction, in units of y."""
    level, quantile = LEVELS[:, None], found.quantiles  # (Q, 1), (Q, N)
    low, high = (quantile[np.isclose(LEVELS, end)][0] for end in (0.05, 0.95))
    pinball = np.maximum(level * (y - quantile), (level - 1) * (y - quantile))
    return {
        "log_likelihood": float(found.log_density.mean()),
        "rmse": float(np.sqrt(np.mean((found.mean - y) ** 2))),
        "crps": float(2 * pinball.mean()),
        "coverage": float(np.mean((low <= y) & (y <= high))),
    }


def measured(model: str, given: SplitRows, split: int, python: str, limit: float) -> Any:
    """Fit and predict in a process of its own; what came out, or why nothing did."""
    try:
        found = measured_by([python, SCRIPT, model], given, seed=split, limit=limit, levels=LEVELS)
    except CompetitorFailed as error:
        return {"failed": str(error)}
    texts = {"versions": found.versions, "note": found.note}
    costs = ("fit_seconds", "predict_seconds", "peak_mib")
    result = scores(found.rows, given.y_test) | {key: getattr(found, key) for key in costs}
    if not np.isfinite(list(result.values())).all():
        return {"failed": f"not finite: {result}"} | texts
    return result | texts


def store(path: Path, settings: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")
    os.replace(part, path)


def line(row: dict[str, Any]) -> str:
    """What is printed of one fit."""
    if "failed" in row:
        return f"failed: {row['failed']}"
    return ", ".join(f"{name} {row[key]:{form}}" for key, (name, _, form) in COLUMNS.items())


def places(rows: list[dict[str, Any]], models: list[str]) -> tuple[Counter[Any], Counter[Any], int]:
    """How often a model is first, and ahead of pmcnet, by metric; of how many splits.

    Only splits count on which every model was tried; one that failed there is behind all others.
    """
    splits: dict[Any, dict[str, Any]] = {}
    for row in rows:
        splits.setdefault((row["table"], row["split"]), {})[row["model"]] = row
    whole = [split for split in splits.values() if set(models) <= set(split)]
    first, ahead = Counter[Any](), Counter[Any]()
    for split in whole:
        for metric, better in BETTER.items():
            value = {name: row[metric] for name, row in split.items() if metric in row}
            best = better(value.values(), default=None)
            for name, own in value.items():
                first[name, metric] += own == best
                reference = value.get("pmcnet")
                ahead[name, metric] += reference is None or better(own, reference) != reference
    return first, ahead, len(whole)


def mean_line(model: str, rows: list[dict[str, Any]]) -> str:
    """Means of a model on a table."""
    good = [row for row in rows if "failed" not in row]
    failed = f", {len(rows) - len(good)} failed" if len(rows) > len(good) else ""
    means = (
        f"{np.mean([row[key] for row in good]) if good else np.nan:{width}{form}}"
        for key, (_, width, form) in COLUMNS.items()
    )
    return f"  {f'{model}, n = {len(good)}{failed}':34}" + "".join(means)


def summary(rows: list[dict[str, Any]], models: list[str]) -> str:
    """Means for each table and model, and how often each model is ahead."""
    names = [model for model in models if any(row["model"] == model for row in rows)]
    headings = "".join(f"{name:>{width}}" for name, width, _ in COLUMNS.values())
    lines = []
    for name in dict.fromkeys(row["table"] for row in rows):
        part = [row for row in rows if row["table"] == name]
        first, _, n = places(part, names)
        lines.append(f"\n{f'{name}, means of n splits':36}{headings}   first of {n}: LL RMSE CRPS")
        for model in names:
            wins = "".join(f"{first[model, metric]:5}" for metric in BETTER)
            own = [row for row in part if row["model"] == model]
            lines.append(f"{mean_line(model, own)}{'':12}{wins}")
    first, ahead, n = places(rows, names)
    lines.append(f"\n{f'of {n} splits of all tables':36}first: LL RMSE CRPS   ahead of pmcnet")
    for model in names:
        counts = ["".join(f"{c[model, metric]:5}" for metric in BETTER) for c in (first, ahead)]
        lines.append(f"  {model:34}{counts[0]:>19}   {counts[1] if 'pmcnet' in names else ''}")
    return "\n".join(lines)


def main() -> None:
    """Measure, store and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--splits", default="0,1,2,3,4")
    parser.add_argument("--rows", type=int, default=4000, help="of training, at most")
    parser.add_argument("--python", action="append", default=[], metavar="NAME,...=PATH")
    parser.add_argument("--test-rows", type=int, default=2000, help="at most")
    parser.add_argument("--limit", type=float, default=1800, help="seconds of a fit")
    parser.add_argument("--retry", action="store_true", help="what failed")
    parser.add_argument("--summary", action="store_true", help="of what is there; nothing is run")
    options = parser.parse_args()
    models, tables = options.models.split(","), options.tables.split(",")
    for name, allowed in [(m, list(MODELS)) for m in models] + [
        (t, [*FILES, "diabetes"]) for t in tables
    ]:
        if name not in allowed:
            parser.error(f"{name} is not known; use some of {', '.join(allowed)}.")
    interpreters = dict.fromkeys(MODELS, sys.executable)
    for names, path in (given.split("=", 1) for given in options.python):
        interpreters |= dict.fromkeys(names.split(","), path)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and the running fit with it
    settings = {"limit": options.limit, "cores": len(os.sched_getaffinity(0))}
    rows = json.loads(options.json.read_text())["rows"] if options.json.exists() else []
    if options.retry:
        rows = [row for row in rows if "failed" not in row]

    def chosen() -> list[dict[str, Any]]:
        keys = {"rows": [options.rows], "model": models, "table": tables, "split": splits}
        return [row for row in rows if all(row[key] in keys[key] for key in keys)]

    splits = [int(split) for split in options.splits.split(",")]
    there = {(row["model"], row["table"], row["split"]) for row in chosen()}
    tasks = [(m, t, s) for s in splits for t in tables for m in models if (m, t, s) not in there]
    for model, name, split in [] if options.summary else tasks:
        if split >= n_splits(name, options.data):
            continue
        given = table(name, split, options.data, options.rows, options.test_rows)
        found = measured(model, given, split, interpreters[model], options.limit)
        key = {"model": model, "table": name, "split": split, "rows": options.rows}
        rows.append(key | {"n_train": len(given.y_train)} | found)
        store(options.json, settings, rows)
        print(f"{name} {split}, {model}: {line(rows[-1])}", flush=True)
    print(summary(chosen(), models))


if __name__ == "__main__":
    main()

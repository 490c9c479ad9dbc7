"""Do the estimators work on raw tables, beside scikit-learn's networks?

Coverage of intervals and R^2, accuracy and NLL. Regression: diabetes, concrete (a file with X and
y) and diabetes with its target times 1e6; classification: breast cancer, and digits with 64-32-10.
Five random splits, 80 % for training. scikit-learn's networks have the same hidden layer and are
given standardised features (and target), 2000 epochs at most; and, for classes, raw features as
well.

    python benchmarks/estimators.py --concrete FILE.npz --json docs/results/estimators.json
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pmcnet import PMCNetClassifier, PMCNetRegressor, data

warnings.simplefilter("ignore")  # scikit-learn's networks say when they stop early
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "breast_cancer": {},
    "digits": {"hidden_layer_sizes": (32,), "activation": "relu", "feature_scaling": "common"},
}


def table(name: str, concrete: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Raw features and target."""
    if name == "concrete":
        assert concrete is not None
        file = np.load(concrete)
        return file["X"].astype(float), file["y"].astype(float)
    loaded = data.load("diabetes" if name == "diabetes-1e6" else name)
    return loaded.x, loaded.y * (1e6 if name == "diabetes-1e6" else 1)


def regression(
    x: Any, y: Any, train: Any, test: Any, seed: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Our regressor and scikit-learn's on one split."""
    start = time.perf_counter()
    model = PMCNetRegressor(random_state=seed, **options).fit(x[train], y[train])
    seconds = time.perf_counter() - start
    low, high = model.predict_interval(x[test], 0.9).T
    network = make_pipeline(
        StandardScaler(), MLPRegressor(hidden_layer_sizes=(16,), max_iter=2000, random_state=seed)
    )
    other = TransformedTargetRegressor(network, transformer=StandardScaler()).fit(
        x[train], y[train]
    )
    return {
        "coverage90": float(((low <= y[test]) & (y[test] <= high)).mean()),
        "r2": model.score(x[test], y[test]),
        "mlp_r2": other.score(x[test], y[test]),
        "verdict": model.verdict_.status,
        "method": model.method_,
        "n_particles": model.method_options_.get("n_particles"),
        "prior_std": model.prior_std_,
        "seconds": seconds,
    }


def classification(
    x: Any, y: Any, train: Any, test: Any, seed: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Our classifier and scikit-learn's on one split."""
    start = time.perf_counter()
    model = PMCNetClassifier(random_state=seed, **options).fit(x[train], y[train])
    seconds = time.perf_counter() - start
    plain = MLPClassifier(
        hidden_layer_sizes=options.get("hidden_layer_sizes", (16,)),
        max_iter=2000,
        random_state=seed,
    )
    scaled = make_pipeline(StandardScaler(), plain).fit(x[train], y[train])
    found = {
        "accuracy": model.score(x[test], y[test]),
        "nll": log_loss(y[test], model.predict_proba(x[test])),
        "mlp_accuracy": scaled.score(x[test], y[test]),
        "mlp_nll": log_loss(y[test], scaled.predict_proba(x[test])),
    }
    raw = MLPClassifier(
        hidden_layer_sizes=options.get("hidden_layer_sizes", (16,)), random_state=seed
    ).fit(x[train], y[train])
    return found | {
        "mlp_raw_accuracy": raw.score(x[test], y[test]),
        "mlp_raw_nll": log_loss(y[test], raw.predict_proba(x[test])),
        "verdict": model.verdict_.status,
        "method": model.method_,
        "n_particles": model.method_options_.get("n_particles"),
        "prior_std": model.prior_std_,
        "seconds": seconds,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default="diabetes,diabetes-1e6,concrete,breast_cancer,digits")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--concrete", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--budget", default="3min")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.names.split(","):
        x, y = table(name, arguments.concrete)
        for split in range(arguments.splits):
            order = np.random.RandomState(split).permutation(len(x))
            train, test = np.split(order, [int(0.8 * len(x))])
            run = classification if name in CLASSIFIERS else regression
            options = {
                "budget": arguments.budget,
                "device": arguments.device,
                **CLASSIFIERS.get(name, {}),
            }
            rows.append({"name": name, "split": split, **run(x, y, train, test, split, options)})
            print(rows[-1], flush=True)
        mine = [row for row in rows if row["name"] == name]
        means = {
            key: float(np.mean([row[key] for row in mine]))
            for key in mine[0]
            if isinstance(mine[0][key], float)
        }
        print(name, {key: round(value, 4) for key, value in means.items()}, flush=True)
        if arguments.json:
            settings = {key: str(value) for key, value in vars(arguments).items() if key != "json"}
            arguments.json.write_text(
                json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n"
            )


if __name__ == "__main__":
    main()

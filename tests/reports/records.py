"""Records of runs that never were: plain data of the form the page reads, from fixed seeds."""

import json

import numpy as np

from reports import curve_records

GRID = np.linspace(0, 1, 101)
LEVELS = {"80": 1.3, "95": 1.7, "99": 2.0}
FLOWERS = ["setosa", "versicolor", "virginica"]


def binary():
    rng = np.random.default_rng(1)
    return _plain(
        _base("ionosphere: class", "binary", "class", ["bad", "good"])
        | {
            "metrics": [
                *_class_metrics(),
                metric("auc", 0.97, 0.96, 0.012),
                metric("brier", 0.041, 0.052, 0.01, "lower"),
            ],
            **curve_records.binary(curve(1, 0.06)),
            "calibration": (bins := reliability(rng)) | curve_records.classes(bins, 1),
            "confusion": [[22, 3], [1, 45]],
            "histograms": probabilities(rng, 6, 2),
            "uncertain": _uncertain_classes(rng, ["bad", "good"]),
            "history": history(24),
            "comparison": comparison(),
        }
    )


def multiclass(classes=FLOWERS):
    rng = np.random.default_rng(2)
    n = len(classes)
    confusion = np.diag(rng.integers(5, 20, n)) + rng.integers(0, 3, (n, n)) * (
        rng.random((n, n)) < 0.3
    )
    return _plain(
        _base("iris: species", "multiclass", "species", list(classes))
        | {
            "verdict": {"status": "doubtful", "reason": "Only 61 of 1000 draws are effective."},
            "metrics": _class_metrics(),
            "roc": [
                curve_records.averaged(curve(i, power), GRID, GRID**power)
                for i, power in enumerate(0.02 + 0.2 * rng.random(n))
            ],
            "precision_recall": [curve_records.precision_recall(i, 0.1) for i in range(min(n, 6))],
            "calibration": (bins := reliability(rng)) | curve_records.classes(bins, min(n, 6)),
            "confusion": confusion.tolist(),
            "histograms": probabilities(rng, 4, n),
            "uncertain": _uncertain_classes(rng, list(classes)),
            "history": history(9),
        }
    )


def regression():
    rng = np.random.default_rng(3)
    y = np.sort(rng.normal(22, 9, 102))
    mean, std = y + rng.normal(0, 2.5, y.size), 1.5 + 2 * rng.random(y.size)
    levels = np.linspace(0.1, 0.95, 18)
    coverage = np.clip(levels + 0.04 * np.sin(6 * levels), 0, 1)
    return _plain(
        _base("housing: median value", "regression", "medv", None)
        | {
            "verdict": {
                "status": "degenerate",
                "reason": "One draw carries 97 % of the weight.",
                "limits": curve_records.LIMITS,
            },
            "fan": curve_records.fan(),
            "metrics": [
                metric("rmse", 2.51, 2.83, 0.14, "lower") | {"unit": "1000 dollars"},
                metric("nll", 2.41, 2.7, 0.1, "lower") | {"unit": "nats"},
                metric("r2", 0.91, 0.89, 0.011),
                {"name": "crps", "label": "CRPS", "value": None, "better": "lower"},
            ],
            "scatter": [
                {
                    "row": i,
                    "y": y[i],
                    "mean": mean[i],
                    "low": mean[i] - 1.96 * std[i],
                    "high": mean[i] + 1.96 * std[i],
                }
                for i in range(y.size)
            ],
            "scatter_coverage": 0.95,
            "calibration": {
                "levels": levels.tolist(),
                "coverage": coverage.tolist(),
                "low": np.clip(coverage - 0.07, 0, 1).tolist(),
                "high": np.clip(coverage + 0.07, 0, 1).tolist(),
            },
            "histograms": [
                {
                    "row": 5 * i,
                    "y": y[5 * i],
                    "draws": rng.normal(mean[5 * i], std[5 * i], 200).tolist(),
                }
                for i in range(4)
            ],
            "uncertain": [
                {
                    "row": i,
                    "prediction": mean[i],
                    "truth": y[i],
                    "std": std[i],
                    "low": mean[i] - 1.96 * std[i],
                    "high": mean[i] + 1.96 * std[i],
                    "aleatoric": 0.8 * std[i],
                    "epistemic": 0.6 * std[i],
                }
                for i in np.argsort(-std)[:8].tolist()
            ],
            "history": curve_records.with_errors(history(60)),
            "update": {
                "number": 2,
                "n_rows": 40,
                "log_evidence": -151.2,
                "log_evidence_error": 0.21,
                "log_predictive": -3.9,
                "expected": -3.6,
                "std": 0.11,
                "drift": False,
            },
            "model_choice": [
                alternative("gaussian, scales by layer", -312.4),
                alternative("gaussian, noise by row, scales by layer", -270.1),
            ],
        }
    )


def alternative(name, log_evidence):
    return {
        "name": name,
        "log_evidence": log_evidence,
        "log_evidence_error": 1.4,
        "seconds": 3.2,
    }


def bare(task="binary"):
    """Only what a record must have, of a test set of one row."""
    return {
        "format": 1,
        "title": "one row",
        "task": task,
        "target": "y",
        "verdict": {"status": "trustworthy", "reason": "All is well."},
        "summary": {"n_train": 3, "n_test": 1, "n_features": 1},
        "metrics": [{"name": "accuracy", "label": "accuracy", "value": None, "better": "higher"}],
        "diagnostics": {
            "n_draws": 1,
            "ess": 1.0,
            "khat": None,
            "log_evidence": None,
            "log_evidence_error": None,
        },
        "settings": {},
    }


def curve(label, power):
    bands = {
        k: [(GRID ** (power * s)).tolist(), (GRID ** (power / s)).tolist()]
        for k, s in LEVELS.items()
    }
    return {"class": label, "grid": GRID.tolist(), "mean": (GRID**power).tolist(), "bands": bands}


def metric(name, value, mean, std, better="higher"):
    draws = {"mean": mean, "std": std, "interval95": [mean - 1.96 * std, mean + 1.96 * std]}
    return {"name": name, "label": name, "value": value, "per_draw": draws, "better": better}


def reliability(rng):
    confidence = np.linspace(0.55, 0.95, 5) + rng.uniform(-0.015, 0.015, 5)
    accuracy = np.clip(confidence + rng.normal(0, 0.05, 5), 0, 0.99)
    bins = [
        {
            "confidence": c,
            "accuracy": a,
            "n": n,
            "low": max(0.0, a - 0.6 / n**0.5),
            "high": min(1.0, a + 0.4 / n**0.5),
        }
        for c, a, n in zip(confidence, accuracy, (4, 6, 9, 12, 40), strict=True)
    ]
    return {
        "bins": [*bins, {"confidence": None, "accuracy": None, "n": 0, "low": None, "high": None}],
        "ece": 0.031,
    }


def probabilities(rng, n_rows, n_classes):
    shapes = [(40, 2), (8, 4), (2, 2), (1, 6), (3, 1), (20, 20)]
    return [
        {
            "row": 7 * i + 1,
            "class": i % n_classes,
            "probability": rng.beta(*shapes[i], 100).tolist(),
        }
        for i in range(n_rows)
    ]


def history(n):
    temperatures = np.geomspace(1e-4, 1, n)
    return [
        {
            "step": 1 + i,
            "ess": 500 + 400 * (i / n) ** 0.5,
            "log_evidence": -200 + 135 * (1 + i) / n,
            "temperature": t,
            "acceptance": 0.8 + 0.1 * np.sin(i),
            "step_size": 0.3 / (1 + i) ** 0.5,
            "seconds": 0.5,
            "n_gradients": 1000 + i,
        }
        for i, t in enumerate(temperatures.tolist())
    ]


def comparison():
    return [
        {
            "method": "annealed",
            "verdict": "trustworthy",
            "metrics": {"accuracy": 0.95, "nll": 0.16},
            "ess": 950.0,
            "seconds": 12.3,
        },
        {
            "method": "pmcnet",
            "verdict": "degenerate",
            "metrics": {"accuracy": 0.96, "nll": 0.44},
            "ess": 1.2,
            "seconds": 230.0,
        },
        {
            "method": "adam",
            "verdict": None,
            "metrics": {"accuracy": 0.92, "nll": None},
            "ess": None,
            "seconds": 0.8,
        },
    ]


def binary_compared():
    rng = np.random.default_rng(4)
    entries = _four(["accuracy", "nll", "auc"])
    for entry, power, wrong in zip(entries, (0.05, 0.07, 0.11, 0.3), (4, 5, 6, 11), strict=True):
        mean = np.maximum.accumulate(np.clip(GRID**power + rng.normal(0, 0.01, GRID.size), 0, 1))
        entry["roc"] = {
            "grid": GRID.tolist(),
            "mean": mean.tolist(),
            "auc": float(np.trapezoid(mean, GRID)),
        }
        entry["confusion"] = [
            [25 - wrong // 2, wrong // 2],
            [wrong - wrong // 2, 46 - wrong + wrong // 2],
        ]
    return _plain(binary() | {"comparison": entries})


def multiclass_compared(classes=FLOWERS):
    rng = np.random.default_rng(5)
    n, entries = len(classes), _four(["accuracy", "nll"])
    for i, entry in enumerate(entries):
        wrong = rng.integers(0, 3, (n, n)) * (rng.random((n, n)) < 0.15 * (1 + i))
        entry["confusion"] = (np.diag(rng.integers(5, 20, n)) + wrong).tolist()
    return _plain(multiclass(classes) | {"comparison": entries})


def regression_compared():
    rng = np.random.default_rng(6)
    entries = _four(["rmse", "nll", "r2"])
    for entry, std in zip(entries, (2.4, 2.5, 2.9, 5.0), strict=True):
        entry["squared_errors"] = (rng.normal(0, std, 102) ** 2).tolist()
    entries[1]["squared_errors"][:2] = [0.0, 1e-12]
    return _plain(regression() | {"comparison": entries})


def _four(names):
    """Four methods: the first two are tied, of the last, a single network, little is known."""
    entries = []
    for i, method in enumerate(("annealed", "ensemble of networks", "mc-dropout", "adam")):
        value = {
            name: 0.95 - 0.02 * i if name in ("accuracy", "auc", "r2") else 0.16 + 0.1 * i
            for name in names
        }
        entries.append(
            {
                "method": method,
                "verdict": "trustworthy" if i == 0 else None,
                "metrics": value,
                "per_draw": {name: {"mean": 0.98 * x, "std": 0.0123} for name, x in value.items()}
                if i < 3
                else None,
                "best": names[: 2 - i] if i < 2 else [],
                "ess": 950.0 if i == 0 else None,
                "seconds": 12.3 / (1 + i),
                "milliseconds_per_row": 0.42 / 10**i if i < 3 else None,
                "chosen": {"early_stopping": False, "learning_rate": 0.01, "prior_std": 1.0 + i}
                if i < 3
                else None,
                "chosen_by": "evidence" if i == 0 else "validation",
                "trials": [{"prior_std": 1.0, "validation_nll": 0.2}] * (6 * i),
                "tuning_seconds": 3.5 * i,
            }
        )
    return entries


def _base(title, task, target, classes):
    return {
        "format": 1,
        "title": title,
        "task": task,
        "target": target,
        "classes": classes,
        "verdict": {
            "status": "trustworthy",
            "reason": "950 of 1000 draws are effective and no draw dominates.",
        },
        "summary": {
            "n_train": 280,
            "n_test": 71,
            "n_features": 33,
            "method": "annealed",
            "method_reason": "Method: annealed; a run of 561 parameters should take about 12 s.",
            "network": "33-16-1, tanh",
            "model": "categorical, scales by layer",
            "fit_seconds": 12.3,
            "predict_seconds": 0.1,
            "version": "0.2.0",
            "data": "ionosphere.csv",
        },
        "diagnostics": {
            "n_draws": 1000,
            "ess": 950.0,
            "khat": 0.21,
            "log_evidence": -65.1,
            "log_evidence_error": 0.1,
        },
        "settings": {
            "seed": 0,
            "n_particles": 1000,
            "move": {"name": "HMC", "n_leapfrog": 10, "adapt": True},
            "hidden": [16],
            "step_size": 0.05,
            "checkpoint": None,
        },
    }


def _class_metrics():
    nll = metric("nll", 0.16, 0.21, 0.03, "lower") | {
        "label": "negative log-likelihood",
        "unit": "nats",
    }
    return [metric("accuracy", 0.95, 0.93, 0.015), nll]


def _uncertain_classes(rng, classes):
    rows = []
    for i in range(8):
        truth, prediction = rng.integers(0, len(classes), 2)
        total, part = rng.uniform(0.3, 0.69), rng.uniform(0.1, 0.5)
        rows.append(
            {
                "row": int(rng.integers(0, 71)),
                "prediction": classes[prediction],
                "truth": classes[truth],
                "probability": 0.5 + 0.03 * i,
                "total": total,
                "aleatoric": (1 - part) * total,
                "epistemic": part * total,
            }
        )
    return rows


def _plain(record):
    return json.loads(json.dumps(curve_records.plain(record)))

"""Records of runs that never were: plain data of the form the page reads, from fixed seeds."""

import base64
import json

import numpy as np

from reports import check_records, curve_records

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
            "explained": [
                explained_class(17, ["bad", "good"]),
                explained_class(3, ["bad", "good"]),
            ],
            "history": history(24),
            "comparison": comparison(),
        }
        | check_records.of_classes(["bad", "good"])
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
            "explained": [explained_class(17, list(classes))],
            "history": history(9),
        }
        | check_records.of_classes(list(classes))
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
            "explained": [explained_number(4), explained_number(88, novel=True)],
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
        | check_records.of_numbers()
    )


def explained_number(row, novel=False):
    """A regression's row, with the nearest rows of a table."""
    return {
        "row": row,
        "truth": 13.5,
        "prediction": 12.25,
        "std": 1.5,
        "interval": [9.1, 15.2],
        "coverage": 0.95,
        "quantiles": [{"level": level, "value": 12.25 + 3 * level} for level in (0.1, 0.5, 0.9)],
        **_contributions(None, 10.0, 12.25),
        "novelty": _novelty(0.9997 if novel else 0.41, novel),
        "nearest": [
            {
                "row": 5 + i,
                "distance": 0.5 * i,
                "target": 11.0 + i,
                "values": {"a long name of a column": 0.25 * i, "city": "Tromsø", "age": None},
            }
            for i in range(5)
        ],
    }


def explained_class(row, classes):
    """A classification's row, with the nearest rows that a model keeps."""
    return {
        "row": row,
        "truth": classes[0],
        "prediction": classes[-1],
        "classes": [
            {"class": name, "probability": 1 / len(classes), "low95": 0.0, "high95": 0.9}
            for name in classes
        ],
        **_contributions(classes[-1], 0.5, 0.62),
        "novelty": _novelty(0.93, False),
        "nearest": [
            {"row": 5, "update": 0, "distance": 0.4},
            {"row": 2, "update": 1, "distance": 1},
        ],
    }


def _contributions(of, base, explained):
    means = np.array([0.7, 0.5, -0.2]) * (explained - base)
    columns = zip(["a long name of a column", "city", "age"], [0.25, "Tromsø", None], strict=True)
    lines = [
        {
            "column": name,
            "value": value,
            "mean": mean,
            "low95": mean - 0.4,
            "low80": mean - 0.2,
            "high80": mean + 0.2,
            "high95": mean + 0.3,
            "error": 0.0,
        }
        for (name, value), mean in zip(columns, means.tolist(), strict=True)
    ]
    return {
        "of": of,
        "base": base,
        "explained": explained,
        "exact": True,
        "n_networks": 100,
        "contributions": lines,
    }


def _novelty(percentile, is_novel):
    return {
        "percentile": percentile,
        "is_novel": is_novel,
        "distance": 2.3,
        "farther_than": 0.8,
        "epistemic_share": 0.2,
        "less_known_than": percentile,
    }


def alternative(name, log_evidence):
    return {
        "name": name,
        "log_evidence": log_evidence,
        "log_evidence_error": 1.4,
        "seconds": 3.2,
    }


def what_if():
    """A regression that the page predicts by itself: 40 networks of one number and one category."""
    weights = np.random.default_rng(4).normal(size=(40, 3 * 2 + 2 + 2 + 1 + 1)).astype("<f4")
    number = {"kind": "number", "mean": 6.3, "std": 0.7, "unit": "", "factor": 1.0}
    category = {"kind": "category", "levels": ["no", "<yes>"], "shares": [0.9, 0.1]}
    asked = {
        "likelihood": {"kind": "LearnedGaussian"},
        "units": [22.0, 9.0],
        "columns": [
            number | {"name": "rooms", "flag": False, "missing": False}
            | {"low": 4.0, "high": 9.0, "step": 0.02},
            category | {"name": "river", "flag": False, "missing": False}
            | {"n_own": 2, "pooled": False},
        ],
        "starts": [
            {"row": None, "truth": None, "values": [6.2, 0]},
            {"row": 7, "truth": 24.1, "values": [7.1, 1]},
        ],
        "networks": {
            "n": 40, "sizes": [3, 2, 1], "activation": "tanh", "n_extra": 1, "weight": [1] * 40,
            "numbers": base64.urlsafe_b64encode(weights.tobytes()).decode(), "of": 2000,
        },
        "order": [0, 1],
        "difference": 0.12,
        "notes": ["Counts are those of exposure 1."],
    }  # fmt: skip
    return regression() | {"what_if": asked}


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


def drivers(task="regression", classes=("low", "mid", "high")):
    """What drives predictions, as a run that never was might say."""
    rng = np.random.default_rng(12)
    several = task == "multiclass"
    n_outputs = len(classes) if several else 1
    names = ["size", "a column of a very long name", "town", "day"]
    worth = [1.3, 0.4, 0.1, -0.01]
    return _plain(
        {
            "importance": {
                "n_rows": 200,
                "held_out": True,
                "n_networks": 100,
                "n_repeats": 3,
                "n_columns": 5,
                "columns": [
                    {"feature": name, "importance": w, "averaged": w, "error": 0.02}
                    | _ends(w)
                    | {"shapley": abs(w), "shapley_low95": 0.0, "shapley_high95": 2 * abs(w)}
                    | {"relevance": 1.0}
                    for name, w in zip(names, worth, strict=True)
                ],
            },
            "effects": {
                "n_rows": 200,
                "n_networks": 100,
                "classes": list(classes) if several else None,
                "columns": [
                    _effect(rng, names[0], "number", np.linspace(-2, 2, 9), n_outputs),
                    _effect(rng, names[2], "level", ["Oslo", "Rome", "missing"], n_outputs),
                    _effect(
                        rng, names[3], "date", np.linspace(19000, 19400, 9).tolist(), n_outputs
                    ),
                ],
                "others": [names[1]],
            },
            "interaction": _points("number", np.linspace(-2, 2, 8))
            | {
                "features": names[:3:2],
                "class": classes[1] if several else None,
                "lines": [
                    {"value": value, "partial": _band(rng.normal(size=8))}
                    for value in ("Oslo", "Rome")
                ],
                "pairs": [
                    {
                        "features": names[:3:2],
                        "strength": {"mean": 0.5} | _ends(0.5),
                        "share": {"mean": 0.2} | _ends(0.2),
                    }
                ],
            },
        }
    )


def _ends(mean):
    """Intervals around a number."""
    wide, narrow = 0.2 * abs(mean), 0.1 * abs(mean)
    return {
        "low95": mean - wide,
        "low80": mean - narrow,
        "high80": mean + narrow,
        "high95": mean + wide,
    }


def _band(mean):
    return {"mean": mean.tolist()} | {
        key: (mean + by - 1).tolist() for key, by in _ends(1.0).items()
    }


def _points(scale, values):
    n, values = len(values), list(values)
    counts = [] if scale == "level" else [3.0, 5.0, 2.0]
    return {"scale": scale, "values": values, "share": [1 / n] * n, "counts": counts}


def _effect(rng, feature, scale, values, n_outputs):
    outputs = []
    for _ in range(n_outputs):
        mean = rng.normal(size=len(values))
        one = {
            "average": 0.0,
            "partial": _band(mean),
            "individual": [(mean + by).tolist() for by in (1, -1)],
        }
        if scale != "level":
            one["accumulated"] = _band(mean)
        outputs.append(one)
    return _points(scale, values) | {"feature": feature, "outputs": outputs}

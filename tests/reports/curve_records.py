"""What the records of runs say of curves: plain data from closed forms and fixed seeds."""

import numpy as np

GRID = np.linspace(0, 1, 101)
LIMITS = {"error": 0.05, "error_upper": 0.1}


def binary(curve):
    """The curves of two classes; `curve` is that of the draws of the second."""
    return {
        "roc": [averaged(curve, GRID, GRID**0.05)],
        "precision_recall": [precision_recall(1, 0.65)],
        "decision": decision(),
    }


def averaged(curve, x, y):
    """A curve of draws, with that of the averaged prediction beside it."""
    area = float(np.trapezoid(y, x))
    found = {"x": x.tolist(), "y": y.tolist(), "area": area, "area_draws": [0.9, 0.96]}
    return curve | {"averaged": found}


def precision_recall(label, share):
    recall = np.arange(1, 21) / 20
    bands = {
        level: [(1 - w * GRID).tolist(), np.minimum(1, 1.02 - 0.1 * w * GRID).tolist()]
        for level, w in (("80", 0.3), ("95", 0.4), ("99", 0.5))
    }
    curve = {"class": label, "share": share, "grid": GRID.tolist(), "bands": bands}
    return averaged(curve, recall, 1 - 0.2 * recall**3)


def decision():
    """Of 71 rows, 46 of the class; with 10 of the others they shrink as the threshold grows."""
    threshold = np.arange(1, 100) / 100
    found = np.floor(46 * (1 - threshold**4))
    others = np.floor(25 * (1 - threshold) ** 3)
    net = (found - others * threshold / (1 - threshold)) / 71
    return {
        "class": 1,
        "n": 71,
        "n_positive": 46,
        "threshold": threshold.tolist(),
        "true_positive": found.astype(int).tolist(),
        "false_positive": others.astype(int).tolist(),
        "bands": {"80": [net - 0.03, net + 0.01], "95": [net - 0.06, net + 0.02]},
    }


def classes(reliability, n):
    """Calibration of n classes; `reliability` makes that of one."""
    return {"classes": [{"class": k, **reliability} for k in range(n)]}


def fan(n=102):
    rng = np.random.default_rng(7)
    mean = np.sort(rng.normal(22, 9, n))
    std = 2 + 2 * rng.random(n)
    bands = {
        name: [mean - z * std, mean + z * std]
        for name, z in (("50", 0.674), ("80", 1.282), ("95", 1.96))
    }
    return {"y": rng.normal(mean, std), "mean": mean, "bands": bands}


def with_errors(history):
    """The same steps, whose second half knows the error of predictions."""
    half = len(history) // 2
    known = [
        {"error": 0.2 / (1 + i) ** 0.5, "error_upper": 0.4 / (1 + i) ** 0.5}
        for i in range(len(history) - half)
    ]
    none = [{"error": None, "error_upper": None}] * half
    return [step | errors for step, errors in zip(history, none + known, strict=True)]


def plain(value):
    """Lists for arrays, at any depth."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value

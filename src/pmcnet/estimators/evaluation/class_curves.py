"""Curves of class probabilities: of the averaged prediction, with the bands of single draws."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pmcnet import metrics
from pmcnet.estimators.evaluation.figure_data import BANDS, GRID, N_BINS, Record, roc_bands, wilson

MOST_CLASSES = 6
"""Of these, those with the most rows, there are precision and calibration."""
MOST_CORNERS = 400
"""Of a curve; one of more rows is drawn by so many of its points."""
THRESHOLDS = torch.arange(1, 100, dtype=torch.float64) / 100
_LEVELS = ("80", "95")  # of the bands of the decision curve


def roc_curves(
    average: Tensor, draws: Tensor, label: Tensor, drawn: Tensor | None = None
) -> list[Record]:
    """The ROC curve of each class against the others; of two classes that of the second.

    What `roc_bands` says of the draws, and beside it the curve of the averaged prediction with its
    exact area, and the 95 % interval of the draws' areas.

    Args:
        average: the averaged prediction (N, C).
        draws: of single networks (R, K, C).
        label: the truth (N,).
        drawn: the truth of the rows of the draws (K,); absent, they are the N rows.
    """
    curves = []
    own = label if drawn is None else drawn
    for curve in roc_bands(draws, own):
        positive = int(curve["class"])
        if average.shape[1] == 2 and positive == 0:
            continue
        x, y = _evenly(*metrics.roc_corners(average, label, positive=positive))
        pairs = ((average, label), (draws, own))
        areas = [metrics.auc(*pair, positive=positive) for pair in pairs]
        curves.append(curve | {"averaged": _averaged(x, y, *areas)})
    return curves


def method_roc(probability: Tensor, label: Tensor) -> Record | None:
    """The ROC curve of the second of two classes (N, 2) by one method, and its area; else None."""
    if not 0 < int((label == 1).sum()) < len(label):
        return None
    grid, mean = _evenly(*metrics.roc_corners(probability, label, positive=1))
    area = float(metrics.auc(probability, label, positive=1))
    return {"grid": grid.tolist(), "mean": mean.tolist(), "auc": area}


def precision_recall_curves(
    average: Tensor, draws: Tensor, label: Tensor, drawn: Tensor | None = None
) -> list[Record]:
    """Precision against recall of the commonest classes; of two classes that of the second.

    The area is the average precision. `share` is that of the class among the rows: the precision
    of a prediction that knows nothing. Arguments are those of `roc_curves`.
    """
    curves = []
    own = label if drawn is None else drawn
    for positive in drawn_classes(own, average.shape[1]):
        n = int((label == positive).sum())
        if n == len(label) or bool((own == positive).all()):
            continue
        steps = min(n, MOST_CORNERS)
        recall = torch.arange(1, steps + 1, dtype=torch.float64) / steps
        y = metrics.precision_recall(average, label, recall, positive=positive)
        pairs = ((average, label), (draws, own))
        areas = [metrics.average_precision(*pair, positive=positive) for pair in pairs]
        each = metrics.precision_recall(draws, own, GRID.to(draws), positive=positive)  # (R, G)
        curves.append(
            {
                "class": positive,
                "share": n / len(label),
                "grid": GRID.tolist(),
                "bands": _bands(each, list(BANDS)),
                "averaged": _averaged(recall, y, *areas),
            }
        )
    return curves


def decision_curve(
    average: Tensor, draws: Tensor, label: Tensor, drawn: Tensor | None = None
) -> Record | None:
    """What acting on rows whose probability of the second of two classes is large would bring.

    Counts of the averaged prediction at each threshold, and bands of the draws' net benefits.
    Arguments are those of `roc_curves`. None for more classes, or where all rows are of one.
    """
    n_positive = int((label == 1).sum())
    if average.shape[1] != 2 or not 0 < n_positive < len(label):
        return None
    counts = metrics.positives_at(average, label, THRESHOLDS, positive=1)
    own = label if drawn is None else drawn
    each = metrics.net_benefit(draws, own, THRESHOLDS, positive=1)  # (R, T)
    return {
        "class": 1,
        "n": len(label),
        "n_positive": n_positive,
        "threshold": THRESHOLDS.tolist(),
        "true_positive": counts[0].tolist(),
        "false_positive": counts[1].tolist(),
        "bands": _bands(each, _LEVELS),
    }


def class_reliability(probability: Tensor, label: Tensor) -> list[Record]:
    """How often each class occurs against its probability (N, C), of the commonest classes.

    In bins of the probability, each with a 95 % Wilson interval. `ece` is the mean distance.
    """
    curves = []
    for k in drawn_classes(label, probability.shape[1]):
        score, truth = probability[:, k], (label == k).double()
        index = (score * N_BINS).long().clamp(max=N_BINS - 1)
        bins = [_bin(score[index == i], truth[index == i]) for i in sorted(set(index.tolist()))]
        distance = sum(each["n"] * abs(each["confidence"] - each["accuracy"]) for each in bins)
        curves.append({"class": k, "bins": bins, "ece": distance / len(label)})
    return curves


def drawn_classes(label: Tensor, n_classes: int) -> list[int]:
    """The classes that are drawn: of two the second, of more at most six with the most rows."""
    counts = label.bincount(minlength=n_classes)
    known = [k for k in counts.argsort(descending=True, stable=True).tolist() if counts[k]]
    if n_classes == 2:
        return [1] if 1 in known else []
    return sorted(known[:MOST_CLASSES])


def _bin(score: Tensor, truth: Tensor) -> Record:
    share, n = float(truth.mean()), len(truth)
    low, high = wilson(share, n)
    confidence = float(score.mean())
    return {"confidence": confidence, "accuracy": share, "n": n, "low": low, "high": high}


def _averaged(x: Tensor, y: Tensor, area: Tensor, areas: Tensor) -> Record:
    """A curve of the averaged prediction, its area, and the areas of the draws (R,)."""
    interval = metrics.summarise(areas).interval95
    return {"x": x.tolist(), "y": y.tolist(), "area": float(area), "area_draws": list(interval)}


def _bands(values: Tensor, levels: Sequence[str]) -> Record:
    """What holds each share of the draws (R, G), by its name."""
    ends = {name: torch.tensor(BANDS[name]).to(values) for name in levels}
    return {name: values.quantile(each, dim=0).tolist() for name, each in ends.items()}


def _evenly(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """At most so many corners of an increasing curve (K,), about equally far from each other."""
    if len(x) <= MOST_CORNERS:
        return x, y
    along = x + y  # (K,) from 0 to 2
    wanted = torch.linspace(0, 2, MOST_CORNERS, dtype=along.dtype)
    kept = torch.unique(torch.searchsorted(along, wanted).clamp(max=len(x) - 1))
    return x[kept], y[kept]

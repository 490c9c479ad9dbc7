"""Predicted classes of rows whose truth is known, and what is read off them."""

import time
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet import metrics
from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.evaluation import class_curves, figure_data
from pmcnet.estimators.evaluation.calibrated_scores import set_scores, sets_of
from pmcnet.estimators.evaluation.drawn_rows import drawn_entry, drawn_rows
from pmcnet.estimators.evaluation.known_columns import (
    COVERAGE,
    SET,
    known_columns,
    novelty_columns,
    novelty_entry,
)
from pmcnet.estimators.evaluation.scores import (
    N_HISTOGRAMS,
    N_SHOWN,
    Record,
    Scores,
    class_labels,
    scored,
)
from pmcnet.estimators.novelty import Novelty
from pmcnet.estimators.predictions import AveragedPrediction


class ClassPredictions(NamedTuple):
    """The averaged prediction of N rows, single draws, and the truth."""

    classes: NDArray[Any]  # (C,)
    label: Tensor  # (N,)
    averaged: AveragedPrediction
    drawn: Tensor  # (K,) the rows of draws: all, or some of very many
    draws: Tensor  # (R, K, C)
    sets: NDArray[Any] | None  # (N,) of classes, of a conformal model
    set_scores: dict[str, Tensor]  # likewise
    novelty: Novelty | None  # (N,), of a model that has reference rows
    seconds: float

    @classmethod
    def of(
        cls, model: PMCNetClassifier, x: Any, y: NDArray[Any], *, n_passes: int, seed: int
    ) -> Self:
        """Encode the rows once; all networks pass over them once, and the drawn ones once."""
        label = class_labels(model, y)
        start = time.monotonic()
        model = model.cached()
        rows = model.encoded(x)
        averaged = model.predictive(rows)
        seconds = time.monotonic() - start
        drawn = drawn_rows(len(label), n_passes * len(model.classes_), seed)
        few = rows if len(drawn) == len(label) else rows.at(drawn)
        draws = torch.as_tensor(model.predict_draws(few, n_passes, seed))
        sets, each = sets_of(model, rows, COVERAGE), set_scores(model, rows, label)
        novelty = model.novelty_of(rows, averaged)
        single = (torch.as_tensor(drawn), draws)
        return cls(model.classes_, label, averaged, *single, sets, each, novelty, seconds)

    def columns(self) -> dict[str, NDArray[Any]]:
        """What `predictions.csv` says of each row, by column name."""
        return class_columns(self.classes, self.averaged, self.sets, self.novelty)

    def scored(self) -> Scores:
        """Metrics and figures."""
        average = torch.as_tensor(self.averaged.probability)  # (N, C)
        bma = all_metrics(average, self.label) | self.set_scores
        own = self.label[self.drawn]  # (K,)
        known = average, self.draws, self.label, own
        classes = class_curves.class_reliability(average, self.label)
        figures: Record = {
            **drawn_entry(len(own), len(self.label)),
            "roc": class_curves.roc_curves(*known),
            "precision_recall": class_curves.precision_recall_curves(*known),
            "decision": class_curves.decision_curve(*known),
            "calibration": figure_data.reliability(average, self.label) | {"classes": classes},
            "confusion": metrics.confusion_matrix(self.draws, own).double().mean(0).tolist(),
            "histograms": [
                each | {"row": int(self.drawn[each["row"]])}
                for each in figure_data.row_histograms(self.draws, own, n_rows=N_HISTOGRAMS)
            ],
            "uncertain": self._uncertain(average),
        }
        return scored(bma, all_metrics(self.draws, own), figures, self.seconds)

    def _uncertain(self, average: Tensor) -> list[Record]:
        """The rows of the largest entropy."""
        names, best = [str(name) for name in self.classes], average.argmax(-1)
        return [
            {
                "row": int(n),
                "prediction": names[int(best[n])],
                "truth": names[int(self.label[n])],
                "probability": float(average[n].max()),
                "total": float(self.averaged.total[n]),
                "aleatoric": float(self.averaged.aleatoric[n]),
                "epistemic": float(self.averaged.epistemic[n]),
                **novelty_entry(self.novelty, n),
            }
            for n in np.argsort(-self.averaged.total, kind="stable")[:N_SHOWN]
        ]


def class_columns(
    classes: NDArray[Any],
    found: AveragedPrediction,
    sets: NDArray[Any] | None,
    novelty: Novelty | None,
) -> dict[str, NDArray[Any]]:
    """What a classification adds to each row of a table, by column name."""
    names = [f"probability_{name}" for name in classes]
    columns = {
        "prediction": classes[found.mean.argmax(1)],
        SET: sets,
        **dict(zip(names, found.mean.T, strict=True)),
        "epistemic": found.epistemic,
        "aleatoric": found.aleatoric,
        "monte_carlo_error": found.monte_carlo_error,
        **novelty_columns(novelty),
    }
    return known_columns(columns)


def class_metrics(probability: Tensor, label: Tensor) -> dict[str, Tensor]:
    """Metrics that any rows have: probability (..., N, C), label (N,) -> (...)."""
    return {
        "accuracy": metrics.accuracy(probability, label),
        "nll": metrics.nll(probability, label),
        "brier": metrics.brier(probability, label),
        "ece": metrics.ece(probability, label),
    }


def all_metrics(probability: Tensor, label: Tensor) -> dict[str, Tensor]:
    """Those of `class_metrics` and, where rows of enough classes are there, metrics of ranks."""
    n_classes, n_seen = probability.shape[-1], len(set(label.tolist()))
    ranks: dict[str, Tensor] = {}
    if n_classes == 2 and n_seen == 2:
        ranks = metrics.binary_metrics(probability, label, positive=1)
    elif n_classes > 2 and n_seen == n_classes:
        ranks = metrics.multiclass_metrics(probability, label)
    return class_metrics(probability, label) | ranks

"""Classes that are known, and how good probabilities of them are, by whatever method."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet import metrics
from pmcnet.competitors import RowPredictions
from pmcnet.estimators.evaluation import class_curves
from pmcnet.estimators.evaluation.class_predictions import all_metrics, class_metrics
from pmcnet.estimators.evaluation.figure_data import finite
from pmcnet.estimators.evaluation.scores import Record
from pmcnet.runs.number_truth import Measure, Values


class ClassTruth(NamedTuple):
    """The class of test rows, by its place (N,)."""

    label: Tensor

    def losses(self, found: RowPredictions) -> dict[str, Values]:
        """Of each row: -log p(class), and whether another class was the likeliest."""
        probability, label = _probability(found).numpy(), self.label.numpy()
        own = probability[np.arange(len(label)), label]
        with np.errstate(divide="ignore"):  # a class that was held impossible
            nll = -np.log(own)
        return {"nll": nll, "error": (probability.argmax(1) != label).astype(np.float64)}

    def measure(self, methods: Sequence[RowPredictions]) -> Measure:
        """Metrics of K methods, (K,), on any choice of the rows."""
        probability = torch.stack([_probability(found) for found in methods])  # (K, N, C)

        def of(rows: NDArray[np.int64]) -> Mapping[str, Values]:
            chosen = torch.as_tensor(rows)
            some, truth = probability[:, chosen], self.label[chosen]
            found = class_metrics(some, truth)
            if some.shape[-1] == 2 and 0 < int(truth.sum()) < len(truth):
                found["auc"] = metrics.auc(some, truth, positive=1)
            return {name: value.double().numpy() for name, value in found.items()}

        return of

    def metrics(self, found: RowPredictions) -> dict[str, float | None]:
        """As `metrics.json` has them, of one method."""
        each = all_metrics(_probability(found), self.label)
        return {name: finite(float(value)) for name, value in each.items()}

    def interval(self, found: RowPredictions) -> dict[str, float]:
        """None: classes have no intervals."""
        return {}

    def figures(self, found: RowPredictions) -> Record:
        """What the page draws of a method."""
        probability = _probability(found)
        counts = metrics.confusion_matrix(probability, self.label).double()
        drawn: Record = {"confusion": counts.tolist()}
        if probability.shape[-1] == 2:
            drawn["roc"] = class_curves.method_roc(probability, self.label)
        return drawn


def _probability(found: RowPredictions) -> Tensor:
    assert found.probability is not None
    return torch.as_tensor(found.probability)

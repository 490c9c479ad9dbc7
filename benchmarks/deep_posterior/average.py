"""The averaged prediction of many networks, added up draw by draw, so that none has to be kept."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from pmcnet import metrics


class Average(NamedTuple):
    """Sums over `n` networks on N rows: probabilities (N, C), entropies (N,), accuracies.

    The last rows may be outliers, which have no class and should be recognised.
    """

    probability: Tensor
    entropy: Tensor
    accuracy: Tensor
    n: Tensor

    @classmethod
    def empty(cls, n_rows: int, n_classes: int, device: torch.device) -> Self:
        """Of no network."""
        zeros = torch.zeros(n_rows, n_classes, dtype=torch.float64, device=device)
        return cls(zeros, zeros[:, 0].clone(), zeros.new_zeros(()), zeros.new_zeros(()))

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> Self:
        """As it was kept, among other tensors."""
        return cls(*(tensors[name] for name in cls._fields))

    def merged(self, other: "Average") -> "Average":
        """With the networks of another average on the same rows."""
        return Average(*(ours + theirs for ours, theirs in zip(self, other, strict=True)))

    def plus(self, draws: Tensor, label: Tensor) -> "Average":
        """With more networks: probabilities (P, N, C), the first rows of these classes."""
        draws = draws.double()
        right = (draws[:, : len(label)].argmax(-1) == label).double().mean(-1).sum()
        entropy = -torch.special.xlogy(draws, draws).sum(-1).sum(0)
        return self.merged(Average(draws.sum(0), entropy, right, self.n.new_tensor(len(draws))))

    @property
    def mean(self) -> Tensor:
        """The averaged probabilities (N, C)."""
        return self.probability / self.n

    @property
    def uncertainty(self) -> tuple[Tensor, Tensor]:
        """Entropy of the average, mutual information of class and network (N,), in nats."""
        total = -torch.special.xlogy(self.mean, self.mean).sum(-1)
        return total, total - self.entropy / self.n

    def scores(self, label: Tensor) -> dict[str, Any]:
        """Accuracy, NLL, Brier score and ECE of the average, and the mean accuracy of one network.

        With outliers also how well they are recognised, as the area under the ROC curve: by the
        entropy of the average, and by the mutual information.
        """
        average = self.mean[: len(label)]
        nll = float(metrics.nll(average, label))
        found: dict[str, Any] = {
            "accuracy": float(metrics.accuracy(average, label)),
            "nll": nll if math.isfinite(nll) else None,
            "brier": float(metrics.brier(average, label)),
            "ece": float(metrics.ece(average, label)),
            "single_accuracy": float(self.accuracy / self.n),
            "n_networks": int(self.n),
        }
        if len(self.mean) > len(label):
            outlier = (torch.arange(len(self.mean)) >= len(label)).numpy()
            names = ("auroc_entropy", "auroc_information")
            for name, value in zip(names, self.uncertainty, strict=True):
                found[name] = float(roc_auc_score(outlier, value.cpu().numpy()))
        return found


def scores_line(scores: Mapping[str, Any]) -> str:
    """Scores in a line."""
    nll = "infinite" if scores["nll"] is None else f"{scores['nll']:.4f}"
    return (
        f"accuracy {scores['accuracy']:.4f}, NLL {nll}, one network {scores['single_accuracy']:.4f}"
    )

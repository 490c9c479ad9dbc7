"""The averaged prediction of many networks, added up draw by draw, so that none needs to be kept."""

from collections.abc import Mapping
from typing import NamedTuple, Self

import torch
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet import metrics
from pmcnet.runs.figure_data import Record, finite


class Average(NamedTuple):
    """Sums over `n` networks on N rows: probabilities (N, C), entropies (N,), and the share of right answers.

    The last rows may be outliers, which have no class and are to be told from the others.
    """

    probability: Tensor
    entropy: Tensor
    n_right: Tensor
    n: Tensor

    @classmethod
    def nothing(cls, n_rows: int, n_classes: int, device: torch.device) -> Self:
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
        """Entropy of the average and mutual information between class and network (N,), in nats."""
        total = -torch.special.xlogy(self.mean, self.mean).sum(-1)
        return total, total - self.entropy / self.n

    def scores(self, label: Tensor) -> Record:
        """Accuracy, NLL, Brier score and ECE of the average; the mean accuracy of one network; how many there are.

        With outliers also how well they are told apart, as the area under the ROC curve: by the
        entropy of the average, and by the mutual information, what networks disagree about.
        """
        average = self.mean[: len(label)]
        found: Record = {
            "accuracy": float(metrics.accuracy(average, label)),
            "nll": finite(float(metrics.nll(average, label))),
            "brier": float(metrics.brier(average, label)),
            "ece": float(metrics.ece(average, label)),
            "single_accuracy": float(self.n_right / self.n),
            "n_networks": int(self.n),
        }
        if len(self.mean) > len(label):
            outlier = (torch.arange(len(self.mean)) >= len(label)).numpy()
            for name, value in zip(
                ("auroc_entropy", "auroc_information"), self.uncertainty, strict=True
            ):
                found[name] = float(roc_auc_score(outlier, value.cpu().numpy()))
        return found

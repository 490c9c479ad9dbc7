"""What the page shows of a posterior and of its test rows, as plain data."""

import math
from typing import Any

import torch
from torch import Tensor

from pmcnet import metrics
from pmcnet.ais.verdict import Verdict, evidence_note
from pmcnet.bnn import ParticlePosterior

Record = dict[str, Any]

GRID = torch.linspace(0, 1, 101, dtype=torch.float64)
BANDS = {"80": (0.10, 0.90), "95": (0.025, 0.975), "99": (0.005, 0.995)}
N_BINS = 10
LEVELS = tuple(round(0.05 * i, 2) for i in range(1, 20))


def finite(value: float) -> float | None:
    """The number, or None where it is infinite, as JSON has it."""
    return value if math.isfinite(value) else None


def verdict_record(verdict: Verdict) -> Record:
    """The status, the reason, and the limits by which it was judged."""
    limits = {name: finite(value) for name, value in verdict.limits.items()}
    return {"status": verdict.status, "reason": verdict.reason, "limits": limits}


def diagnostics(posterior: ParticlePosterior) -> Record:
    """ESS, k-hat, evidence, the error of predictions, and the verdict."""
    verdict, agreement = verdict_record(posterior.verdict), posterior.agreement
    known = {} if agreement is None else agreement._asdict()
    return {
        "n_draws": posterior.samples.n_draws,
        "ess": posterior.ess,
        "khat": finite(posterior.khat),
        "log_evidence": finite(posterior.log_evidence),
        "log_evidence_error": finite(posterior.log_evidence_error),
        "evidence": evidence_note(posterior.log_evidence_error),
        "n_islands": posterior.n_islands or None,
        "quantity": known.get("quantity"),
        "error": finite(known.get("median", math.inf)),
        "error_upper": finite(known.get("upper", math.inf)),
        "std_error": finite(known.get("std_error", math.inf)),
        "rhat": finite(known.get("rhat", math.inf)),
        "verdict": verdict["status"],
        "reason": verdict["reason"],
        "limits": verdict["limits"],
    }


def roc_bands(draws: Tensor, label: Tensor) -> list[Record]:
    """The mean ROC curve over draws (R, N, C) of each class against the others, with envelopes.

    The envelopes hold 80, 95 and 99 % of the draws. A class that no row or every row has is left
    out: it has no curve.
    """
    curves = []
    for positive in range(draws.shape[-1]):
        count = int((label == positive).sum())
        if not 0 < count < len(label):
            continue
        tpr = metrics.roc(draws, label, GRID.to(draws), positive=positive)  # (R, G)
        bands = {
            name: torch.quantile(tpr, torch.tensor(ends).to(tpr), dim=0).tolist()
            for name, ends in BANDS.items()
        }
        curves.append(
            {"class": positive, "grid": GRID.tolist(), "mean": tpr.mean(0).tolist(), "bands": bands}
        )
    return curves


def row_histograms(draws: Tensor, label: Tensor, *, n_rows: int = 4) -> list[Record]:
    """Probability of the true class over draws (R, N, C), of rows of growing uncertainty."""
    own = draws.gather(-1, label[None, :, None].expand(len(draws), -1, 1))[..., 0]  # (R, N)
    chosen = spread_rows(own.std(0) if len(own) > 1 else own[0], n_rows)
    return [{"row": n, "class": int(label[n]), "probability": own[:, n].tolist()} for n in chosen]


def spread_rows(uncertainty: Tensor, n_rows: int) -> list[int]:
    """Different rows from the surest to the least sure, evenly spaced by rank."""
    order = uncertainty.argsort()
    index = torch.linspace(0, len(order) - 1, min(n_rows, len(order))).long()
    rows: list[int] = order[index].tolist()
    return rows


def reliability(probability: Tensor, label: Tensor) -> Record:
    """Accuracy against confidence (N, C) in bins, each with a 95 % Wilson interval."""
    confidence, predicted = probability.max(-1)
    right = (predicted == label).double()
    index = (confidence * N_BINS).long().clamp(max=N_BINS - 1)
    bins = []
    for k in range(N_BINS):
        inside = index == k
        n = int(inside.sum())
        if n:
            accuracy = float(right[inside].mean())
            low, high = wilson(accuracy, n)
            bins.append(
                {
                    "confidence": float(confidence[inside].mean()),
                    "accuracy": accuracy,
                    "n": n,
                    "low": low,
                    "high": high,
                }
            )
    return {"bins": bins, "ece": float(metrics.ece(probability, label))}


def coverage_curve(rank: Tensor) -> Record:
    """Share of rows inside the central interval of each level.

    Args:
        rank: P(Y <= y) of each row's truth under its predictive distribution (N,).
    """
    share = [
        float(((rank >= (1 - level) / 2) & (rank <= (1 + level) / 2)).double().mean())
        for level in LEVELS
    ]
    ends = [wilson(value, len(rank)) for value in share]
    return {
        "levels": list(LEVELS),
        "coverage": share,
        "low": [low for low, _ in ends],
        "high": [high for _, high in ends],
    }


def wilson(share: float, n: int) -> tuple[float, float]:
    """95 % interval of a share of n (Wilson, 1927)."""
    z = 1.959963984540054
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)

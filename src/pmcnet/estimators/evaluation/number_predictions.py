"""Predicted numbers of rows whose truth is known, and what is read off them."""

import math
import time
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet import metrics
from pmcnet.estimators.evaluation import figure_data
from pmcnet.estimators.evaluation.calibrated_scores import interval_scores
from pmcnet.estimators.evaluation.drawn_rows import drawn_entry, drawn_rows
from pmcnet.estimators.evaluation.known_columns import (
    COVERAGE,
    known_columns,
    novelty_columns,
    novelty_entry,
)
from pmcnet.estimators.evaluation.quantile_fan import QuantileFan
from pmcnet.estimators.evaluation.scores import (
    N_HISTOGRAMS,
    N_SHOWN,
    OBSERVED,
    Record,
    Scores,
    scored,
)
from pmcnet.estimators.evaluation.second_column import NO_COLUMN, SecondColumn
from pmcnet.estimators.novelty import Novelty
from pmcnet.estimators.predictions import Array, AveragedPrediction
from pmcnet.estimators.regressor import PMCNetRegressor

N_SCATTER = 1000
N_SAMPLES = 200  # draws of y behind CRPS and histograms


class NumberColumns(NamedTuple):
    """What a regression adds to each row of a table; each is (N,)."""

    prediction: Array
    std: Array
    lower: Array
    upper: Array
    epistemic: Array
    aleatoric: Array
    monte_carlo_error: Array | None
    novelty: Array | None
    is_novel: NDArray[np.int64] | None


class NumberPredictions(NamedTuple):
    """The averaged prediction of N rows, intervals, single draws, and the truth.

    The truth of a censored row is the time until which its event had not come. What compares it
    with a prediction is about the rows whose event was observed; the log-density is about all.

    `averaged` and `tabulated` are the same moments, summed in two orders: metrics and page have
    always shown the first, tables the second.
    """

    truth: Array  # (N,)
    observed: NDArray[np.bool_]  # (N,) whether it is that, and not a bound of it
    averaged: AveragedPrediction
    tabulated: AveragedPrediction
    interval: Array  # (N, 2)
    log_density: Array  # (N,) of the truth
    drawn: NDArray[np.int64]  # (K,) the rows of draws and samples: all, or some of very many
    draws: Array  # (R, K)
    samples: Array  # (K, S) of y itself
    fan: QuantileFan  # of rows that are observed
    interval_scores: dict[str, Tensor]  # of a conformal model
    novelty: Novelty | None  # (N,), of a model that has reference rows
    seconds: float

    @classmethod
    def of(
        cls,
        model: PMCNetRegressor,
        x: Any,
        y: NDArray[Any],
        second: SecondColumn = NO_COLUMN,
        *,
        n_passes: int,
        seed: int,
    ) -> Self:
        """Encode the rows once; all networks pass over them once, and the drawn ones once."""
        truth = np.asarray(y, dtype=np.float64)
        observed = second.observed(len(truth))
        start = time.monotonic()
        model = model.cached()
        rows = model.encoded(x, **second.arguments)
        averaged = model.predictive(rows)
        tabulated, interval = model.predictive_interval(rows, COVERAGE)
        seconds = time.monotonic() - start
        # before the draws, which pass alone
        log_density = model.log_predictive(rows, second.response(truth))
        fan = QuantileFan.of(model, rows, averaged.mean[:, 0], observed)
        drawn = drawn_rows(len(truth), max(n_passes, N_SAMPLES), seed)
        few = rows if len(drawn) == len(truth) else rows.at(drawn)
        draws = model.predict_draws(few, n_passes, seed)
        samples = model.sample_y(few, N_SAMPLES, seed)
        each = interval_scores(model, rows, truth)
        novelty = model.novelty_of(rows, tabulated)
        found = (averaged, tabulated, interval, log_density)
        single = (drawn, draws, samples)
        return cls(truth, observed, *found, *single, fan, each, novelty, seconds)

    def columns(self) -> dict[str, NDArray[Any]]:
        """What `predictions.csv` says of each row, by column name."""
        return number_columns(self.tabulated, self.interval, self.novelty)

    def scored(self) -> Scores:
        """Metrics and figures."""
        if not self.observed.all():
            return self._scored_times()
        target, mean = torch.as_tensor(self.truth), torch.as_tensor(self.averaged.mean[:, 0])
        samples = torch.as_tensor(self.samples).mT.contiguous()  # (S, K)
        own = target[self.drawn]  # (K,)
        each = metrics.regression_metrics(torch.as_tensor(self.draws), own)
        each["r2"] = 1 - each["mse"] / _spread(own)
        bma = metrics.regression_metrics(mean, target)
        bma["r2"] = 1 - bma["mse"] / _spread(target)
        bma["mae"] = (mean - target).abs().mean()
        bma["nll"] = torch.tensor(-float(np.mean(self.log_density)))
        bma["crps"] = metrics.crps(samples, own)
        bma["coverage90"] = metrics.coverage(torch.as_tensor(self.interval).mT, target)
        bma |= self.interval_scores  # where intervals are calibrated, with that of the plain ones
        calibration = figure_data.coverage_curve((samples <= own).double().mean(0))
        return scored(bma, each, {"calibration": calibration} | self._figures(), self.seconds)

    def _scored_times(self) -> Scores:
        """Where rows are censored: errors of observed events alone.

        These are shorter than times are, so they say nothing of calibration.
        """
        bma, each = {"nll": torch.tensor(-float(np.mean(self.log_density)))}, {}
        if self.observed.any():
            target = torch.as_tensor(self.truth[self.observed])
            mean = torch.as_tensor(self.averaged.mean[self.observed, 0])
            found = metrics.regression_metrics(mean, target)
            found["mae"] = (mean - target).abs().mean()
            bma |= {f"{name}{OBSERVED}": value for name, value in found.items()}
            own = self.observed[self.drawn]  # (K,)
            target = torch.as_tensor(self.truth[self.drawn[own]])
            found = metrics.regression_metrics(torch.as_tensor(self.draws[:, own]), target)
            each = {f"{name}{OBSERVED}": value for name, value in found.items()}
        return scored(bma, each, self._figures(), self.seconds)

    def _figures(self) -> Record:
        """Rows and their intervals; of censored ones the most uncertain alone."""
        std, rows = np.sqrt(self.averaged.total), np.flatnonzero(self.observed)
        own = np.flatnonzero(self.observed[self.drawn])
        shown = figure_data.spread_rows(torch.as_tensor(std[self.drawn[own]]), N_HISTOGRAMS)
        spread = np.linspace(0, len(rows) - 1, min(N_SCATTER, len(rows))).astype(np.int64)
        note = {} if self.observed.all() else {"scatter_note": "Censored rows are left out."}
        return note | {
            **drawn_entry(len(self.drawn), len(self.truth)),
            "scatter": [
                {
                    "row": n,
                    "y": float(self.truth[n]),
                    "mean": float(self.averaged.mean[n, 0]),
                    **self._ends(n),
                }
                for n in rows[spread].tolist()
            ],
            "scatter_coverage": COVERAGE,
            "fan": self.fan.record(self.truth, self.averaged.mean[:, 0]),
            "histograms": [
                {"row": n, "y": float(self.truth[n]), "draws": self.samples[k].tolist()}
                for k, n in zip(own[shown], self.drawn[own[shown]].tolist(), strict=True)
            ],
            "uncertain": self._uncertain(std),
        }

    def _uncertain(self, std: Array) -> list[Record]:
        """The rows of the largest standard deviation."""
        return [
            {
                "row": int(n),
                "prediction": float(self.averaged.mean[n, 0]),
                "truth": float(self.truth[n]) if self.observed[n] else f"> {self.truth[n]:.4g}",
                "std": float(std[n]),
                **self._ends(n),
                "aleatoric": float(np.sqrt(self.averaged.aleatoric[n])),
                "epistemic": float(np.sqrt(self.averaged.epistemic[n])),
                **novelty_entry(self.novelty, n),
            }
            for n in np.argsort(-std, kind="stable")[:N_SHOWN]
        ]

    def _ends(self, n: int) -> dict[str, float]:
        return {"low": float(self.interval[n, 0]), "high": float(self.interval[n, 1])}


def _spread(target: Tensor) -> float:
    """Variance of the truth; not-a-number where it is one value."""
    return float(((target - target.mean()) ** 2).mean()) or math.nan


def number_columns(
    found: AveragedPrediction, interval: Array, novelty: Novelty | None
) -> dict[str, NDArray[Any]]:
    """What a regression adds to each row of a table, by column name."""
    columns = NumberColumns(
        prediction=found.mean[:, 0],
        std=np.sqrt(found.total),
        lower=interval[:, 0],
        upper=interval[:, 1],
        epistemic=found.epistemic,
        aleatoric=found.aleatoric,
        monte_carlo_error=found.monte_carlo_error,
        **novelty_columns(novelty),
    )
    return known_columns(columns._asdict())

"""Metrics as pure tensor functions, one value for each leading batch dimension (draw).

values = metrics.binary_metrics(probability, label)  # (R, N, 2), (N,) -> name: (R,)
table = metrics.summarise_all(values)                # name: mean, std, interval95
"""

from pmcnet.metrics.classification import (
    accuracy,
    brier,
    confusion_matrix,
    ece,
    f1,
    macro_f1,
    nll,
    precision,
    recall,
    specificity,
)
from pmcnet.metrics.ranking import auc, auc_weighted, roc
from pmcnet.metrics.regression import (
    coverage,
    crps,
    interval,
    log_predictive_density,
    mse,
    quantiles,
    rmse,
)
from pmcnet.metrics.summary import (
    Summary,
    binary_metrics,
    multiclass_metrics,
    regression_metrics,
    summarise,
    summarise_all,
)

__all__ = [
    "Summary",
    "accuracy",
    "auc",
    "auc_weighted",
    "binary_metrics",
    "brier",
    "confusion_matrix",
    "coverage",
    "crps",
    "ece",
    "f1",
    "interval",
    "log_predictive_density",
    "macro_f1",
    "mse",
    "multiclass_metrics",
    "nll",
    "precision",
    "quantiles",
    "recall",
    "regression_metrics",
    "rmse",
    "roc",
    "specificity",
    "summarise",
    "summarise_all",
]

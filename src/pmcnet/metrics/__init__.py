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
from pmcnet.metrics.thresholds import (
    Corners,
    average_precision,
    net_benefit,
    positives_at,
    precision_recall,
    roc_corners,
)

__all__ = [
    "Corners",
    "Summary",
    "accuracy",
    "auc",
    "auc_weighted",
    "average_precision",
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
    "net_benefit",
    "nll",
    "positives_at",
    "precision",
    "precision_recall",
    "quantiles",
    "recall",
    "regression_metrics",
    "rmse",
    "roc",
    "roc_corners",
    "specificity",
    "summarise",
    "summarise_all",
]

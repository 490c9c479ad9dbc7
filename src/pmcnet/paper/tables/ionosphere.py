"""Ionosphere, 33-5-1; no best validation epoch lay beyond the 200th."""

from pmcnet.paper.published import BINARY, Published, points
from pmcnet.paper.shallow_table import ShallowSettings, experiment

PUBLISHED = Published(
    {
        "adam-mle": points(BINARY, 0.9796, 0.8077, 0.9545, 0.8980, 0.9155, 0.8750),
        "adam-map": points(BINARY, 0.9814, 0.8333, 0.9091, 0.9184, 0.9155, 0.8696),
        "bbp": points(BINARY, 0.9137, 0.8333, 0.9091, 0.9184, 0.9155, 0.8696),
        "sgld": {
            "auc": (0.8824, 0.0110),
            "precision": (0.6959, 0.0132),
            "recall": (0.8100, 0.0175),
            "specificity": (0.8410, 0.0083),
            "accuracy": (0.8314, 0.0088),
            "f1": (0.7486, 0.0134),
        },
        "mc-dropout": {
            "auc": (0.9159, 0.0186),
            "precision": (0.8678, 0.0349),
            "recall": (0.7736, 0.0514),
            "specificity": (0.9465, 0.0160),
            "accuracy": (0.8930, 0.0177),
            "f1": (0.8169, 0.0335),
        },
        "sae": {
            "auc": (0.9064, 0.0036),
            "precision": (0.8268, 0.0272),
            "recall": (0.8609, 0.0108),
            "specificity": (0.9186, 0.0151),
            "accuracy": (0.9007, 0.0120),
            "f1": (0.8433, 0.0170),
        },
        "pmcnet": {
            "auc": (0.9642, 0.0146),
            "precision": (0.8543, 0.0684),
            "recall": (0.9145, 0.0216),
            "specificity": (0.9269, 0.0391),
            "accuracy": (0.9231, 0.0283),
            "f1": (0.8819, 0.0393),
        },
    },
    seconds={
        "adam-mle": (108, 1),
        "adam-map": (152, 1),
        "bbp": (195, 1),
        "sgld": (17, 43),
        "mc-dropout": (10, 89),
        "sae": (392, 112),
        "pmcnet": (450, 239),
    },
    prior_variance=6.46,
)

EXPERIMENT = experiment(
    "ionosphere", "Ionosphere, 33-5-1", PUBLISHED, ShallowSettings(n_epochs=200)
)

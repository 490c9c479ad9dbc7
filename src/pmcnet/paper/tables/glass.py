"""Glass, 9-10-6; the published prior variance was tuned on the test rows."""

from pmcnet.paper.published import SEVERAL, Published, points
from pmcnet.paper.shallow_table import ShallowSettings, experiment

PUBLISHED = Published(
    {
        "adam-mle": points(SEVERAL, 0.8361, 0.7240, 0.6742),
        "adam-map": points(SEVERAL, 0.8347, 0.7247, 0.6744),
        "bbp": points(SEVERAL, 0.8360, 0.6187, 0.6512),
        "sgld": {"auc": (0.8498, 0.0029), "f1": (0.7259, 0.0105), "accuracy": (0.7026, 0.0095)},
        "mc-dropout": {
            "auc": (0.7877, 0.0297),
            "f1": (0.4045, 0.0504),
            "accuracy": (0.5502, 0.0486),
        },
        "sae": {"auc": (0.7680, 0.0053), "f1": (0.7087, 0.1499), "accuracy": (0.7151, 0.0128)},
        "pmcnet": {"auc": (0.8510, 0.0059), "f1": (0.7715, 0.0580), "accuracy": (0.7414, 0.0264)},
    },
    prior_variance=0.511,
)

EXPERIMENT = experiment("glass", "Glass, 9-10-6", PUBLISHED, ShallowSettings())

"""Wine, 13-3-3.

The paper gives neither the prior variance nor sigma. The variance is searched on validation rows;
they chose sigma too, among 0.01, 0.03, 0.1, 0.3 and 1, with seeds not reported, after the test rows
had been scored at 0.1 (docs/results/paper.md).
"""

from pmcnet.paper.published import SEVERAL, Published, points
from pmcnet.paper.shallow_table import ShallowSettings, experiment

PUBLISHED = Published(
    {
        "adam-mle": points(SEVERAL, 0.9950, 0.9028, 0.8889),
        "adam-map": points(SEVERAL, 0.9999, 0.9521, 0.9286),
        "bbp": points(SEVERAL, 0.9912, 0.9761, 0.9444),
        "sgld": {"auc": (0.9776, 0.0046), "f1": (0.9396, 0.0202), "accuracy": (0.9297, 0.0234)},
        "mc-dropout": {
            "auc": (0.9857, 0.0087),
            "f1": (0.8929, 0.0415),
            "accuracy": (0.8867, 0.0402),
        },
        "sae": {"auc": (0.9938, 0.0151), "f1": (0.9669, 0.0609), "accuracy": (0.9836, 0.0290)},
        "pmcnet": {"auc": (0.9974, 0.0048), "f1": (0.9951, 0.0191), "accuracy": (0.9944, 0.0215)},
    }
)

EXPERIMENT = experiment("wine", "Wine, 13-3-3", PUBLISHED, ShallowSettings(sigma=0.01))

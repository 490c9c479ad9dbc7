"""Protein, 9-100-100-1."""

from pmcnet.paper.deep_table import experiment
from pmcnet.paper.published import Published
from pmcnet.paper.regression_problem import REGRESSION, RegressionProblem

PUBLISHED = Published(
    {
        "adam-mle": {"mse": (17.8257, 0.0)},
        "adam-map": {"mse": (18.6500, 0.0)},
        "bbp": {"mse": (15.9396, 0.0)},
        "sgld": {"mse": (17.4039, 0.2598)},
        "mc-dropout": {"mse": (17.3996, 0.1430)},
        "sae": {"mse": (20.2291, 0.0297)},
        "pmcnet-light": {"mse": (15.2049, 0.0496)},
    }
)
PROBLEM = RegressionProblem("protein", (9, 100, 100, 1))

EXPERIMENT = experiment("protein", "Protein, 9-100-100-1", PROBLEM, PUBLISHED, REGRESSION)

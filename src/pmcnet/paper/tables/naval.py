"""Naval, 14-100-100-1."""

from pmcnet.paper.deep_table import experiment
from pmcnet.paper.published import Published
from pmcnet.paper.regression_problem import REGRESSION, RegressionProblem

PUBLISHED = Published(
    {
        "adam-mle": {"mse": (2.5171e-5, 0.0)},
        "adam-map": {"mse": (4.6193e-5, 0.0)},
        "bbp": {"mse": (3.1628e-4, 0.0)},
        "sgld": {"mse": (1.6533e-3, 2e-4)},
        "mc-dropout": {"mse": (1.6158e-4, 1.2333e-5)},
        "sae": {"mse": (5.5056e-3, 0.0242)},
        "pmcnet-light": {"mse": (9.9032e-6, 2.8271e-6)},
    }
)
PROBLEM = RegressionProblem("naval", (14, 100, 100, 1))

EXPERIMENT = experiment("naval", "Naval, 14-100-100-1", PROBLEM, PUBLISHED, REGRESSION)

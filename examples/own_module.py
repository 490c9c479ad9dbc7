"""
An own nn.Module
================

Any module is a network: its parameters become one vector, and populations of it are evaluated at
once. Here two inputs enter by their difference alone, which the module states and the posterior
respects.
"""

import numpy as np
import torch
from torch import nn

from pmcnet import PMCNetRegressor, ais, bnn


class Difference(nn.Module):
    """A function of the difference of two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From (N, 2) to (N, 1)."""
        return self.layers(x[:, :1] - x[:, 1:])


rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (60, 2)).astype(np.float32)
y = np.sin(2 * (x[:, 0] - x[:, 1])) + 0.1 * rng.normal(size=60)

# %%
# With the estimators: ``module=``, and whether inputs are scaled is said by ``feature_scaling``.
# Modules are evaluated by torch and not by the compiled pass, so they are slower than perceptrons.

model = PMCNetRegressor(
    module=Difference(),
    feature_scaling="none",
    likelihood="gaussian",
    noise="learn",
    prior_std=1.0,
    method_options={"n_islands": 4, "n_particles": 8, "max_leapfrog": 32},
    random_state=0,
).fit(x[:50], y[:50])
print(model.verdict_)
print("R squared of ten new rows:", round(model.score(x[50:], y[50:]), 3))
shifted = x[50:] + np.float32(0.3)  # both inputs alike: the module cannot see it
print(
    "changes with the difference alone:", np.allclose(model.predict(x[50:]), model.predict(shifted))
)

# %%
# With the library underneath: a network, a likelihood, rows and a prior make a target, and any
# sampler takes it.

target = bnn.BayesianTarget(
    bnn.ModuleNetwork(Difference()),
    bnn.Gaussian(0.1),
    torch.as_tensor(x[:50]),
    torch.as_tensor(y[:50]),
    prior=bnn.GaussianPrior(1.0),
)
print("parameters:", target.dim)
result = ais.AnnealedPMC(n_particles=64, ess_fraction=0.5, n_moves=1, max_leapfrog=32).run(
    target, seed=0
)
print(f"log Z {result.log_evidence:.1f} +- {result.log_evidence_error:.1f}")
print(result.verdict)

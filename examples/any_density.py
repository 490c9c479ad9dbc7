"""
Any log-density
===============

The samplers know no network. A target is a function of a batch of points; here it is a banana in
three dimensions, whose evidence is known.
"""

import torch

from pmcnet import ais


def log_density(theta: torch.Tensor) -> torch.Tensor:
    """A twisted Gaussian: (n, 3) to (n,)."""
    first, second, third = theta.T
    return -0.5 * (first.square() / 4 + (second - 0.5 * first.square()).square() + third.square())


TRUTH = 1.5 * torch.log(torch.tensor(2 * torch.pi)) + torch.log(torch.tensor(2.0))
target = ais.FunctionTarget(log_density, dim=3)

# %%
# **The paper's algorithm.** Proposals are Gaussians that move by Langevin steps. Draws are weighted
# by the mixture of all proposals. In three dimensions this works.

loc = 2 * torch.randn(30, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
result = ais.run(ais.pmcnet, target, ais.pmcnet.init(loc, sigma=1.0, seed=0), n_steps=20)
print(f"log Z {result.log_evidence:.3f} +- {result.log_evidence_error:.3f}, truth {TRUTH:.3f}")
print(f"effective draws {result.ess:.0f} of {result.samples.n_draws}")
print(result.verdict)

# %%
# **Islands.** A bare density needs a start that covers it: ``Bridge`` anneals from a mixture of
# Gaussians to the target. Islands are compared by the means of the coordinates.

wide = ais.Proposals(loc, ais.Diagonal.isotropic(3.0, loc))
islands = ais.Islands(
    n_islands=8, annealing=ais.AnnealedPMC(n_particles=64, n_islands=8, ess_fraction=0.5, n_moves=1)
).run(ais.Bridge(target, wide), seed=0)
print(f"log Z {islands.log_evidence:.3f} +- {islands.log_evidence_error:.3f}, truth {TRUTH:.3f}")
print(islands.verdict)

# %%
# Draws have equal weights and can be used as they are.

draws = islands.samples.resample(1000, seed=0)
print("mean:", draws.mean(0).numpy().round(2), " truth: [0. 2. 0.]")

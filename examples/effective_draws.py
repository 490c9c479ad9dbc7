"""
Effective draws and dimension
=============================

Importance weights fall on fewer and fewer draws as the number of dimensions grows, even for the
easiest target. A small network has a hundred dimensions. Annealing makes many small comparisons
instead.
"""

import matplotlib.pyplot as plt
import torch

from pmcnet import ais

DIMENSIONS = (2, 5, 10, 20, 40)


def gaussian(dim: int) -> ais.analytic.Analytic:
    """A standard Gaussian, log Z = 0."""
    return ais.analytic.gaussian(torch.zeros(dim).double(), torch.eye(dim).double())


# %%
# PMCnet starts near the mode, with the right scale. Each step replaces half of each covariance by
# one that is estimated from 100 draws, so what was right at the start is soon wrong.

effective, evidence = [], []
for dim in DIMENSIONS:
    source = torch.Generator().manual_seed(0)
    loc = 0.5 * torch.randn(50, dim, generator=source, dtype=torch.float64)
    state = ais.pmcnet.init(loc, sigma=1.0, seed=0)
    result = ais.run(ais.pmcnet, gaussian(dim).target, state, n_steps=10)
    effective.append(result.ess)
    evidence.append(result.log_evidence)
    print(
        f"D = {dim:3}: ESS {result.ess:7.1f} of 5000, log Z {result.log_evidence:+.2f},"
        f" {result.verdict.status}"
    )

# %%
# The same targets by annealed islands, 8 of 32 particles, from a start that is twice as wide.

islands = []
for dim in DIMENSIONS:
    centre = torch.zeros(1, dim, dtype=torch.float64)
    path = ais.Bridge(
        gaussian(dim).target, ais.Proposals(centre, ais.Diagonal.isotropic(2.0, centre))
    )
    batch = ais.AnnealedPMC(n_particles=32, n_islands=8, ess_fraction=0.5, n_moves=1)
    found = ais.Islands(n_islands=8, annealing=batch).run(path, seed=0)
    islands.append(found.log_evidence)
    print(
        f"D = {dim:3}: log Z {found.log_evidence:+.2f} +- {found.log_evidence_error:.2f},"
        f" {found.verdict.status}"
    )

# %%
# Left, the effective draws of PMCnet. Right, how far log Z is off.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(DIMENSIONS, effective, "o-", color="#c2410c")
left.set(title="Effective draws of PMCnet by dimension")
left.set(xscale="log", yscale="log", xlabel="dimensions", ylabel="effective draws of 5000")
right.axhline(0, color="#a3a3a3", linewidth=0.8)
right.plot(DIMENSIONS, evidence, "o-", color="#c2410c", label="PMCnet")
right.plot(DIMENSIONS, islands, "s-", color="#262626", label="islands")
right.set(title="Error of log Z by dimension")
right.set(xscale="log", xlabel="dimensions", ylabel="error of log Z (nats)")
right.legend(frameon=False)

"""
PMCnet and its variants on five modes
=====================================

Five Gaussians in the plane, none of them where the proposals start. The six algorithms of the paper
are one class with different parts.
"""

import matplotlib.pyplot as plt
import torch

from pmcnet import ais

known = ais.analytic.five_modes()
start = 8 * torch.rand(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 4
variants = {
    "pmcnet": ais.pmcnet,
    "pmcnet_light": ais.pmcnet_light,
    "gradfree": ais.gradfree,
    "covfree": ais.covfree,
    "dm_pmc": ais.dm_pmc,
    "sl_pmc": ais.sl_pmc,
}
results = {
    name: ais.run(each, known.target, each.init(start, sigma=5.0, seed=0), n_steps=15)
    for name, each in variants.items()
}

# %%
# The truth is known: log Z = 0, and a mean of (1.6, 1.4).

print(f"{'':14}{'log Z':>16}{'ESS':>8}{'mean':>20}  verdict")
for name, result in results.items():
    evidence = f"{result.log_evidence:+.3f} +- {result.log_evidence_error:.3f}"
    mean = " ".join(f"{value:+.2f}" for value in result.samples.mean())
    print(f"{name:14}{evidence:>16}{result.ess:8.0f}{mean:>20}  {result.verdict.status}")
print("truth", round(known.log_evidence, 3), known.mean.numpy())

# %%
# Where draws are. Contours are of the target, circles are the final means of the proposals.

x, y = torch.meshgrid(torch.linspace(-20, 20, 200), torch.linspace(-20, 22, 200), indexing="xy")
log_density = known.target.log_density(torch.stack([x, y], -1).reshape(-1, 2).double())
levels = log_density.max() - torch.tensor([12.0, 8.0, 5.0, 3.0, 1.5, 0.5])
figure, panels = plt.subplots(2, 3, figsize=(10, 7), sharex=True, sharey=True, layout="constrained")
for axes, (name, result) in zip(panels.flat, results.items(), strict=True):
    axes.contour(
        x,
        y,
        log_density.reshape(x.shape),
        levels=levels.tolist(),
        colors="#a3a3a3",
        linewidths=0.7,
        linestyles="solid",
    )
    axes.scatter(*result.samples.resample(600, seed=0).T, s=3, color="#c2410c", alpha=0.5)
    axes.scatter(*result.state.proposals.loc.T, s=14, facecolors="none", edgecolors="#262626")
    axes.set(title=name, aspect="equal")

# %%
# Effective draws by step.

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, result in results.items():
    axes.plot(
        [info.step for info in result.history], [info.ess for info in result.history], label=name
    )
axes.set(title="Effective draws of the six algorithms by step")
axes.set(xlabel="step", ylabel="effective draws of 5000")
axes.legend(frameon=False, ncols=2)

# %%
# In the plane all of this works. In more dimensions it does not:
# :doc:`effective draws and dimension </tutorials/effective_draws>`.

"""PMCnet on five Gaussians in the plane: the evidence, the effective draws, and a picture.

python examples/mixture.py [--steps 20] [--out out/mixture.png]
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch

from pmcnet import ais

INK, ACCENT = "#222222", "#c2410c"


def picture(
    result: ais.Result, known: ais.analytic.Analytic, start: torch.Tensor, path: Path
) -> None:
    """The target, the proposals and equally weighted draws; beside them ESS and evidence."""
    figure, (plane, effective, evidence) = plt.subplots(
        1, 3, figsize=(13, 5), width_ratios=[1.5, 1, 1], layout="constrained"
    )
    x, y = torch.meshgrid(torch.linspace(-20, 20, 300), torch.linspace(-20, 22, 300), indexing="xy")
    log_density = known.target.log_density(torch.stack([x, y], -1).reshape(-1, 2).double()).reshape(
        x.shape
    )
    levels = log_density.max() - torch.tensor([12.0, 8.0, 5.0, 3.0, 1.5, 0.5])
    plane.contour(
        x,
        y,
        log_density,
        levels=levels.tolist(),
        colors="#94a3b8",
        linewidths=0.8,
        linestyles="solid",
    )
    draws = result.samples.resample(1000, seed=0)
    plane.scatter(
        *draws.T, s=4, color=ACCENT, alpha=0.5, label="1000 resampled draws", linewidths=0
    )
    plane.scatter(*start.T, s=14, color=INK, marker="x", linewidths=0.8, label="starting means")
    plane.scatter(
        *result.state.proposals.loc.T, s=16, facecolors="none", edgecolors=INK, label="final means"
    )
    plane.set(title="Five modes, none of them inside the start", aspect="equal")
    plane.set(xlabel="$\\theta_1$", ylabel="$\\theta_2$")
    plane.legend(loc="lower left", frameon=False, fontsize=8)

    steps = [record.step for record in result.history]
    effective.plot(steps, [record.ess for record in result.history], color=ACCENT)
    effective.set(title="Effective draws per step", xlabel="step", ylim=(0, None))
    evidence.plot(
        steps,
        [record.last.log_evidence for record in result.history],
        color=ACCENT,
        label="each step",
    )
    evidence.plot(
        steps,
        [record.pooled.log_evidence for record in result.history],
        color=INK,
        label="all steps so far",
    )
    evidence.axhline(known.log_evidence, color="#94a3b8", linestyle="--", label="truth")
    evidence.set(title="Log evidence", xlabel="step")
    evidence.legend(frameon=False, fontsize=8)
    for axes in (plane, effective, evidence):
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Run, report, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("out/mixture.png"))
    options = parser.parse_args()

    known = ais.analytic.five_modes()
    start = (
        8 * torch.rand(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 4
    )
    state = ais.pmcnet.init(start, sigma=5.0, seed=0)
    result = ais.run(ais.pmcnet, known.target, state, n_steps=options.steps)

    evidence, error, mean = result.log_evidence, result.log_evidence_error, result.samples.mean()
    print(
        f"PMCnet on five Gaussians in the plane: 50 proposals x 100 draws x {options.steps} steps; "
        "at the last step"
    )
    print(f"log evidence      {evidence:+.4f} +- {error:.4f}   (truth {known.log_evidence:+.4f})")
    print(f"mean              {mean.numpy().round(3)}   (truth {known.mean.numpy()})")
    print(f"effective draws   {result.ess:.0f} of {result.samples.n_draws}")
    print(f"verdict           {result.verdict}")
    picture(result, known, start, options.out)
    print(f"picture           {options.out.resolve()}")


if __name__ == "__main__":
    main()

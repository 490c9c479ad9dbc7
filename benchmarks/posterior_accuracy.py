"""How close to long NUTS runs are the annealed posteriors of the small problems?

1000 and 4000 particles, default settings, several seeds. The reference is that of `nuts.py`; the TV
between its own halves is in brackets.

    python benchmarks/posterior_accuracy.py --device cuda --json accuracy.json
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from pmcnet import ais
from pmcnet.bnn import AnnealedPosterior
from pmcnet.paper.problem import control_problem, paper_problem

REFERENCE = Path(__file__).parents[1] / "tests" / "statistical" / "nuts_reference.json"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--names", default="ionosphere,glass,wine,control")
    parser.add_argument("--particles", default="1000,4000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device, stored = torch.device(options.device), json.loads(REFERENCE.read_text())
    rows = []
    for name in options.names.split(","):
        reference = stored["problems"][name]
        control = stored["control"]
        problem = (
            control_problem(control["n_train"], control["seed"], device)[0]
            if name == "control"
            else paper_problem(name, device)
        )
        target, expected = (
            problem.target(reference["prior_variance"]),
            np.array(reference["probability"]),
        )
        for n_particles in map(int, options.particles.split(",")):
            for seed in range(options.seeds):
                result = ais.AnnealedPMC(n_particles=n_particles).run(target, seed=seed)
                mean = (
                    AnnealedPosterior.of(target, result).predict(problem.test[0]).mean.cpu().numpy()
                )
                log_pi = float(result.samples.weight @ result.state.points.log_density(1.0))
                row = {
                    "name": name,
                    "n_particles": n_particles,
                    "seed": seed,
                    "tv": float(0.5 * np.abs(mean - expected).sum(-1).mean()),
                    "agreement": float((mean.argmax(-1) == expected.argmax(-1)).mean()),
                    "mean_log_pi": log_pi,
                    "nuts_mean_log_pi": reference["mean_log_pi"],
                    "log_evidence": result.log_evidence,
                    "log_evidence_error": result.log_evidence_error,
                    "n_ancestors": result.history[-1].n_ancestors,
                    "verdict": result.verdict.status,
                    "n_tempering_steps": len(result.history),
                    "n_gradients": result.n_gradients,
                    "seconds": result.history[-1].seconds,
                }
                rows.append(row)
                print(
                    f"{name} ({reference['halves_tv']:.4f}), P = {n_particles}, seed {seed}: TV "
                    f"{row['tv']:.4f}, "
                    f"agreement {row['agreement']:.3f}, log pi {log_pi:.2f} (NUTS "
                    f"{reference['mean_log_pi']:.2f}), "
                    f"log Z {row['log_evidence']:.2f} +- {row['log_evidence_error']:.2f}, "
                    f"{row['verdict']}, "
                    f"{row['n_gradients']} batches, {row['seconds']:.1f} s",
                    flush=True,
                )
    if options.json:
        settings = {
            "device": device.type,
            "sampler": {k: str(v) for k, v in asdict(ais.AnnealedPMC()).items()},
        }
        options.json.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""What do eight islands of 50 units predict on UCI regression, and what error do they state?

The first of Hernandez-Lobato's splits; inputs and target standardised by the training rows; tanh,
prior N(0, (3 / sqrt(fan-in))^2), the noise scale a parameter. A run of 64 particles alone, annealed
in the same way, says what islands cost on a device that they do not fill.

    python benchmarks/uci_islands.py --data DIR --device cuda --json uci_islands.json
"""

import argparse
import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pmcnet import ais
from pmcnet.bnn import BayesianTarget, IslandPosterior
from uci_regression import split_of

NAMES = "concrete,energy,wine-quality-red,kin8nm"


def annealed_seconds(target: BayesianTarget, sampler: ais.AnnealedPMC, seed: int) -> float:
    """Of annealing alone."""
    start = time.perf_counter()
    sampler.run(target, seed=seed)
    return time.perf_counter() - start


def costs(name: str, data: Path, device: str, annealing: ais.AnnealedPMC) -> dict[str, float]:
    """Seconds of annealing one population and all islands of a batch."""
    target, _, _ = split_of(np.load(data / f"{name}.npz"), 0, torch.device(device))
    one = annealed_seconds(target, replace(annealing, n_islands=1), seed=0)
    many = annealed_seconds(target, annealing, seed=0)
    return {"annealing_seconds_of_64": one, "annealing_seconds_of_islands": many}


def measured(name: str, data: Path, device: str, sampler: ais.Islands, seed: int) -> dict[str, Any]:
    """One table."""
    target, (x, y), y_spread = split_of(np.load(data / f"{name}.npz"), 0, torch.device(device))
    start = time.perf_counter()
    result = sampler.run(target, seed=seed)
    seconds = time.perf_counter() - start
    posterior = IslandPosterior.of(target, result)
    found = posterior.predict(x)
    error = (found.error[:, 0] / found.total.sqrt()).cpu()
    each = [posterior.likelihood.mean(*outputs) for outputs in island_outputs(posterior, x)]
    single = [float((mean.mean(0)[:, 0] - y).square().mean().sqrt()) * y_spread for mean in each]
    return {
        "name": name,
        "seed": seed,
        "n_islands": len(result.islands),
        "polish": sampler.polish,
        "log_likelihood": float(posterior.log_predictive(x, y).mean()) - math.log(y_spread),
        "rmse": float((found.mean[:, 0] - y).square().mean().sqrt()) * y_spread,
        "rmse_of_single_islands": float(np.mean(single)),
        "error_median": float(error.median()),
        "error_90": float(error.quantile(0.9)),
        "log_evidence": result.log_evidence,
        "log_evidence_error": result.log_evidence_error,
        "verdict": str(result.verdict),
        "n_gradients": result.n_gradients,
        "seconds": seconds,
    }


def island_outputs(posterior: IslandPosterior, x: torch.Tensor) -> Any:
    """Outputs and own parameters of each island's networks."""
    n = posterior.network.layout.dim
    for theta in posterior.result.islands:
        with torch.no_grad():
            yield posterior.network(theta[:, :n], x), theta[:, n:]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--names", default=NAMES)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--islands", default="8", help="how many, or several numbers")
    parser.add_argument("--batch", type=int, default=8, help="islands annealed together")
    parser.add_argument("--particles", type=int, default=64, help="of each island")
    parser.add_argument("--polish", type=float, default=ais.Islands().polish)
    parser.add_argument("--seconds", type=float, help="of a run, at most: moves become shorter")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--costs", action="store_true", help="also time one population alone")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    annealing = ais.AnnealedPMC(
        n_particles=options.particles, n_islands=options.batch, ess_fraction=0.5, n_moves=1
    )
    hardware = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    settings = {"annealing": str(annealing), "hardware": hardware, "split": 0}
    rows = []
    for name in options.names.split(","):
        seconds = costs(name, options.data, options.device, annealing) if options.costs else {}
        for n_islands in map(int, options.islands.split(",")):
            sampler = ais.Islands(
                annealing=annealing,
                n_islands=n_islands,
                polish=options.polish,
                max_seconds=options.seconds,
            )
            for seed in map(int, options.seeds.split(",")):
                row = measured(name, options.data, options.device, sampler, seed) | seconds
                rows.append(row)
                print(json.dumps(row), flush=True)
                if options.json:
                    text = json.dumps({"settings": settings, "rows": rows}, indent=1)
                    options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()

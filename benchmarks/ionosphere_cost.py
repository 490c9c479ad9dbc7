"""What does PMCnet cost on Ionosphere, (M, K) = (50, 100), network 33-5-1?

One whole step beside the bare products of its mixture density, all 50 steps, and prediction with R
= 100 draws.

    python benchmarks/ionosphere_cost.py --device cuda --json out/ionosphere_cost.json
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from pmcnet import ais
from pmcnet.bnn import ParticlePosterior
from pmcnet.methods import Adam, Restarts
from pmcnet.paper.problem import paper_problem

N_STEPS = 50


def seconds(work: Callable[[], object], device: torch.device, repetitions: int) -> float:
    """Shortest of several timings, after a warm-up."""
    best = float("inf")
    for repetition in range(repetitions + 1):
        start = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        if repetition:
            best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device, repetitions = torch.device(options.device), options.repetitions

    problem = paper_problem("ionosphere", device)
    target = problem.target(6.46)
    loc = Restarts(Adam(n_epochs=50))(target, 50, seed=0)
    state = ais.pmcnet.init(loc, sigma=0.1, seed=0)
    theta = ais.pmcnet.step(state, target)[1].samples.theta.flatten(0, 1)
    buffer = torch.empty_like(theta)

    def products() -> None:
        for factor in state.proposals.scale[0]:
            torch.mm(theta, factor, out=buffer)

    bare = seconds(products, device, repetitions)
    step = seconds(lambda: ais.pmcnet.step(state, target), device, repetitions)
    bare = min(bare, seconds(products, device, repetitions))
    results = []
    whole = seconds(
        lambda: results.append(ais.run(ais.pmcnet, target, state, n_steps=N_STEPS)), device, 1
    )
    posterior = ParticlePosterior(problem.network, problem.likelihood, results[-1].samples)
    x = problem.test[0]
    # equal weights: 100 different networks, where the run's own weights would repeat one
    population = posterior.equally_weighted()
    predict = seconds(lambda: population.draws(x, n_passes=100), device, repetitions)
    report = {
        "device": torch.cuda.get_device_name()
        if device.type == "cuda"
        else f"CPU, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
        "bare_products_ms": 1e3 * bare,
        "step_ms": 1e3 * step,
        "step_over_bare": step / bare,
        "fifty_steps_s": whole,
        "prediction_ms_per_row": 1e3 * predict / len(x),
    }
    for name, value in report.items():
        print(f"{name:24} {value if isinstance(value, str) else round(value, 4)}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

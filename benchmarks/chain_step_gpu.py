"""What does a step of chains of ResNet-20 on a mini-batch cost, part by part, on one GPU?

Milliseconds of 8 networks with filter response normalisation on 500 made-up images, in bf16: the
gradient, as layers and with all between two convolutions as one operation; what the metric of
directions learns from every second; its turn, which comes every hundred batches; the step itself;
drawing the noise. With --profile, the kernels that take longest in the gradient of one network.

    python benchmarks/chain_step_gpu.py --json chain_step.json
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from pmcnet.bnn import BayesianTarget, Categorical, GaussianPrior, ModuleNetwork, ResNet20FRN
from pmcnet.methods.sae import prior_scale
from pmcnet.methods.sgmcmc.kronecker_metric import Kronecker
from pmcnet.rng import standard_normal, stream


def milliseconds(
    function: Callable[[], Any], device: torch.device, repeats: int = 20, warm: int = 12
) -> float:
    """Median of repeated calls, after compiling."""
    times = []
    for i in range(warm + repeats):
        start = time.perf_counter()
        function()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if i >= warm:
            times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def problem(arguments: argparse.Namespace, *, fused: bool) -> BayesianTarget:
    """The posterior of made-up images."""
    source = torch.Generator(arguments.device).manual_seed(0)
    x = torch.randn(arguments.rows, 3, 32, 32, device=arguments.device, generator=source)
    y = torch.arange(arguments.rows, device=arguments.device) % 10
    network = ModuleNetwork(
        ResNet20FRN(fused=fused), example=x[:1].cpu(), compiled=True, precision="bf16"
    )
    return BayesianTarget(
        network, Categorical(10), x, y, prior=GaussianPrior(0.2**0.5), memory=4 << 30
    )


def profiled(target: BayesianTarget, theta: torch.Tensor) -> str:
    """The kernels that take longest."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as found:
        for _ in range(10):
            target.value_and_score(theta)
        torch.cuda.synchronize()
    return str(
        found.key_averages().table(
            sort_by="cuda_time_total", row_limit=25, max_name_column_width=90
        )
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--networks", type=int, default=8)
    parser.add_argument("--device", type=torch.device, default=torch.device("cuda"))
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, Any] = {
        "rows": arguments.rows,
        "networks": arguments.networks,
        "milliseconds": {},
    }
    for name, fused in (("gradient", False), ("gradient, fused", True)):
        target = problem(arguments, fused=fused)
        sources = [stream(0, 0, i, arguments.device) for i in range(arguments.networks)]
        theta = 0.3 * standard_normal(sources, (target.dim,), like=target.like)
        found["milliseconds"][name] = milliseconds(
            lambda t=target, p=theta: t.value_and_score(p), arguments.device
        )
        print(name, found["milliseconds"][name], flush=True)
        if arguments.profile:
            print(profiled(target, theta[:1]), flush=True)
    score = target.value_and_score(theta).score
    metric = Kronecker(
        target.network.layout, prior_scale(target).square().reciprocal(), 0.1, len(theta)
    )
    velocity, noise = torch.zeros_like(theta), torch.randn_like(theta)
    source = stream(0, 1, 0, arguments.device)
    parts = {
        "learning": lambda: metric.learn(score, 200),
        "turn": metric.renew,
        "step": lambda: metric.accelerate(
            velocity, score, noise, step=1e-9, spread=0.04, count=100.0
        ),
        "noise": lambda: standard_normal([source], tuple(theta.shape), like=theta),
    }
    for name, part in parts.items():
        found["milliseconds"][name] = milliseconds(part, arguments.device, warm=3)
        print(name, found["milliseconds"][name], flush=True)
    if arguments.device.type == "cuda":
        found["device"] = torch.cuda.get_device_name()
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

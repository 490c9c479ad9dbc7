"""How fast is PMCnet-light on one GPU, and how near to what the hardware gives?

Prints and writes: the ceilings of copies and of matrix products; seconds, FLOP/s and bytes/s of one
weighting pass of M K networks over N images in each precision, compiled and not; one incremental
pass; prediction per row; the error that reduced precision makes in log weights; the same steps
within two memory budgets; and how cost grows with M, K, N and T. Networks are LeNet-5 on 28 x 28
images and ResNet-20 on 32 x 32 x 3, on made-up images: speed does not ask what they show. FLOPs and
bytes are counted per layer: two per multiplication, and every layer's output written and read once.

    python benchmarks/light_gpu.py --json docs/results/light_gpu_h200.json
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pmcnet import ais
from pmcnet.ais.evaluation import Evaluation
from pmcnet.bnn import (
    BayesianTarget,
    Categorical,
    LeNet5,
    ModuleNetwork,
    ParticlePosterior,
    Population,
    ResNet20,
)
from pmcnet.bnn.networks.layers import n_numbers
from pmcnet.methods.training.adam import default_start
from pmcnet.rng import stream

DEVICE = torch.device("cuda")


def seconds(function: Callable[[], Any], repeats: int = 3, warm: int = 1) -> float:
    """Median of repeated calls, after warming up."""
    times = []
    for i in range(warm + repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        if i >= warm:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def ceilings() -> dict[str, float]:
    """Copy bandwidth and matrix rates as seen here."""
    source = torch.empty(1 << 30, dtype=torch.float32, device=DEVICE)
    sink = torch.empty_like(source)
    found = {"copy_tb_per_s": 2 * source.nbytes / seconds(lambda: sink.copy_(source), 5) / 1e12}
    n = 8192
    for name, dtype, tf32 in (
        ("float32", torch.float32, False),
        ("tf32", torch.float32, True),
        ("bf16", torch.bfloat16, False),
    ):
        a, b = (torch.randn(n, n, device=DEVICE).to(dtype) for _ in range(2))
        torch.backends.cuda.matmul.allow_tf32 = tf32
        found[f"{name}_tflop_per_s"] = 2 * n**3 / seconds(lambda a=a, b=b: a @ b, 5, 3) / 1e12
    torch.backends.cuda.matmul.allow_tf32 = False
    return found


def flops_per_image(module: nn.Module, example: Tensor) -> float:
    """Two per multiplication of convolutions and linear layers."""
    total = 0.0

    def count(layer: nn.Module, inputs: Any, output: Tensor) -> None:
        nonlocal total
        weight = layer.weight
        assert isinstance(weight, Tensor)
        total += 2 * output[0].numel() * weight[0].numel()

    kinds = (nn.Conv2d, nn.Linear)
    hooks = [
        layer.register_forward_hook(count) for layer in module.modules() if isinstance(layer, kinds)
    ]
    with torch.no_grad():
        module(example)
    for hook in hooks:
        hook.remove()
    return total


def problem(
    kind: str, n_rows: int, precision: str, compiled: bool, memory: int, n_batches: int = 1
) -> BayesianTarget:
    """Made-up images with labels that a random network gives them, so that they can be learned."""
    shape = (1, 28, 28) if kind == "lenet5" else (3, 32, 32)
    source = torch.Generator(DEVICE).manual_seed(0)
    x = torch.randn(n_rows, *shape, device=DEVICE, generator=source)
    y = (x.flatten(1)[:, :64].sum(1).div(8).add(2).mul(2.5)).clamp(0, 9.99).floor()
    module = LeNet5() if kind == "lenet5" else ResNet20()
    network = ModuleNetwork(
        module,
        batch_norm="stored" if kind == "lenet5" else "reference",
        reference=None if kind == "lenet5" else x[:500],
        example=x[:1].cpu(),
        compiled=compiled,
        precision=precision,  # type: ignore[arg-type]
    )
    return BayesianTarget(network, Categorical(10), x, y, memory=memory, n_batches=n_batches)


def points(target: BayesianTarget, n: int) -> Tensor:
    """Random networks (n, D)."""
    few = default_start(target, [stream(0, 0, block) for block in range(20)])
    noise = torch.randn(
        n, target.dim, device=DEVICE, generator=torch.Generator(DEVICE).manual_seed(1)
    )
    return few.repeat(-(-n // 20), 1)[:n] + 0.005 * noise


def weighting(kind: str, n_networks: int, n_rows: int, memory: int) -> list[dict[str, Any]]:
    """Seconds of one pass in each precision; the error in log weights against float32."""
    rows: list[dict[str, Any]] = []
    exact: Tensor | None = None
    module, example = (
        (LeNet5(), torch.zeros(1, 1, 28, 28))
        if kind == "lenet5"
        else (ResNet20(), torch.zeros(1, 3, 32, 32))
    )
    flops, numbers = flops_per_image(module.eval(), example), n_numbers(module, example)
    all_of_them, tenth = n_networks, max(1, n_networks // 10)
    plans = [
        ("float32", False, all_of_them),
        ("tf32", False, all_of_them),
        ("tf32", True, all_of_them),
    ]
    if kind == "resnet20":  # a minute each
        plans = [("float32", False, 0), ("tf32", True, tenth)]
    for precision, compiled, n in [*plans, ("bf16", True, all_of_them)]:
        target = problem(kind, n_rows, precision, compiled, memory)
        theta = points(target, max(n, 20))
        evaluation = Evaluation(target)
        few = evaluation.log_density(theta[:20])
        if exact is None:
            exact = few
        torch.cuda.reset_peak_memory_stats()
        if n == 0:
            continue
        start = time.perf_counter()
        evaluation.log_density(theta if kind == "lenet5" else theta[:20])
        torch.cuda.synchronize()
        first = time.perf_counter() - start
        took = seconds(
            lambda e=evaluation, t=theta: e.log_density(t),
            repeats=1 if kind != "lenet5" else 3,
            warm=0,
        )
        error = (few - few.mean()) - (exact - exact.mean())
        network = target.network
        assert isinstance(network, ModuleNetwork)
        rows.append(
            {
                "network": kind,
                "n_networks": n,
                "n_rows": n_rows,
                "precision": precision,
                "compiled": compiled
                and network.compiled is not None
                and network.compiled.reason is None,
                "first_seconds": first,
                "seconds": took,
                "tflop_per_s": flops * n * n_rows / took / 1e12,
                "tb_per_s": 2
                * numbers
                * (2 if precision == "bf16" else 4)
                * n
                * n_rows
                / took
                / 1e12,
                "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
                "log_weight_error_nats": float(error.abs().max()),
            }
        )
        print(rows[-1], flush=True)
    return rows


def light_step(
    n_proposals: int, n_draws: int, n_rows: int, n_steps: int, memory: int, compiled: bool
) -> dict[str, Any]:
    """A run of PMCnet-light: seconds in all and by phase, and its last log weights."""
    target = problem("lenet5", n_rows, "tf32", compiled, memory, n_batches=max(1, n_rows // 1000))
    algorithm = ais.PMC(
        n_draws=n_draws,
        scale_step=ais.pmcnet_light.scale_step,
        mean_step=ais.pmcnet_light.mean_step,
    )
    state = algorithm.init(points(target, n_proposals), sigma=0.005, seed=0)
    algorithm.step(state, target)  # compiles
    start = time.perf_counter()
    result = ais.run(algorithm, target, state, n_steps=n_steps)
    took = time.perf_counter() - start
    return {
        "n_proposals": n_proposals,
        "n_draws": n_draws,
        "n_rows": n_rows,
        "n_steps": n_steps,
        "memory_gib": memory / 2**30,
        "seconds": took,
        "seconds_target": sum(line.phases.target for line in result.history),
        "seconds_moves": sum(line.phases.moves for line in result.history),
        "peak_gib": max(line.phases.memory for line in result.history) / 2**30,
        "log_weight": result.samples.log_weight.flatten().tolist(),
        "log_evidence": result.samples.log_evidence,
    }


def prediction(memory: int) -> dict[str, float]:
    """Milliseconds per row of R = 100 different LeNets on 10 000 images."""
    target = problem("lenet5", 10_000, "tf32", True, memory)
    posterior: ParticlePosterior = Population.of(target, points(target, 400), "")
    took = seconds(lambda: posterior.draws(target.x, n_passes=100), warm=2)
    return {"milliseconds_per_row": 1e3 * took / len(target.x)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=45_000)
    parser.add_argument("--networks", type=int, default=400)
    parser.add_argument("--parts", default="ceilings,lenet5,resnet20,memory,growth,prediction")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    parts, n = arguments.parts.split(","), arguments.rows
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    if "ceilings" in parts:
        found["ceilings"] = ceilings()
        print(found["ceilings"], flush=True)
    for kind in ("lenet5", "resnet20"):
        if kind in parts:
            found[kind] = weighting(kind, arguments.networks, n, 8 << 30)
    if "prediction" in parts:
        found["prediction"] = prediction(8 << 30)
        print(found["prediction"], flush=True)
    if "memory" in parts:
        runs = [light_step(20, 20, n, 2, budget, False) for budget in (8 << 30, 2 << 30)]
        first, second = (torch.tensor(run.pop("log_weight"), dtype=torch.float64) for run in runs)
        found["memory"] = {
            "runs": runs,
            "largest_difference_in_log_weight": float((first - second).abs().max()),
        }
        print(found["memory"], flush=True)
    if "growth" in parts:
        base = {"n_proposals": 10, "n_draws": 10, "n_rows": 10_000, "n_steps": 2}
        table = []
        for change in (
            {},
            {"n_proposals": 20},
            {"n_draws": 20},
            {"n_rows": 20_000},
            {"n_steps": 4},
        ):
            run = light_step(**{**base, **change}, memory=8 << 30, compiled=False)
            run.pop("log_weight")
            table.append(run)
            print(run, flush=True)
        found["growth"] = table
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

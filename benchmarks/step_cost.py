"""What does one step cost beside the operations it cannot do without?

Full covariances: the M products (M K x D) by (D x D) of the mixture density. Diagonal ones: the M x
(M K) scaled squared distances. Both are timed beside the step, in the same run; only the ratios
mean anything on a busy machine.

    python benchmarks/step_cost.py --device cpu --json out/step_cost.json
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from pmcnet import ais

Row = dict[str, object]


def trivial(dim: int, memory: int = 1 << 30) -> ais.FunctionTarget:
    """A standard normal without its constant: next to nothing to evaluate."""
    return ais.FunctionTarget(
        lambda x: -0.5 * x.square().sum(-1), dim, score=lambda x: -x, memory=memory
    )


def seconds(work: Callable[[], object], device: str, repetitions: int) -> float:
    """Shortest of several timings, after a warm-up."""
    best = float("inf")
    for repetition in range(repetitions + 1):
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        if repetition:
            best = min(best, time.perf_counter() - start)
    return best


def bare_products(theta: Tensor, factor: Tensor) -> None:
    """The M matrix products that M full-covariance densities at n points need."""
    buffer = torch.empty_like(theta)
    for matrix in factor:
        torch.mm(theta, matrix, out=buffer)


def bare_distances(theta: Tensor, loc: Tensor, sigma: Tensor) -> Tensor:
    """The M x n scaled squared distances, plainly."""
    return torch.stack(
        [((theta - mu) / s).square().sum(-1) for mu, s in zip(loc, sigma, strict=True)]
    )


def started(
    algorithm: ais.PMC, n_proposals: int, dim: int, device: str, sigma: float = 0.1
) -> ais.PMCState:
    """A state with scattered means."""
    loc = torch.randn(
        n_proposals, dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    return algorithm.init(loc.to(device), sigma=sigma, seed=0)


def step_row(algorithm: ais.PMC, n_proposals: int, dim: int, device: str, repetitions: int) -> Row:
    """Seconds of one step, of its mixture density and of the bare operations."""
    target, state = trivial(dim), started(algorithm, n_proposals, dim, device)
    theta = algorithm.step(state, target)[1].samples.theta.flatten(0, 1)
    full = isinstance(state.proposals.scale, ais.Full)
    bare = (
        (lambda: bare_products(theta, state.proposals.scale[0]))
        if full
        else (lambda: bare_distances(theta, state.proposals.loc, state.proposals.scale[0]))
    )
    row: Row = {
        "covariance": "full" if full else "diagonal",
        "M": n_proposals,
        "K": algorithm.n_draws,
        "D": dim,
    }
    timed = {
        "bare": seconds(bare, device, repetitions),
        "mixture": seconds(
            lambda: state.proposals.log_mixture(theta, target.memory), device, repetitions
        ),
        "step": seconds(lambda: algorithm.step(state, target), device, repetitions),
    }
    # Once more in the other order, so that a slow moment does not decide the ratio.
    timed["bare"] = min(timed["bare"], seconds(bare, device, repetitions))
    return row | timed | {"ratio": timed["step"] / timed["bare"]}


def peak_bytes(work: Callable[[], object], device: str) -> int:
    """Most memory in use during `work`, above what was in use before."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return torch.cuda.max_memory_allocated() - before
    status = Path("/proc/self/status")
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    before = _kilobytes(status, "VmRSS")
    work()
    return 1024 * (_kilobytes(status, "VmHWM") - before)


def _kilobytes(status: Path, name: str) -> int:
    return next(
        int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(name)
    )


def memory_rows(device: str) -> list[Row]:
    """Peak memory of a step against its budget: draws and noise, new state, temporaries."""
    rows: list[Row] = []
    cases = [(ais.pmcnet, 50, 100, 1000), (ais.pmcnet_light, 20, 20, 61706)]
    for algorithm, n_proposals, n_draws, dim in cases:
        for memory in (1 << 26, 1 << 28, 1 << 30):
            algorithm = replace(algorithm, n_draws=n_draws)
            state = started(algorithm, n_proposals, dim, device)
            draws = 8 * n_proposals * n_draws * dim
            scale = 8 * n_proposals * state.proposals.scale.numbers_per_block
            algorithm.step(state, trivial(dim, memory))
            peak = peak_bytes(
                lambda a=algorithm, s=state, d=dim, m=memory: a.step(s, trivial(d, m)), device
            )
            sizes = {"M": n_proposals, "K": n_draws, "D": dim, "budget": memory}
            allowed = memory + 2 * draws + 2 * scale
            rows.append({**sizes, "draws": draws, "scale": scale, "peak": peak, "allowed": allowed})
    return rows


def narrow_error(device: str) -> float:
    """Largest relative error of the diagonal mixture at sigma = 1e-4, against direct float64."""
    algorithm = replace(ais.pmcnet_light, n_draws=20)
    state = started(algorithm, 20, 61706, device, sigma=1e-4)
    theta = algorithm.step(state, trivial(61706))[1].samples.theta.flatten(0, 1)
    loc, sigma = state.proposals.loc, state.proposals.scale[0]
    constant = sigma.log().sum(-1) + 0.5 * 61706 * torch.log(
        torch.tensor(2 * torch.pi, dtype=torch.float64)
    )
    direct = (-0.5 * bare_distances(theta, loc, sigma) - constant[:, None]).logsumexp(
        0
    ) - torch.log(torch.tensor(20.0))
    got = state.proposals.log_mixture(theta, 1 << 30)
    return float(((got - direct) / direct).abs().max())


def growth_rows(device: str, repetitions: int) -> list[Row]:
    """Seconds per unit of M * K * M as M and K grow, full covariances, D = 54."""
    rows = []
    for n_proposals, n_draws in ((25, 100), (50, 100), (100, 100), (50, 200), (50, 400)):
        row = step_row(replace(ais.pmcnet, n_draws=n_draws), n_proposals, 54, device, repetitions)
        work = n_proposals * n_draws * n_proposals
        rows.append(
            {
                "M": n_proposals,
                "K": n_draws,
                "step": row["step"],
                "ns_per_MKM": 1e9 * float(row["step"]) / work,
            }
        )
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device, repetitions = options.device, options.repetitions

    print("One step beside the operations it needs (milliseconds, float64)")
    print(
        f"{'covariance':10} {'M':>3} {'K':>4} {'D':>6} {'bare':>9} {'mixture':>9} {'step':>9} "
        f"{'step/bare':>9}"
    )
    light = replace(ais.pmcnet_light, n_draws=20)
    steps = [step_row(ais.pmcnet, 50, dim, device, repetitions) for dim in (16, 54, 176, 1000)]
    steps += [step_row(light, 20, dim, device, repetitions) for dim in (16, 54, 176, 1000, 61706)]
    for row in steps:
        times = " ".join(f"{1e3 * float(row[name]):9.2f}" for name in ("bare", "mixture", "step"))
        print(
            f"{row['covariance']:10} {row['M']:3} {row['K']:4} {row['D']:6} {times} "
            f"{row['ratio']:9.2f}"
        )

    print("\nGrowth with M * K * M (D = 54)")
    growth = growth_rows(device, repetitions)
    for row in growth:
        print(
            f"M {row['M']:4} K {row['K']:4} {1e3 * row['step']:9.2f} ms {row['ns_per_MKM']:9.1f} "
            "ns per M*K*M"
        )

    print(
        "\nPeak memory of a step (MiB): at most the budget, the draws and their noise, and the "
        "scales old and new"
    )
    memory = memory_rows(device)
    for row in memory:
        sizes = " ".join(
            f"{name} {row[name] / 2**20:7.0f}"
            for name in ("budget", "draws", "scale", "peak", "allowed")
        )
        print(
            f"M {row['M']:3} K {row['K']:3} D {row['D']:6} {sizes} "
            f"{'ok' if row['peak'] <= row['allowed'] else 'OVER'}"
        )

    narrow = narrow_error(device)
    print(
        f"\nDiagonal mixture at sigma = 1e-4, (20, 20, 61706): largest relative error {narrow:.1e}"
    )
    if options.json:
        name = (
            torch.cuda.get_device_name()
            if device == "cuda"
            else f"CPU, {torch.get_num_threads()} threads"
        )
        report = {
            "device": name,
            "torch": torch.__version__,
            "steps": steps,
            "growth": growth,
            "memory": memory,
            "narrow_relative_error": narrow,
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

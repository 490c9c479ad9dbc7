"""How fast are log-likelihood and gradient of a population on a CPU, and where is torch faster?

Times the compiled pass, torch's layers and a matrix product in turn, and takes each one's best
time: a busy machine makes all of them slower, rarely at the same moment. A gradient counts as
6 operations for each weight, row and network, although the first layer needs only 4: rates compare
the pass with torch, and may exceed that of the product. Errors are against torch in double
precision, relative to the largest number.

    python benchmarks/kernels.py --json docs/results/kernels_cpu.json
"""

import argparse
import itertools
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from pmcnet.bnn import MLP, BayesianTarget, Bernoulli, Categorical, Gaussian, LearnedGaussian
from pmcnet.bnn.kernels import fused_mlp
from pmcnet.bnn.likelihoods.base import Likelihood

# rows, inputs and hidden units, networks, likelihood
SPEED = [
    (rows, units, networks, likelihood)
    for rows, units, networks in [
        (281, (33, 5), 1000),
        (927, (8, 16), 512),
        (927, (8, 50), 512),
        (8000, (20, 16), 96),
        (1200, (8, 24, 24), 256),
    ]
    for likelihood in (
        Gaussian(0.5),
        LearnedGaussian(),
        Bernoulli(),
        Categorical(3),
        Categorical(10),
    )
]
RULE = [
    (1000, (8, 16), 1, Gaussian(0.5)),
    (50_000, (8, 16), 1, Gaussian(0.5)),
    (1000, (50, 64), 128, Gaussian(0.5)),
    (1000, (10, 1000), 64, Gaussian(0.5)),
    (1000, (20, 50, 50, 50), 64, Gaussian(0.5)),
    (1000, (50, 128, 128), 64, Gaussian(0.5)),
    (1000, (50, 256, 256), 32, Gaussian(0.5)),
    (1000, (100, 512, 512), 16, Gaussian(0.5)),
    (1000, (200, 50), 128, Gaussian(0.5)),
    (1000, (784, 100), 32, Categorical(10)),
    (1000, (1000, 16), 64, Gaussian(0.5)),
]
N_ROUNDS = 12


def made(
    rows: int, units: tuple[int, ...], networks: int, likelihood: Likelihood
) -> tuple[BayesianTarget, torch.Tensor]:
    """Random data and networks of these sizes, in single precision."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(rows, units[0], generator=source)
    y = torch.randn(rows, generator=source)
    if likelihood.n_classes:
        y = torch.randint(likelihood.n_classes, (rows,), generator=source).float()
    target = BayesianTarget(MLP((*units, likelihood.n_outputs)), likelihood, x, y)
    return target, torch.randn(networks, target.dim, generator=source) / 3


def by_torch() -> Any:
    """Within it no network is evaluated by the compiled pass."""
    return mock.patch.object(fused_mlp, "faster", return_value=False)


def by_pass() -> Any:
    """Within it every perceptron is."""
    return mock.patch.object(fused_mlp, "faster", return_value=True)


def timed(function: Callable[[], object], least: float = 0.02) -> float:
    """The best of a few calls, at least so many seconds of them."""
    best, spent = float("inf"), 0.0
    while spent < least:
        start = time.perf_counter()
        function()
        seconds = time.perf_counter() - start
        best, spent = min(best, seconds), spent + seconds
    return best


def measured(case: tuple[int, tuple[int, ...], int, Likelihood]) -> dict[str, Any]:
    """Times, rates and errors of one case."""
    rows, _, networks, likelihood = case
    target, theta = made(*case)
    with by_torch():
        plain, _ = made(*case)
        expected = plain.likelihood_and_score(theta)
        double = BayesianTarget(
            target.network, likelihood, target.x.double(), target.y.double()
        ).likelihood_and_score(theta.double())
    with by_pass():
        found = target.likelihood_and_score(theta)
    square = torch.randn(1500, 1500)
    best = {"pass": [], "torch": [], "product": [], "pass_forward": [], "torch_forward": []}
    weights = target.parts(theta)[0]
    for _ in range(N_ROUNDS):
        with by_pass():
            best["pass"].append(timed(lambda: target.likelihood_and_score(theta)))
            best["pass_forward"].append(timed(lambda: target.network(weights, target.x)))
        with by_torch():
            best["torch"].append(timed(lambda: plain.likelihood_and_score(theta)))
            best["torch_forward"].append(timed(lambda: target.network(weights, target.x)))
        best["product"].append(timed(lambda: square @ square))
    seconds = {name: min(times) for name, times in best.items()}
    sizes = target.network.sizes
    work = 6 * rows * networks * sum(a * b for a, b in itertools.pairwise(sizes))
    return {
        "rows": rows,
        "sizes": sizes,
        "networks": networks,
        "likelihood": str(likelihood),
        "pass_gflops": work / seconds["pass"] / 1e9,
        "torch_gflops": work / seconds["torch"] / 1e9,
        "product_gflops": 2 * 1500**3 / seconds["product"] / 1e9,
        "ratio": seconds["torch"] / seconds["pass"],
        "forward_ratio": seconds["torch_forward"] / seconds["pass_forward"],
        "chosen": fused_mlp.faster(target.network.fused),
        "error": {
            name: {
                "value": relative(answer.value, double.value),
                "gradient": relative(answer.score, double.score),
            }
            for name, answer in (("pass", found), ("torch", expected))
        },
    }


def relative(found: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest error over the largest number."""
    return float((found.double() - exact).abs().max() / exact.abs().max())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "machine": platform.machine(),
    }
    for name, cases in (("speed", SPEED), ("rule", RULE)):
        found[name] = []
        for case in cases:
            row = measured(case)
            found[name].append(row)
            print(
                f"{row['rows']} rows, {row['sizes']}, {row['networks']} networks, "
                f"{row['likelihood']}: {row['pass_gflops']:.0f} GFLOP/s, torch "
                f"{row['torch_gflops']:.0f}, product {row['product_gflops']:.0f}; ratio "
                f"{row['ratio']:.1f}, forward {row['forward_ratio']:.1f}; errors of the gradient "
                f"{row['error']['pass']['gradient']:.0e} and "
                f"{row['error']['torch']['gradient']:.0e}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

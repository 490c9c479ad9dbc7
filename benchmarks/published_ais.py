"""Do the published tables of DM-PMC come out of this library?

Elvira, Martino, Luengo, Bugallo, "Improving population Monte Carlo: alternative weighting and
resampling schemes", Signal Processing 131 (2017): five modes in the plane and three Gaussians in
ten dimensions. N = 100 proposals, K draws each, T steps with N K T = 2e5; mean squared error of
E[X] from the draws of all steps.

    python benchmarks/published_ais.py --repetitions 100 --json out/published_ais.json
"""

import argparse
import json
import math
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import torch

from pmcnet import ais

N_PROPOSALS, N_EVALUATIONS, N_PUBLISHED_RUNS = 100, 200_000, 500
SIGMAS = (1, 2, 5, 10, 20, 70)
FIVE_MODES = {
    ("standard PMC", 1): (75.17, 59.42, 14.24, 0.25, 0.028, 0.18),
    ("global", 1): (72.48, 36.21, 5.34, 0.036, 0.029, 0.21),
    ("global", 20): (61.58, 15.13, 0.42, 0.012, 0.024, 0.14),
    ("local", 20): (9.51, 1.16, 0.011, 0.013, 0.023, 0.22),
    ("global", 100): (64.94, 12.50, 0.08, 0.015, 0.026, 0.18),
    ("local", 100): (9.60, 1.21, 0.022, 0.015, 0.026, 0.20),
}
THREE_IN_TEN = {
    ("global", 20): (10.89, 0.74, 0.23),
    ("local", 20): (6.92, 0.16, 0.77),
    ("global", 100): (7.61, 0.16, 0.17),
}


@dataclass(frozen=True)
class Cell:
    """One number of a published table."""

    problem: str
    scheme: str
    n_draws: int
    sigma: float
    published: float

    @property
    def algorithm(self) -> ais.PMC:
        """DM-PMC with this cell's weights and resampling."""
        weighting = (
            ais.OwnProposal() if self.scheme == "standard PMC" else ais.DeterministicMixture()
        )
        resampling = ais.Local() if self.scheme == "local" else ais.Global()
        return replace(ais.dm_pmc, n_draws=self.n_draws, weighting=weighting, resampling=resampling)


def cells() -> list[Cell]:
    """Every cell of the two tables."""
    five = [
        Cell("five modes", *row, sigma, value)
        for row, values in FIVE_MODES.items()
        for sigma, value in zip(SIGMAS, values, strict=True)
    ]
    ten = [
        Cell("three in R^10", *row, sigma, value)
        for row, values in THREE_IN_TEN.items()
        for sigma, value in zip((1, 5, 20), values, strict=True)
    ]
    return five + ten


@cache
def problem(name: str) -> tuple[ais.analytic.Analytic, float]:
    """The target and half the side of the cube that the means start in."""
    if name == "five modes":
        return ais.analytic.five_modes(), 4.0
    means = torch.tensor([-5.0, 6.0, 3.0], dtype=torch.float64)[:, None].repeat(1, 10)
    return ais.analytic.mixture(means, 64 * torch.eye(10, dtype=torch.float64).repeat(3, 1, 1)), 6.0


def squared_error(cell: Cell, seed: int) -> float:
    """Squared error of E[X], averaged over coordinates, of one run."""
    known, half = problem(cell.problem)
    generator = torch.Generator().manual_seed(seed)
    dim = len(known.mean)
    loc = half * (2 * torch.rand(N_PROPOSALS, dim, generator=generator, dtype=torch.float64) - 1)
    algorithm = cell.algorithm
    state = algorithm.init(loc, sigma=cell.sigma, seed=seed)
    n_steps = N_EVALUATIONS // (N_PROPOSALS * cell.n_draws)
    result = ais.run(algorithm, known.target, state, n_steps=n_steps)
    return float((result.samples.mean() - known.mean).square().mean())


def summary(cell: Cell, errors: list[float]) -> dict[str, object]:
    """Ours beside theirs; z compares the means, with their error guessed from our own spread."""
    mean, spread = statistics.fmean(errors), statistics.stdev(errors)
    error = spread / math.sqrt(len(errors))
    combined = math.hypot(error, spread / math.sqrt(N_PUBLISHED_RUNS))
    return {
        "problem": cell.problem,
        "scheme": cell.scheme,
        "n_draws": cell.n_draws,
        "sigma": cell.sigma,
        "published": cell.published,
        "mean": mean,
        "error": error,
        "median": statistics.median(errors),
        "z": (mean - cell.published) / combined,
        "n_runs": len(errors),
    }


def main() -> None:
    """Run the cells asked for and print ours beside theirs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repetitions", type=int, default=50, help="runs per cell (a fifth of it for K = 1)"
    )
    parser.add_argument("--only", default="", help="part of a problem's or scheme's name")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    start, rows = time.monotonic(), []
    print(
        f"{'problem':14} {'scheme':13} {'K':>3} {'sigma':>5} {'published':>9} {'ours':>19} "
        f"{'median':>8} {'z':>6}"
    )
    one_thread_each = {"initializer": torch.set_num_threads, "initargs": (1,)}
    with ProcessPoolExecutor(
        options.workers, mp_context=get_context("spawn"), **one_thread_each
    ) as pool:
        chosen = [cell for cell in cells() if options.only in f"{cell.problem} {cell.scheme}"]
        pending = {}
        for cell in chosen:
            n_runs = max(4, options.repetitions // (5 if cell.n_draws == 1 else 1))
            pending[cell] = [pool.submit(squared_error, cell, seed) for seed in range(n_runs)]
        for cell, futures in pending.items():
            row = summary(cell, [future.result() for future in futures])
            rows.append(row)
            ours = f"{row['mean']:.4g} +- {row['error']:.2g}"
            print(
                f"{cell.problem:14} {cell.scheme:13} {cell.n_draws:3} {cell.sigma:5} "
                f"{cell.published:9.3g} "
                f"{ours:>19} {row['median']:8.3g} {row['z']:6.1f}",
                flush=True,
            )
    print(f"{time.monotonic() - start:.0f} s")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(
            json.dumps({"table": rows, "torch": torch.__version__}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()

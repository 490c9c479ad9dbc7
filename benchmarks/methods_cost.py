"""What does each method cost, and is a baseline slower than a plain PyTorch loop of as many steps?

Seconds and peak memory of every method with its default settings on Ionosphere and on a table of 10
000 x 20, each in a process of its own; and the time of one training step of each baseline beside a
plain loop (nn.Sequential, the same batch, torch.optim.Adam), alternating in one process.

    python benchmarks/methods_cost.py --json docs/results/methods_cost.json
    python benchmarks/methods_cost.py --steps-only
"""

import argparse
import json
import multiprocessing
import resource
import statistics
import time
from pathlib import Path
from queue import Empty
from typing import Any

import numpy as np
import torch
from torch import nn

from pmcnet import PMCNetClassifier, PMCNetRegressor, data
from pmcnet.bnn import MLP, BayesianTarget, Gaussian, GaussianPrior
from pmcnet.methods.bbp import BBP
from pmcnet.methods.mc_dropout import MCDropout
from pmcnet.methods.point_estimates import AdamMethod
from pmcnet.methods.registry import METHODS
from pmcnet.methods.sae import SAE
from pmcnet.methods.sgmcmc.sgld import SGLD

ROWS, COLUMNS, HIDDEN, BATCH = 2000, 20, 50, 100
N_EPOCHS, N_ROUNDS = 10, 5
LIMIT = 240  # seconds, after which a fit is given up


def fit_cost(name: str, table: str, queue: Any) -> None:
    """Fit one method and report seconds and peak memory."""
    torch.set_num_threads(2)
    if table == "ionosphere":
        loaded = data.load("ionosphere")
        model: Any = PMCNetClassifier((5,), method=name, prior_std=1.0, random_state=0)
        x, y = loaded.x, loaded.y
    else:
        source = np.random.default_rng(0)
        x = source.normal(size=(10_000, 20))
        y = 2 * np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * source.normal(size=10_000)
        model = PMCNetRegressor((16,), method=name, prior_std=0.5, random_state=0)
    start = time.perf_counter()
    model.fit(x, y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    queue.put({"seconds": seconds, "peak_mib": peak, "verdict": model.verdict_.status})


def steps(target: BayesianTarget) -> dict[str, Any]:
    """Each baseline and how many gradient steps its fit makes; draws of a step count as steps."""
    common = {"batch_size": BATCH, "n_epochs": N_EPOCHS}
    return {
        "adam-mle": (AdamMethod(**common), 1, 0.0),
        "adam-map": (AdamMethod(objective="map", **common), 1, 0.0),
        "bbp": (BBP(n_draws=3, **common), 3, 0.0),
        "sgld": (SGLD(**common), 1, 0.0),
        "mc-dropout": (MCDropout(rate=0.1, **common), 1, 0.1),
        "sae": (SAE(n_chains=1, n_members=1, **common), 1, 0.0),
    }


def plain_loop(target: BayesianTarget, n_draws: int, rate: float) -> None:
    """The same number of steps on nn.Sequential."""
    layers: list[nn.Module] = [nn.Linear(COLUMNS, HIDDEN), nn.Tanh()]
    if rate:
        layers.append(nn.Dropout(rate))
    network = nn.Sequential(*layers, nn.Linear(HIDDEN, 1))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3, weight_decay=1e-4)
    for _ in range(N_EPOCHS):
        order = torch.randperm(len(target.x))
        for rows in torch.split(order, BATCH):
            optimiser.zero_grad()
            for _ in range(n_draws):
                loss = (network(target.x[rows])[:, 0] - target.y[rows]).square().sum()
                loss.backward()
            optimiser.step()


def step_ratios() -> dict[str, dict[str, float]]:
    """Median seconds of ours and of the plain loop, alternating."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(ROWS, COLUMNS, generator=generator)
    target = BayesianTarget(
        MLP((COLUMNS, HIDDEN, 1)), Gaussian(1.0), x, x[:, 0], prior=GaussianPrior(1.0)
    )
    found = {}
    for name, (method, n_draws, rate) in steps(target).items():
        ours, plain = [], []
        for _ in range(N_ROUNDS):
            start = time.perf_counter()
            method.fit(target, seed=0)
            ours.append(time.perf_counter() - start)
            start = time.perf_counter()
            plain_loop(target, n_draws, rate)
            plain.append(time.perf_counter() - start)
        one, other = statistics.median(ours), statistics.median(plain)
        found[name] = {"seconds": one, "plain_seconds": other, "ratio": one / other}
        print(name, {key: round(value, 3) for key, value in found[name].items()}, flush=True)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps-only", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, Any] = {"steps": step_ratios()}
    context = multiprocessing.get_context("spawn")
    for table in () if arguments.steps_only else ("ionosphere", "10000 x 20"):
        for name in (name for name in METHODS if METHODS[name].library is None):
            queue = context.Queue()
            process = context.Process(target=fit_cost, args=(name, table, queue))
            process.start()
            try:
                found.setdefault(table, {})[name] = queue.get(timeout=LIMIT)
            except Empty:
                found.setdefault(table, {})[name] = {"seconds": None, "more_than": LIMIT}
                process.terminate()
            process.join()
            print(table, name, found[table][name], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

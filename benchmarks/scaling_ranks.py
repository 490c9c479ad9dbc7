"""How much faster are two processes than one, what do they exchange, and what would many GPUs take?

Times steps of PMCnet, of the annealed method and of chains (trajectories of "hmc", mini-batches of
"sghmc") in 1, 2, ... processes of one thread each, started one after the other, several rounds,
medians; counts messages and bytes that a process receives.
Then a model of PMCnet-light on 1 to 1024 GPUs: seconds of compute as measured on one H200
(docs/results/mnist-c.json), shared evenly; messages of the measured form at the rates stated;
everything else counted as not shared.

    python benchmarks/scaling_ranks.py --json docs/results/scaling_ranks.json
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from pmcnet import ais
from pmcnet.ais.annealed.tempering import FixedTempering
from pmcnet.bnn import MLP, BayesianTarget, Bernoulli, GaussianPrior
from pmcnet.distributed import joined
from pmcnet.methods.sgmcmc.sghmc import SGHMC

SIZES = (33, 5, 1)
M, K, N_STEPS = 48, 100, 4
P, N_ROWS = 512, 10_000
CHAINS, N_TRAJECTORIES, BATCH = 64, 20, 200
# What the model of many GPUs assumes of the wires, per GPU.
BYTES_PER_SECOND, SECONDS_PER_MESSAGE = 25e9, 50e-6
LENET_DIM, LENET_DRAWS = 61706, 20


def target() -> BayesianTarget:
    """The paper's Ionosphere network on more rows."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(N_ROWS, SIZES[0], generator=source)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).float()
    return BayesianTarget(MLP(SIZES, "tanh"), Bernoulli(), x, y, prior=GaussianPrior(1.0))


def work() -> None:
    """What each process does; the first prints its figures as JSON."""
    torch.set_num_threads(1)
    problem = target()
    with joined(torch.device("cpu")) as comm:
        found: dict[str, Any] = {}
        algorithm = replace(ais.pmcnet, n_draws=K)
        loc = 0.3 * torch.randn(M, problem.dim, generator=torch.Generator().manual_seed(1))
        state, _ = algorithm.step(algorithm.init(loc, sigma=0.1, seed=0), problem, comm)
        found["pmcnet"] = _timed(
            lambda: ais.run(algorithm, problem, state, n_steps=N_STEPS, comm=comm), comm, N_STEPS
        )
        ladder = FixedTempering((0.001, 0.01, 0.1, 1.0))
        annealed = ais.AnnealedPMC(
            n_particles=P,
            n_moves=2,
            move=ais.HMC(n_leapfrog=8),
            tempering=ladder,
            preconditioner=ais.Score("diagonal"),
        )
        found["annealed"] = _timed(lambda: annealed.run(problem, seed=0, comm=comm), comm, 4)
        found["hmc"] = _timed(lambda: _moved(problem, comm), comm, N_TRAJECTORIES)
        n_batches = -(-N_ROWS // BATCH)
        found["sghmc"] = _timed(lambda: _stepped(problem, comm), comm, n_batches)
        if comm.rank == 0:
            print(json.dumps(found))


def _moved(problem: BayesianTarget, comm: ais.Communicator) -> None:
    sampler = ais.HMCPopulation(
        n_warmup=1, n_draws=N_TRAJECTORIES - 1, move=ais.HMC(n_leapfrog=8, jitter=0.0)
    )
    ais.run(sampler, problem, sampler.init(problem, _chains(problem), seed=0, comm=comm), comm=comm)


def _stepped(problem: BayesianTarget, comm: ais.Communicator) -> None:
    SGHMC(n_epochs=1, batch_size=BATCH).run(problem, _chains(problem), seed=0, comm=comm)


def _chains(problem: BayesianTarget) -> torch.Tensor:
    return 0.3 * torch.randn(CHAINS, problem.dim, generator=torch.Generator().manual_seed(2))


def _timed(function: Any, comm: Any, n_steps: int) -> dict[str, float]:
    comm.agreed(torch.zeros(1))  # all are there
    n_bytes, n_messages, start = comm.n_bytes, comm.n_messages, time.perf_counter()
    function()
    return {
        "seconds_per_step": (time.perf_counter() - start) / n_steps,
        "bytes_per_step": (comm.n_bytes - n_bytes) / n_steps,
        "messages_per_step": (comm.n_messages - n_messages) / n_steps,
    }


def launched(size: int) -> dict[str, Any]:
    """The figures of so many processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = {
        "WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            env=os.environ | place | {"RANK": str(rank)},
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
            text=True,
        )
        for rank in range(size)
    ]
    output = processes[0].communicate()[0]
    for process in processes:
        if process.wait():
            raise SystemExit(f"a process of {size} failed")
    figures: dict[str, Any] = json.loads(output)
    return figures


def model(n_proposals: int, results: Path) -> list[dict[str, float]]:
    """Seconds of a step of PMCnet-light, LeNet-5 on 45 000 images, M proposals on many GPUs."""
    phases = json.loads(results.read_text())["runs"]["pmcnet-light"][0]["phases"]
    densities, target_seconds, moves = (
        statistics.median(p[k] for p in phases) for k in ("proposals", "target", "moves")
    )
    share = (
        n_proposals / 20
    )  # measured with 20 proposals; densities of draws under proposals grow with the square
    compute = share * (target_seconds + moves) + share**2 * densities
    row = (
        4 * 2 * LENET_DIM + 8 * LENET_DRAWS
    )  # bytes of a proposal's mean, deviations and log-weights
    table = []
    for n_gpus in (1, 8, 64, 256, 1024):
        if n_gpus > n_proposals:
            continue
        exchanged = row * n_proposals * (1 - 1 / n_gpus)
        messages = 3 * SECONDS_PER_MESSAGE + exchanged / BYTES_PER_SECOND if n_gpus > 1 else 0.0
        own = compute * -(-n_proposals // n_gpus) / n_proposals  # of the process that has most
        seconds = own + messages
        table.append(
            {
                "n_gpus": n_gpus,
                "n_proposals": n_proposals,
                "compute_seconds": own,
                "message_seconds": messages,
                "megabytes_received": exchanged / 1e6,
                "seconds": seconds,
                "efficiency": compute / n_gpus / seconds,
            }
        )
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--results", type=Path, default=Path("docs/results/mnist-c.json"))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work()
        return
    sizes = [int(size) for size in arguments.sizes.split(",")]
    rounds = [{size: launched(size) for size in sizes} for _ in range(arguments.rounds)]
    found: dict[str, Any] = {"sizes": sizes, "measured": {}}
    for method in ("pmcnet", "annealed", "hmc", "sghmc"):
        for size in sizes:
            figures = {
                k: statistics.median(r[size][method][k] for r in rounds)
                for k in rounds[0][size][method]
            }
            one = statistics.median(r[sizes[0]][method]["seconds_per_step"] for r in rounds)
            figures["faster"] = one / figures["seconds_per_step"]
            found["measured"][f"{method}, {size}"] = figures
            print(f"{method}, {size} processes: {figures}", flush=True)
    if arguments.results.is_file():
        found["model"] = [line for n in (20, 1024) for line in model(n, arguments.results)]
        for line in found["model"]:
            print({k: round(v, 4) for k, v in line.items()})
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

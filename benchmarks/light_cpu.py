"""Does PMCnet-light on LeNet-5 stay within 2 GiB on a CPU?

20 networks trained for a few epochs on 2000 images, then steps of PMCnet-light with (M, K) = (20,
20) and prediction, with 0.5 GiB for temporaries. Prints seconds and the process's peak resident
memory, everything included.

    PMCNET_DATA=FOLDER python benchmarks/light_cpu.py
"""

import json
import resource
import time
from dataclasses import replace

import torch

from pmcnet.paper.experiment import Session
from pmcnet.paper.tables.mnist_c import EXPERIMENT

N_STEPS, N_EPOCHS, LIMITS, MEMORY = 2, 5, (2000, 500, 1000), 1 << 29


def main() -> None:
    """Run and print."""
    sizes = replace(EXPERIMENT.settings, n_steps=N_STEPS, n_epochs=N_EPOCHS, batch_size=100)
    settings = replace(sizes, limits=LIMITS, memory=MEMORY, baselines=False)
    start = time.perf_counter()
    record = EXPERIMENT.run(settings, Session(torch.device("cpu"), print))
    accuracy = {method: runs[0]["bma"]["accuracy"] for method, runs in record["runs"].items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        json.dumps({"seconds": time.perf_counter() - start, "peak_gib": peak, "accuracy": accuracy})
    )


if __name__ == "__main__":
    main()

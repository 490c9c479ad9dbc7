"""How fast is a gradient of log pi on all images, the unit of Hamiltonian chains' cost, on one GPU?

Prints and writes: the ceilings of copies and of matrix products; seconds and FLOP/s of the full
gradient of 20 LeNet-5 on 45 000 images and of 8 ResNet-20 with filter response normalisation on 50
000, in each precision, as layers and with all between two convolutions as one operation, and of
one such network on mini-batches; how far gradient and log-likelihood are from float64; and the
largest chunk that was in memory. Images are made up: speed does not ask what they show. FLOPs are
two per multiplication of the forward pass, times three for the two products of the backward pass.

    python benchmarks/hmc_gpu.py --json docs/results/hmc_gpu_h200.json
"""

import argparse
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from light_gpu import ceilings, flops_per_image, points, seconds
from pmcnet.bnn import (
    BayesianTarget,
    Categorical,
    GaussianPrior,
    LeNet5,
    ModuleNetwork,
    ResNet20FRN,
)
from pmcnet.bnn.networks.precision import Precision

DEVICE = torch.device("cuda")
KINDS = {
    "lenet5": (LeNet5, (1, 28, 28), 20, 45_000, ("float32", "tf32", "bf16")),
    "resnet20-frn": (ResNet20FRN, (3, 32, 32), 8, 50_000, ("tf32", "bf16")),
    "resnet20-frn-fused": (
        partial(ResNet20FRN, fused=True),
        (3, 32, 32),
        8,
        50_000,
        ("tf32", "bf16"),
    ),
    "resnet20-frn-batch": (ResNet20FRN, (3, 32, 32), 1, 500, ("bf16",)),
    "resnet20-frn-fused-batch": (partial(ResNet20FRN, fused=True), (3, 32, 32), 1, 500, ("bf16",)),
}
N_CHECKED = 2000  # rows on which float64 is afforded


def problem(kind: str, precision: Precision, memory: int) -> BayesianTarget:
    """Made-up images with labels that follow from a few pixels."""
    make, shape, _, n_rows, _ = KINDS[kind]
    source = torch.Generator(DEVICE).manual_seed(0)
    x = torch.randn(n_rows, *shape, device=DEVICE, generator=source)
    y = (x.flatten(1)[:, :64].sum(1).div(8).add(2).mul(2.5)).clamp(0, 9.99).floor()
    network = ModuleNetwork(make(), example=x[:1].cpu(), compiled=True, precision=precision)
    return BayesianTarget(
        network, Categorical(10), x, y, prior=GaussianPrior(0.1**0.5), memory=memory
    )


def gradient(kind: str, precision: Precision, memory: int) -> dict[str, Any]:
    """Seconds of one full gradient, and its error on a few rows."""
    make, shape, n_networks, n_rows, _ = KINDS[kind]
    target = problem(kind, precision, memory)
    theta = points(target, n_networks)
    torch.cuda.reset_peak_memory_stats()
    few_rows = n_rows < 5000
    took = seconds(
        lambda: target.value_and_score(theta),
        repeats=50 if few_rows else 3,
        warm=12 if few_rows else 2,
    )
    plain = make.func if isinstance(make, partial) else make  # whose convolutions are seen
    flops = 3 * flops_per_image(plain().eval(), torch.zeros(1, *shape))
    few = target.at(slice(0, N_CHECKED))
    found = few.likelihood_and_score(theta)
    doubled = replace(
        few, x=few.x.double(), y=few.y.double(), network=few.network.in_full_precision()
    )
    truth = doubled.likelihood_and_score(theta.double())
    network, error = target.network, found.value - truth.value
    assert isinstance(network, ModuleNetwork)
    assert network.compiled is not None
    return {
        "network": kind,
        "n_networks": n_networks,
        "n_rows": n_rows,
        "precision": precision,
        "compiled": network.compiled.reason is None,
        "seconds": took,
        "tflop_per_s": flops * n_networks * n_rows / took / 1e12,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
        "relative_error_of_gradient": float(
            (found.score - truth.score).norm() / truth.score.norm()
        ),
        "error_of_value_per_row": float(error.abs().max()) / len(few.x),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--memory", type=int, default=16, help="GiB for temporaries")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    found["ceilings"] = ceilings()
    print(found["ceilings"], flush=True)
    found["gradients"] = []
    for kind in arguments.kinds.split(","):
        for precision in KINDS[kind][-1]:
            found["gradients"].append(gradient(kind, precision, arguments.memory << 30))
            print(found["gradients"][-1], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

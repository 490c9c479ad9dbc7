r"""Do chains of deep networks predict better than an ensemble of the same minutes?

P networks are trained by Adam under the prior. From them, until the budget is spent:

- SGHMC chains on mini-batches with constant steps (`chains.py`); every draw counts in one average;
- an ensemble of as many more networks as can be trained in the same time (`baseline_methods.py`).

SGLD, MC dropout and PMCnet-light stand beside them. Nothing is augmented, and the likelihood weight
w is the same for all: labels of published images are those on which several people agreed, and each
of them is an observation (Aitchison, 2021, "A statistical theory of cold posteriors in deep neural
networks"). `mnist-c` has 20 chains of LeNet-5, `cifar10` 8 chains of ResNet-20 with filter response
normalisation (`study.py`).

    python benchmarks/deep_posterior/run.py mnist-c --budget 1500 --out out/mnist-c
    python benchmarks/deep_posterior/run.py mnist-c --quick --device cpu --budget 5 --out out/quick

OUT keeps the averages and, every minute, the chains: the same command goes on where it was, also
with a larger budget. OUT/results.json has scores along the way, OUT/probability.npz the averaged
probabilities of the test images. Several GPUs share the chains:

    torchrun --nproc-per-node=8 benchmarks/deep_posterior/run.py cifar10 --only chains --out out/all

Parts (`--only`) and seeds (`--seed`) can also run side by side on one GPU, which torchrun cannot
share, or on other days, each with an --out of its own; `--join` makes one table of them:

    for seed in 0 1 2 3 4 5 6 7; do
        python benchmarks/deep_posterior/run.py cifar10 --chains 1 --seed $seed --budget 811 \
            --only chains --out out/$seed &
    done; wait
    python benchmarks/deep_posterior/run.py cifar10 --chains 1 --join out/? --out out/all
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from baseline_methods import ensemble, others
from chains import Run
from checkpoint import check_settings
from problem import Problem
from study import STUDIES
from summary import summarise

from pmcnet import ais
from pmcnet.distributed import joined, own_device

PARTS = {"chains": Run.sample, "ensemble": ensemble, "others": others}


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=list(STUDIES))
    parser.add_argument("--budget", type=float, default=1500.0, help="seconds, earlier calls count")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--seed", type=int, default=0, choices=range(1000), metavar="0..999")
    parser.add_argument("--chains", type=int, help="how many, if not the study's")
    parser.add_argument("--only", choices=list(PARTS), nargs="+", default=list(PARTS))
    parser.add_argument("--join", type=Path, nargs="+", help="run nothing; folders of runs")
    parser.add_argument("--device", type=torch.device, default=torch.device("cuda"))
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try it")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Run the parts, or join runs, and print the table."""
    given = parsed(arguments)
    with joined(given.device) as comm:
        if comm.size > 1 and (given.join or given.only != ["chains"]):
            raise SystemExit("several processes share chains alone: give --only chains.")
        _main(given, comm)


def _main(given: argparse.Namespace, comm: ais.Communicator) -> None:
    study = STUDIES[given.study].quick() if given.quick else STUDIES[given.study]
    if given.chains:
        study = replace(study, n_chains=given.chains)
    problem = Problem.of(study, own_device(given.device))
    if study.has_outliers and not problem.n_outliers and comm.rank == 0:
        print("without crops of SVHN in the data folder outliers are not measured", flush=True)
    if not given.join:
        settings = {"study": given.study, "quick": given.quick, "n_chains": study.n_chains}
        settings |= {"seed": given.seed, "device": given.device.type}
        if comm.rank == 0:
            check_settings(given.out, settings | {"n_outliers": problem.n_outliers})
        run = Run(study, problem, given.seed, given.budget, given.out, comm)
        for part in given.only:
            PARTS[part](run)
    if comm.rank == 0:
        print(summarise(study, problem, given.join or [given.out], given.out))


if __name__ == "__main__":
    main()

"""One process of a shared run: python worker.py OUT, with RANK, WORLD_SIZE and MASTER_* set.

The first process writes what was found to OUT, by the name of each case.
"""

import os
import sys
from dataclasses import replace

import torch
from safetensors.torch import save_file

from pmcnet import ais
from pmcnet.bnn import MLP, BayesianTarget, Bernoulli, GaussianPrior
from pmcnet.distributed import SummedTarget, joined

M, K, P, SEED = 10, 12, 64, 3


def problem(dtype: torch.dtype) -> BayesianTarget:
    source = torch.Generator().manual_seed(0)
    x = torch.randn(60, 4, generator=source, dtype=torch.float64).to(dtype)
    y = (x[:, 0] * x[:, 1] + 0.3 * x[:, 2] > 0).to(dtype)
    return BayesianTarget(
        MLP((4, 5, 1), "tanh"), Bernoulli(), x, y, prior=GaussianPrior(1.0), n_batches=3
    )


def start(target: BayesianTarget, dtype: torch.dtype) -> torch.Tensor:
    return 0.5 * torch.randn(
        M, target.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    ).to(dtype)


def pmc_cases() -> dict[str, ais.PMC]:
    cases = {name: replace(algorithm, n_draws=K) for name, algorithm in ais.VARIANTS.items()}
    cases["global"] = replace(cases["pmcnet"], resampling=ais.Global())
    cases["alternating"] = replace(cases["pmcnet-light"], resampling=ais.Alternating(2))
    cases["own"] = replace(cases["pmcnet"], weighting=ais.OwnProposal())
    return cases


def sampled(target, algorithm, comm, dtype) -> dict[str, torch.Tensor]:
    state = algorithm.init(start(target, dtype), sigma=0.3, seed=SEED)
    result = ais.run(algorithm, target, state, n_steps=3, comm=comm)
    lines = [
        [info.last.ess, info.last.log_evidence, info.pooled.log_evidence, info.step_size.mean()]
        for info in result.history
    ]
    found = {
        "theta": result.samples.theta,
        "log_weight": result.samples.log_weight,
        "loc": result.state.proposals.loc,
    }
    return found | {
        "scale": next(iter(result.state.proposals.scale)),
        "history": torch.tensor(lines).double(),
    }


def annealed(target, comm, n_particles=P) -> dict[str, torch.Tensor]:
    result = ais.AnnealedPMC(n_particles=n_particles, ess_fraction=0.5).run(
        target, seed=SEED, comm=comm
    )
    lines = [[line.beta, line.acceptance, line.correlation] for line in result.history]
    found = {"theta": result.state.points.theta, "log_weight": result.state.log_weight}
    return found | {
        "evidence": torch.tensor(result.log_evidence).double(),
        "history": torch.tensor(lines).double(),
    }


def islands(target, comm) -> dict[str, torch.Tensor]:
    """Two batches of four islands, tempered, polished and compared."""
    batch = ais.AnnealedPMC(n_particles=8, n_islands=4, ess_fraction=0.5, n_moves=1)
    result = ais.Islands(annealing=batch, n_islands=8, n_draws=64).run(target, seed=SEED, comm=comm)
    lines = [[line.beta, line.acceptance, line.log_evidence] for line in result.history]
    return {
        "theta": result.islands.contiguous(),
        "log_evidences": result.state.log_evidences,
        "agreement": torch.tensor(result.agreement[2:]).double().nan_to_num(),
        "history": torch.tensor(lines).double(),
    }


def rows_of(target: BayesianTarget, comm: ais.Communicator) -> BayesianTarget:
    """Every R-th row of each batch, so that batch b of all processes together is batch b of one."""
    index = torch.arange(len(target.x)).reshape(3, -1)[:, comm.rank :: comm.size].flatten()
    return target.at(index)


def main() -> None:
    torch.set_num_threads(1)
    with joined(torch.device("cpu")) as comm:
        found: dict[str, dict[str, torch.Tensor]] = {}
        for dtype in (torch.float32, torch.float64):
            target = problem(dtype)
            for name, algorithm in pmc_cases().items():
                found[f"{name} {dtype}"] = sampled(target, algorithm, comm, dtype)
            found[f"annealed {dtype}"] = annealed(target, comm)
            found[f"islands {dtype}"] = islands(target, comm)
        target = problem(torch.float64)
        found["annealed in four groups"] = annealed(target, comm, n_particles=60)
        for name, keep in (("all steps", "all"), ("mixture", "mixture")):
            keeping = replace(pmc_cases()["pmcnet"], keep=keep)
            found[name] = sampled(target, keeping, comm, torch.float64)
        summed = SummedTarget.of(rows_of(target, comm), comm)
        points = start(target, torch.float64)
        values, factors = (
            summed.value_and_score(points),
            [f.value_and_score(points) for f in summed.factors()],
        )
        found["summed"] = {
            "density": summed.log_density(points),
            "value": values.value,
            "score": values.score,
            "hessian": summed.hessian(points[:2]),
            "factors": sum(factor.value for factor in factors),
            "factor score": sum(factor.score for factor in factors),
            "run": sampled(summed, pmc_cases()["pmcnet"], ais.SERIAL, torch.float64)["loc"],
            "light": sampled(summed, pmc_cases()["pmcnet-light"], ais.SERIAL, torch.float64)["loc"],
        }
        found["summed, annealed"] = annealed(summed, ais.SERIAL)
        if comm.rank == 0:
            flat = {
                f"{case}/{k}": v.contiguous()
                for case, parts in found.items()
                for k, v in parts.items()
            }
            save_file(flat, os.fspath(sys.argv[1]))


if __name__ == "__main__":
    main()

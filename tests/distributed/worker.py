"""One process of a shared run: python worker.py OUT BEFORE, with RANK, WORLD_SIZE and MASTER_* set.

The first process writes what was found to OUT/found.safetensors, by the name of each case, and
states of chains to OUT. Chains go on from the states in BEFORE, which may be of other processes.
"""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file

from pmcnet import ais
from pmcnet.bnn import MLP, BayesianTarget, Bernoulli, GaussianPrior
from pmcnet.distributed import SummedTarget, joined
from pmcnet.io.checkpoint import load_checkpoint, save_checkpoint
from pmcnet.methods import Given
from pmcnet.methods.hmc import HMCMethod
from pmcnet.methods.sgmcmc.sghmc import SGHMC
from pmcnet.methods.training.state import TrainingState

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


class Counted:
    """A target that counts the gradients of this process."""

    def __init__(self, target: BayesianTarget) -> None:
        self.target, self.n = target, 0

    def __getattr__(self, name):
        return getattr(self.target, name)

    def likelihood_and_score(self, theta):
        self.n += len(theta)
        return self.target.likelihood_and_score(theta)

    def batch_likelihood_and_score(self, theta, batch):
        self.n += len(theta)
        return self.target.batch_likelihood_and_score(theta, batch)


def hmc(target, comm, out, before) -> dict[str, torch.Tensor]:
    """Ten chains, which are judged as they go; with `before` from the state there."""
    sampler = ais.HMCPopulation(
        n_warmup=8, n_draws=50, max_leapfrog=4, most_kept=16, until_known=True
    )
    theta = start(target, torch.float64)
    state = sampler.init(target, theta, seed=SEED, comm=comm)
    if before is not None:
        state = load_checkpoint(before / "hmc", [ais.ChainState])
    states = []

    def watch(state, info):
        states.append(state)
        if comm.rank == 0 and state.step == 5 and before is None:
            save_checkpoint(state, out / "hmc")

    result = ais.run(sampler, target, state, observers=[watch], comm=comm)
    known = [*states[-1].tuning, states[-1].acceptance, *states[-1].agreement[2:]]
    found = {name: getattr(result, name) for name in ("theta", "log_density", "monitors")}
    return found | {"known": torch.tensor(known).double().nan_to_num()}


def sghmc(metric, target, comm, out, before) -> dict[str, torch.Tensor]:
    """Six chains on mini-batches; with `before` from the state there."""
    sizes = {"n_cycles": 1, "batch_size": 20, "n_epochs": 6, "n_kept": 24}
    method = SGHMC(metric=metric, exploration=0.0, heating=0.5, **sizes)
    state = None if before is None else load_checkpoint(before / metric, [TrainingState])

    def watch(state, info):
        if comm.rank == 0 and state.epoch == 3 and before is None:
            save_checkpoint(state, out / metric)

    theta = start(target, torch.float64)[:6]
    found = method.run(target, theta, seed=SEED, state=state, observers=[watch], comm=comm)
    return {"theta": found.theta, "sigma": found.sigma, "draws": found.draws}


CHAINS = {
    "hmc": hmc,
    "sghmc fisher": partial(sghmc, "fisher"),
    "sghmc kronecker": partial(sghmc, "kronecker"),
}


def burnt_in(target, comm) -> dict[str, torch.Tensor]:
    """The method: a burn-in on mini-batches from given networks, and four chains from there."""
    method = HMCMethod(
        n_chains=4,
        sampler=ais.HMCPopulation(n_warmup=4, n_draws=3, max_leapfrog=4),
        start=Given(start(target, torch.float32)[:4]),
        burn_in=SGHMC.from_modes(step=1e-3, batch_size=20, n_epochs=2),
    )
    result = method.fit(target, seed=SEED, comm=comm).posterior.result
    return {"theta": result.theta, "log_density": result.log_density}


def chains(comm, out, before) -> dict[str, dict[str, torch.Tensor]]:
    """Of every kind, from the beginning and from states that were stored on the way."""
    target, found, counts = problem(torch.float64), {}, {}
    counted = {name: Counted(target) for name in CHAINS}
    for name, each in counted.items():
        found[name] = CHAINS[name](each, comm, out, None)
        counts[name] = torch.tensor(each.n)
        found[f"{name}, resumed"] = CHAINS[name](target, comm, out, before)
    found["hmc, burnt in"] = burnt_in(problem(torch.float32), comm)
    return found | {"gradients of the first process": counts}


def rows_of(target: BayesianTarget, comm: ais.Communicator) -> BayesianTarget:
    """Every R-th row of each batch, so that batch b of all processes together is batch b of one."""
    index = torch.arange(len(target.x)).reshape(3, -1)[:, comm.rank :: comm.size].flatten()
    return target.at(index)


def main() -> None:
    torch.set_num_threads(1)
    out, before = map(Path, sys.argv[1:])
    with joined(torch.device("cpu")) as comm:
        found: dict[str, dict[str, torch.Tensor]] = {}
        for dtype in (torch.float32, torch.float64):
            target = problem(dtype)
            for name, algorithm in pmc_cases().items():
                found[f"{name} {dtype}"] = sampled(target, algorithm, comm, dtype)
            found[f"annealed {dtype}"] = annealed(target, comm)
            found[f"islands {dtype}"] = islands(target, comm)
        found |= chains(comm, out, before)
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
            save_file(flat, out / "found.safetensors")


if __name__ == "__main__":
    main()

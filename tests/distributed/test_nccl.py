"""Chains over nccl, by one process with a GPU: what a process without the others finds."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from distributed import worker
from distributed.launching import place_of
from pmcnet import ais
from pmcnet.distributed import Ranks, joined
from pmcnet.methods.sgmcmc.sghmc import SGHMC


@pytest.fixture
def comm(monkeypatch):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device on this machine")
    for name, value in place_of(1, rank=0).items():
        monkeypatch.setenv(name, value)
    with joined(torch.device("cuda")) as found:
        yield found


def moved(target, theta, comm):
    """Ten chains, whose blocks have one or two."""
    sampler = ais.HMCPopulation(n_warmup=3, n_draws=3, max_leapfrog=4)
    state = sampler.init(target, theta, seed=worker.SEED, comm=comm)
    return ais.run(sampler, target, state, comm=comm).theta


def stepped(metric, target, theta, comm):
    """Chains on mini-batches, for a few steps."""
    method = SGHMC(metric=metric, n_cycles=1, batch_size=20, n_epochs=2, n_kept=20)
    return method.run(target, theta, seed=worker.SEED, comm=comm).draws


@pytest.mark.parametrize("run", [moved, *(partial(stepped, m) for m in ("fisher", "kronecker"))])
def test_chains_over_nccl_agree_with_those_of_a_process_on_its_own(comm, run):
    assert isinstance(comm, Ranks)
    target = worker.problem(torch.float64)
    target = replace(target, x=target.x.cuda(), y=target.y.cuda())
    theta = worker.start(target, torch.float64).cuda()
    found = run(target, theta, comm)
    assert comm.n_messages > 0
    torch.testing.assert_close(found, run(target, theta, ais.SERIAL), rtol=1e-6, atol=1e-6)

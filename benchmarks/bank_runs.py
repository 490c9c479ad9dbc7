"""The runs that `bank.py` judges: what a user gets of a method in so many seconds."""

import math
import time
from typing import NamedTuple

import torch

from bank_cases import Problem
from pmcnet import ais
from pmcnet.ais.agreement import Agreement
from pmcnet.ais.tiling import in_groups
from pmcnet.ais.verdict import Verdict
from pmcnet.methods.cost import Cost
from pmcnet.methods.hmc_options import HMCOptions


class Run(NamedTuple):
    """What a run leaves: draws by island (G, k, D), and what it says of itself."""

    islands: torch.Tensor
    agreement: Agreement
    verdict: Verdict
    seconds: float
    log_evidence: float = -math.inf
    log_evidence_error: float = math.inf


def islands_run(problem: Problem, seed: int, seconds: float) -> Run:
    """By annealed islands."""
    result = ais.Islands(n_islands=None, max_seconds=seconds).run(problem.target, seed=seed)
    islands = result.islands
    if not result.n_islands:  # the particles where they are
        islands = result.samples.resample(1024, seed)[None]
    evidence = result.log_evidence, result.log_evidence_error
    return Run(islands, result.agreement, result.verdict, result.state.seconds, *evidence)


def chains_run(problem: Problem, seed: int, seconds: float) -> Run:
    """By Hamiltonian chains, as many as the estimators take in that time."""
    start, target = time.monotonic(), problem.target
    chosen = HMCOptions().sized(len(target.x))
    chosen = chosen.given("hmc", chosen.within(Cost.of(target), seconds))
    posterior = chosen.method("hmc").fit(target, seed=seed).posterior
    islands = in_groups(posterior.theta, posterior.n_islands)
    return Run(islands, posterior.agreement, posterior.verdict, time.monotonic() - start)


METHODS = {"annealed": islands_run, "hmc": chains_run}

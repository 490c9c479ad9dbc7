"""Adaptive importance sampling on any batched log-density.

target = ais.FunctionTarget(log_density, dim=2)          # (n, D) -> (n,)
state = ais.pmcnet.init(loc, sigma=1.0, seed=0)          # loc (M, D)
result = ais.run(ais.pmcnet, target, state, n_steps=20)  # weighted draws, evidence, diagnostics
"""

from pmcnet.ais import analytic
from pmcnet.ais.diagnostics import Verdict, ess, khat, log_evidence, log_evidence_error, max_weight, verdict
from pmcnet.ais.mean_steps import FixedMean, IncrementalLangevin, Langevin, MeanStep
from pmcnet.ais.pmc import PMC, PMCInfo, PMCState
from pmcnet.ais.proposals import Proposals
from pmcnet.ais.resampling import Alternating, Global, Local, Resampling
from pmcnet.ais.run import Result, StepRecord, run
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.scale import Diagonal, Full, Scale
from pmcnet.ais.scale_steps import FixedScale, InverseHessian, RobustCovariance, ScaleStep
from pmcnet.ais.schedules import Constant, Harmonic, LinearDecay, Schedule
from pmcnet.ais.target import FunctionTarget, Target, ValueAndScore
from pmcnet.ais.variants import VARIANTS, covfree, dm_pmc, gradfree, pmcnet, pmcnet_light, sl_pmc
from pmcnet.ais.weighting import DeterministicMixture, OwnProposal, Weighting

__all__ = [
    "PMC",
    "VARIANTS",
    "Alternating",
    "Constant",
    "DeterministicMixture",
    "Diagonal",
    "FixedMean",
    "FixedScale",
    "Full",
    "FunctionTarget",
    "Global",
    "Harmonic",
    "IncrementalLangevin",
    "InverseHessian",
    "Langevin",
    "LinearDecay",
    "Local",
    "MeanStep",
    "OwnProposal",
    "PMCInfo",
    "PMCState",
    "Proposals",
    "Resampling",
    "Result",
    "RobustCovariance",
    "Scale",
    "ScaleStep",
    "Schedule",
    "StepRecord",
    "Target",
    "ValueAndScore",
    "Verdict",
    "WeightedSamples",
    "Weighting",
    "analytic",
    "covfree",
    "dm_pmc",
    "ess",
    "gradfree",
    "khat",
    "log_evidence",
    "log_evidence_error",
    "max_weight",
    "pmcnet",
    "pmcnet_light",
    "run",
    "sl_pmc",
    "verdict",
]

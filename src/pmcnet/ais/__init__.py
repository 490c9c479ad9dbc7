"""Adaptive importance sampling on any batched log-density.

target = ais.FunctionTarget(log_density, dim=2)          # (n, D) -> (n,)
state = ais.pmcnet.init(loc, sigma=1.0, seed=0)          # loc (M, D)
result = ais.run(ais.pmcnet, target, state, n_steps=20)  # weighted draws, evidence, diagnostics
result = ais.AnnealedPMC(n_particles=1000).run(ais.Bridge(target, proposals), seed=0)
"""

from pmcnet.ais import analytic
from pmcnet.ais.agreement import Agreement, Predictions
from pmcnet.ais.annealed.algorithm import AnnealedPMC
from pmcnet.ais.annealed.bridge import Bridge
from pmcnet.ais.annealed.continuation import Continuation
from pmcnet.ais.annealed.forecast import Forecast, forecast
from pmcnet.ais.annealed.result import AnnealedResult
from pmcnet.ais.annealed.selection import Multinomial, Residual, Selection, Stratified, Systematic
from pmcnet.ais.annealed.state import AnnealedInfo, AnnealedState
from pmcnet.ais.annealed.tempering import AdaptiveTempering, FixedTempering, Tempering
from pmcnet.ais.comm import SERIAL, Communicator, Serial
from pmcnet.ais.diagnostics import ess, khat, log_evidence, log_evidence_error, max_weight
from pmcnet.ais.hmc.chains import HMCPopulation
from pmcnet.ais.hmc.kernel import HMC, MALA, Move
from pmcnet.ais.hmc.preconditioners import Geometric, Preconditioner, Score, Spread
from pmcnet.ais.hmc.result import ChainResult
from pmcnet.ais.hmc.state import ChainInfo, ChainState
from pmcnet.ais.islands.algorithm import Islands
from pmcnet.ais.islands.result import IslandsResult
from pmcnet.ais.islands.state import IslandsInfo, IslandsState
from pmcnet.ais.path import Path, PathPrecision
from pmcnet.ais.pmc.algorithm import PMC
from pmcnet.ais.pmc.mean_steps import FixedMean, IncrementalLangevin, Langevin, MeanStep
from pmcnet.ais.pmc.proposals import Proposals
from pmcnet.ais.pmc.resampling import Alternating, Global, Local, Resampling
from pmcnet.ais.pmc.result import Result
from pmcnet.ais.pmc.scale_steps import FixedScale, InverseHessian, RobustCovariance, ScaleStep
from pmcnet.ais.pmc.schedules import Constant, Harmonic, LinearDecay, Schedule
from pmcnet.ais.pmc.state import PMCInfo, PMCState
from pmcnet.ais.pmc.variants import (
    VARIANTS,
    covfree,
    dm_pmc,
    gradfree,
    pmcnet,
    pmcnet_light,
    sl_pmc,
)
from pmcnet.ais.pmc.weighting import DeterministicMixture, OwnProposal, Weighting
from pmcnet.ais.sampler import Info, Observer, Sampler, run
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.scale import Diagonal, Full, Scale
from pmcnet.ais.state_files import State, load_state, save_state
from pmcnet.ais.target import FunctionTarget, Target, ValueAndScore
from pmcnet.ais.tempered import Tempered
from pmcnet.ais.verdict import Verdict, verdict

__all__ = [
    "HMC",
    "MALA",
    "PMC",
    "SERIAL",
    "VARIANTS",
    "AdaptiveTempering",
    "Agreement",
    "Alternating",
    "AnnealedInfo",
    "AnnealedPMC",
    "AnnealedResult",
    "AnnealedState",
    "Bridge",
    "ChainInfo",
    "ChainResult",
    "ChainState",
    "Communicator",
    "Constant",
    "Continuation",
    "DeterministicMixture",
    "Diagonal",
    "FixedMean",
    "FixedScale",
    "FixedTempering",
    "Forecast",
    "Full",
    "FunctionTarget",
    "Geometric",
    "Global",
    "HMCPopulation",
    "Harmonic",
    "IncrementalLangevin",
    "Info",
    "InverseHessian",
    "Islands",
    "IslandsInfo",
    "IslandsResult",
    "IslandsState",
    "Langevin",
    "LinearDecay",
    "Local",
    "MeanStep",
    "Move",
    "Multinomial",
    "Observer",
    "OwnProposal",
    "PMCInfo",
    "PMCState",
    "Path",
    "PathPrecision",
    "Preconditioner",
    "Predictions",
    "Proposals",
    "Resampling",
    "Residual",
    "Result",
    "RobustCovariance",
    "Sampler",
    "Scale",
    "ScaleStep",
    "Schedule",
    "Score",
    "Selection",
    "Serial",
    "Spread",
    "State",
    "Stratified",
    "Systematic",
    "Target",
    "Tempered",
    "Tempering",
    "ValueAndScore",
    "Verdict",
    "WeightedSamples",
    "Weighting",
    "analytic",
    "covfree",
    "dm_pmc",
    "ess",
    "forecast",
    "gradfree",
    "khat",
    "load_state",
    "log_evidence",
    "log_evidence_error",
    "max_weight",
    "pmcnet",
    "pmcnet_light",
    "run",
    "save_state",
    "sl_pmc",
    "verdict",
]

"""Adaptive importance sampling on any batched log-density.

target = ais.FunctionTarget(log_density, dim=2)          # (n, D) -> (n,)
state = ais.pmcnet.init(loc, sigma=1.0, seed=0)          # loc (M, D)
result = ais.run(ais.pmcnet, target, state, n_steps=20)  # weighted draws, evidence, diagnostics
result = ais.AnnealedPMC(n_particles=1000).run(ais.Bridge(target, proposals), seed=0)
"""

from pmcnet.ais import analytic
from pmcnet.ais.annealed.algorithm import AnnealedInfo, AnnealedPMC, AnnealedState
from pmcnet.ais.annealed.bridge import Bridge
from pmcnet.ais.annealed.forecast import Forecast, forecast
from pmcnet.ais.annealed.result import AnnealedRecord, AnnealedResult
from pmcnet.ais.annealed.selection import Multinomial, Residual, Selection, Stratified, Systematic
from pmcnet.ais.annealed.tempering import AdaptiveTemperatures, FixedTemperatures, Temperatures
from pmcnet.ais.checkpoint import State, load_state, save_state
from pmcnet.ais.comm import SERIAL, Communicator, Serial
from pmcnet.ais.diagnostics import (
    Verdict,
    ess,
    khat,
    log_evidence,
    log_evidence_error,
    max_weight,
    verdict,
)
from pmcnet.ais.hmc.chains import ChainState, HMCPopulation
from pmcnet.ais.hmc.kernel import HMC, MALA, Move
from pmcnet.ais.hmc.preconditioners import Geometric, Preconditioner, Score, Spread
from pmcnet.ais.hmc.result import ChainRecord, ChainResult
from pmcnet.ais.path import Arithmetic, Path, Tempered
from pmcnet.ais.pmc.algorithm import PMC, PMCInfo, PMCState
from pmcnet.ais.pmc.mean_steps import FixedMean, IncrementalLangevin, Langevin, MeanStep
from pmcnet.ais.pmc.proposals import Proposals
from pmcnet.ais.pmc.resampling import Alternating, Global, Local, Resampling
from pmcnet.ais.pmc.scale_steps import FixedScale, InverseHessian, RobustCovariance, ScaleStep
from pmcnet.ais.pmc.schedules import Constant, Harmonic, LinearDecay, Schedule
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
from pmcnet.ais.sampler import Result, StepRecord, run
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.scale import Diagonal, Full, Scale
from pmcnet.ais.target import FunctionTarget, Target, ValueAndScore

__all__ = [
    "HMC",
    "MALA",
    "PMC",
    "SERIAL",
    "VARIANTS",
    "AdaptiveTemperatures",
    "Alternating",
    "AnnealedInfo",
    "AnnealedPMC",
    "AnnealedRecord",
    "AnnealedResult",
    "AnnealedState",
    "Arithmetic",
    "Bridge",
    "ChainRecord",
    "ChainResult",
    "ChainState",
    "Communicator",
    "Constant",
    "DeterministicMixture",
    "Diagonal",
    "FixedMean",
    "FixedScale",
    "FixedTemperatures",
    "Forecast",
    "Full",
    "FunctionTarget",
    "Geometric",
    "Global",
    "HMCPopulation",
    "Harmonic",
    "IncrementalLangevin",
    "InverseHessian",
    "Langevin",
    "LinearDecay",
    "Local",
    "MeanStep",
    "Move",
    "Multinomial",
    "OwnProposal",
    "PMCInfo",
    "PMCState",
    "Path",
    "Preconditioner",
    "Proposals",
    "Resampling",
    "Residual",
    "Result",
    "RobustCovariance",
    "Scale",
    "ScaleStep",
    "Schedule",
    "Score",
    "Selection",
    "Serial",
    "Spread",
    "State",
    "StepRecord",
    "Stratified",
    "Systematic",
    "Target",
    "Temperatures",
    "Tempered",
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

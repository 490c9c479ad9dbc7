"""Choosing the settings that the algorithms leave open: by the evidence, or on validation rows."""

from pmcnet.tune.alternatives import Alternative, Comparison, choose, simplest
from pmcnet.tune.evidence_search import EvidenceSearch, Trial, evidence_prior
from pmcnet.tune.golden_section import Search, golden_section
from pmcnet.tune.grid_search import GridSearch, grid_search
from pmcnet.tune.step_count import smallest_stable
from pmcnet.tune.validation_search import validation_prior

__all__ = [
    "Alternative",
    "Comparison",
    "EvidenceSearch",
    "GridSearch",
    "Search",
    "Trial",
    "choose",
    "evidence_prior",
    "golden_section",
    "grid_search",
    "simplest",
    "smallest_stable",
    "validation_prior",
]

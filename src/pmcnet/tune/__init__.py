"""Choosing the settings that the algorithms leave open: by the evidence, or on validation rows."""

from pmcnet.tune.evidence import EvidenceSearch, Trial, evidence_prior
from pmcnet.tune.golden import Search, golden_section
from pmcnet.tune.grid import GridSearch, grid_search
from pmcnet.tune.steps import smallest_stable
from pmcnet.tune.validation import validation_prior

__all__ = [
    "EvidenceSearch",
    "GridSearch",
    "Search",
    "Trial",
    "evidence_prior",
    "golden_section",
    "grid_search",
    "smallest_stable",
    "validation_prior",
]

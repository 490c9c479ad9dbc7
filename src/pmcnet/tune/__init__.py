"""Choosing the settings that the algorithms leave open, on validation rows."""

from pmcnet.tune.golden import Search, golden_section
from pmcnet.tune.steps import smallest_stable

__all__ = ["Search", "golden_section", "smallest_stable"]

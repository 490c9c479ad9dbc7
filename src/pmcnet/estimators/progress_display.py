"""Progress of a fit on standard error."""

from pmcnet.estimators.observer import Companion
from pmcnet.reports.progress import FitProgress


class Shown(FitProgress, Companion):
    """Shows each stage as a line and the work within as a bar."""

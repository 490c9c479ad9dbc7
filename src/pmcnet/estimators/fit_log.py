"""What a fit decides, as INFO lines of the logger "pmcnet.fit"."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pmcnet.ais.comm import Communicator
from pmcnet.ais.verdict import Verdict
from pmcnet.estimators.observer import FitObserver, Settled
from pmcnet.estimators.plan import Plan

if TYPE_CHECKING:
    from pmcnet.estimators.fitted_model import FittedModel

_LOG = logging.getLogger("pmcnet.fit")


class FitLog:
    """An observer that writes what was chosen, and why."""

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        _LOG.info("%s", text)

    def planned(self, plan: Plan, settled: Settled | None) -> None:
        """The method, when it is chosen; what is settled after it is a stage."""
        if settled is None:
            _LOG.info("%s", plan.reason)

    def __call__(self, state: Any, info: Any) -> None:
        """Steps are not logged."""


def _wanted(comm: Communicator) -> bool:
    """Whether anybody listens; of processes that share a fit, the first one writes."""
    return comm.rank == 0 and _LOG.isEnabledFor(logging.INFO)


def logged(observers: Sequence[FitObserver], comm: Communicator) -> Sequence[FitObserver]:
    """The observers, and a log where it is wanted."""
    return (*observers, FitLog()) if _wanted(comm) else observers


def log_columns(model: "FittedModel", comm: Communicator) -> None:
    """How many columns of each kind the model reads or leaves out; images have none."""
    if _wanted(comm) and model.columns_:
        kinds = Counter(column["kind"] for column in model.columns_)
        _LOG.info("columns: %s", ", ".join(f"{n} {kind}" for kind, n in kinds.items()))


def log_verdict(verdict: Verdict, comm: Communicator) -> None:
    """The verdict and its reason."""
    if _wanted(comm):
        _LOG.info("verdict %s", verdict)

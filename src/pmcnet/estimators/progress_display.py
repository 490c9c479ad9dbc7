"""Progress of a fit on standard error, where it is wanted."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pmcnet.estimators.observer import FitObserver


@contextmanager
def displayed(verbose: int) -> Iterator[Sequence[FitObserver]]:
    """A progress display, where it is wanted."""
    if not verbose:
        yield ()
        return
    from pmcnet.reports.progress import FitProgress

    with FitProgress() as shown:
        yield (shown,)

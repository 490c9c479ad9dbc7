"""What every method leaves."""

from typing import Generic, NamedTuple, TypeVar

from pmcnet.bnn import ParticlePosterior

Record = TypeVar("Record", covariant=True)


class Fit(NamedTuple, Generic[Record]):
    """The posterior and the steps that led to it."""

    posterior: ParticlePosterior
    history: tuple[Record, ...]

"""The paper's experiments by name: each gives plain data, with the paper's numbers beside ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pmcnet.errors import InputError
from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.paper.experiment import Experiment, Say, Session, device_of
from pmcnet.paper.tables import (
    cifar10,
    control_sizes,
    control_variants,
    glass,
    ionosphere,
    mnist_c,
    naval,
    protein,
    svhn_g,
    wine,
)

EXPERIMENTS: Mapping[str, Experiment[Any]] = {
    "control-sizes": control_sizes.EXPERIMENT,
    "control-variants": control_variants.EXPERIMENT,
    "ionosphere": ionosphere.EXPERIMENT,
    "wine": wine.EXPERIMENT,
    "glass": glass.EXPERIMENT,
    "protein": protein.EXPERIMENT,
    "naval": naval.EXPERIMENT,
    "mnist-c": mnist_c.EXPERIMENT,
    "svhn-g": svhn_g.EXPERIMENT,
    "cifar10": cifar10.EXPERIMENT,
}


def named(name: str) -> Experiment[Any]:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def reproduce(
    name: str,
    *,
    quick: bool,
    device: str,
    say: Say,
    n_seeds: int | None = None,
    folder: Path | None = None,
) -> Record:
    """Run one experiment.

    Args:
        name: a key of `EXPERIMENTS`.
        quick: sizes that finish in seconds and whose numbers mean nothing.
        device: where to run, e.g. "cpu" or "cuda".
        say: called with a line of progress at a time.
        n_seeds: repetitions, if other than the default.
        folder: where the large experiments keep checkpoints, to go on from after an interruption.
    """
    session = Session(device_of(device), say, folder)
    return named(name).reproduce(session, quick=quick, n_seeds=n_seeds)


__all__ = ["EXPERIMENTS", "Experiment", "device_of", "named", "reproduce"]

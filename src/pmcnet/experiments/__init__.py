"""The paper's experiments by name: each runs ours and returns plain data with the paper's numbers beside it."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch

from pmcnet.errors import InputError
from pmcnet.experiments import control, shallow
from pmcnet.experiments.scoring import Say
from pmcnet.runs.curves import Record


class Experiment(NamedTuple):
    """What it reproduces, and how it is run."""

    description: str
    run: Callable[..., Record]
    settings: control.Settings | shallow.Settings


# The paper does not give the spread of the first proposals. Its published Ionosphere script uses 0.1, taken here for
# Glass too; for Wine validation rows chose it among 0.01, 0.03, 0.1, 0.3 and 1, with seeds not reported, after its test
# rows had been scored at 0.1 (docs/results). On Ionosphere no best validation epoch lay beyond the 200th.
SHALLOW = {
    "ionosphere": shallow.Settings(n_epochs=200),
    "wine": shallow.Settings(sigma=0.01),
    "glass": shallow.Settings(),
}

EXPERIMENTS = {
    "control-sizes": Experiment("PMCnet on 50, 400 and 1600 control rows", control.run_sizes, control.Settings()),
    "control-variants": Experiment(
        "PMCnet and four variants on control", control.run_variants, control.Settings(n_epochs=30)
    ),
    "ionosphere": Experiment("Ionosphere, 33-5-1", partial(shallow.run, "ionosphere"), SHALLOW["ionosphere"]),
    "wine": Experiment("Wine, 13-3-3", partial(shallow.run, "wine"), SHALLOW["wine"]),
    "glass": Experiment("Glass, 9-10-6", partial(shallow.run, "glass"), SHALLOW["glass"]),
}


def reproduce(name: str, *, quick: bool, device: str, say: Say, n_seeds: int | None = None) -> Record:
    """Run one experiment.

    Args:
        name: a key of `EXPERIMENTS`.
        quick: sizes that finish in seconds and whose numbers mean nothing.
        device: where to run, e.g. "cpu" or "cuda".
        say: told a line of progress at a time.
        n_seeds: repetitions, if other than the default.
    """
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}.")
    experiment = EXPERIMENTS[name]
    settings = experiment.settings.quick() if quick else experiment.settings
    if n_seeds is not None:
        settings = type(settings)(**(vars(settings) | {"n_seeds": n_seeds}))
    return experiment.run(settings=settings, device=_device(device), say=say)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} cannot be used here; use cpu, or cuda where torch finds a GPU.") from error
    return device


__all__ = ["EXPERIMENTS", "Experiment", "reproduce"]

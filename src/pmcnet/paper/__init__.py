"""The paper's experiments by name: each runs ours and returns plain data with the paper's numbers beside it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pmcnet.errors import InputError
from pmcnet.paper import control, deep, joining, posterior, shallow
from pmcnet.paper.deep_settings import Settings as DeepSettings
from pmcnet.paper.paper_scores import Say
from pmcnet.paper.study import Settings as StudySettings
from pmcnet.runs.figure_data import Record


class Experiment(NamedTuple):
    """What it reproduces, and how it is run."""

    description: str
    run: Callable[..., Record]
    settings: control.Settings | shallow.Settings | DeepSettings | StudySettings

    @property
    def keeps(self) -> bool:
        """Whether it is so large that it keeps checkpoints."""
        return isinstance(self.settings, DeepSettings | StudySettings)


# The paper does not give the spread of the first proposals. Its published Ionosphere script uses
# 0.1, taken here for Glass too; for Wine validation rows chose it among 0.01, 0.03, 0.1, 0.3 and 1,
# with seeds not reported, after its test rows had been scored at 0.1 (docs/results). On Ionosphere
# no best validation epoch lay beyond the 200th.
SHALLOW = {
    "ionosphere": shallow.Settings(n_epochs=200),
    "wine": shallow.Settings(sigma=0.01),
    "glass": shallow.Settings(),
}

TABLES = DeepSettings(
    n_steps=5, n_epochs=100, batch_size=200, learning_rate=1e-2, weight_decay=0.0, n_seeds=3
)
CIFAR10 = DeepSettings(
    n_steps=2,
    n_epochs=80,
    batch_size=1024,
    learning_rate=0.012,
    weight_decay=0.3,
    precision="bf16",
    n_chains=3,
)

MNIST_POSTERIOR = StudySettings(
    label_count=10.0,
    n_epochs=45,
    sampler="sghmc",
    information=0.3,
    walk_epochs=300,
    walk_step=1e-3,
    cold_step=0.01,
)
CIFAR10_POSTERIOR = StudySettings(
    n_chains=8,
    prior_variance=0.2,
    label_count=3.0,
    n_epochs=25,
    batch_size=250,
    sampler="sghmc",
    metric="kronecker",
    information=0.1,
    friction=0.02,
    walk_epochs=80,
    walk_step=6e-5,
    walk_batch=500,
    drawn_every=4,
    marks=(),
    light_steps=2,
    precision="bf16",
    memory=4 << 30,
)

EXPERIMENTS = {
    "control-sizes": Experiment(
        "PMCnet on 50, 400 and 1600 control rows", control.run_sizes, control.Settings()
    ),
    "control-variants": Experiment(
        "PMCnet and four variants on control", control.run_variants, control.Settings(n_epochs=30)
    ),
    "ionosphere": Experiment(
        "Ionosphere, 33-5-1", partial(shallow.run, "ionosphere"), SHALLOW["ionosphere"]
    ),
    "wine": Experiment("Wine, 13-3-3", partial(shallow.run, "wine"), SHALLOW["wine"]),
    "glass": Experiment("Glass, 9-10-6", partial(shallow.run, "glass"), SHALLOW["glass"]),
    "protein": Experiment("Protein, 9-100-100-1", partial(deep.run, "protein"), TABLES),
    "naval": Experiment("Naval, 14-100-100-1", partial(deep.run, "naval"), TABLES),
    "mnist-c": Experiment(
        "MNIST-C (rotate), LeNet-5", partial(deep.run, "mnist-c"), DeepSettings()
    ),
    "svhn-g": Experiment("SVHN in grey, LeNet-5", partial(deep.run, "svhn-g"), DeepSettings()),
    "cifar10": Experiment("CIFAR10, ResNet-20", partial(deep.run, "cifar10"), CIFAR10),
    "mnist-c-posterior": Experiment(
        "chains of LeNet-5 on MNIST-C", partial(posterior.run, "mnist-c-posterior"), MNIST_POSTERIOR
    ),
    "cifar10-posterior": Experiment(
        "chains of ResNet-20 on CIFAR10",
        partial(posterior.run, "cifar10-posterior"),
        CIFAR10_POSTERIOR,
    ),
}


def reproduce(
    name: str,
    *,
    quick: bool,
    device: str,
    say: Say,
    n_seeds: int | None = None,
    folder: Path | None = None,
    budget: float | None = None,
    seed: int | None = None,
    n_chains: int | None = None,
    parts: Sequence[str] = (),
    start: Path | None = None,
) -> Record:
    """Run one experiment.

    Args:
        name: a key of `EXPERIMENTS`.
        quick: sizes that finish in seconds and whose numbers mean nothing.
        device: where to run, e.g. "cpu" or "cuda".
        say: told a line of progress at a time.
        n_seeds: repetitions, if other than the default.
        folder: where the large experiments keep checkpoints, to go on from when they were
            interrupted.
        budget: seconds of an experiment with chains, those of earlier calls included.
        seed: of an experiment with chains.
        n_chains: how many it has, if other than the default.
        parts: which of an experiment with chains run, of "chains", "ensemble" and "others"; all
            where none is named.
        start: file of networks that its chains go on from, alone.
    """
    experiment = named(name)
    settings = experiment.settings.quick() if quick else experiment.settings
    if isinstance(settings, StudySettings):
        if n_seeds is not None:
            raise InputError(
                f"{name} has one seed; --seed says which, and --join puts runs with several "
                "together."
            )
        chosen: dict[str, Any] = {"budget": budget, "seed": seed, "n_chains": n_chains}
        chosen["parts"] = tuple(dict.fromkeys(parts)) or (None if start is None else ("chains",))
        settings = replace(
            settings, **{key: value for key, value in chosen.items() if value is not None}
        )
        settings = settings if start is None else settings.going_on(str(start.resolve()))
    elif parts or any(option is not None for option in (budget, seed, n_chains, start)):
        raise InputError(
            f"{name} has no chains, their budget or seed; the experiments named *-posterior have."
        )
    elif n_seeds is not None:
        settings = type(settings)(**(vars(settings) | {"n_seeds": n_seeds}))
    kept = {"folder": folder} if experiment.keeps else {}
    return experiment.run(settings=settings, device=device_of(device), say=say, **kept)


def join(
    name: str, folders: Sequence[Path], *, device: str, say: Say, folder: Path | None = None
) -> Record:
    """Runs of an experiment with chains as one: of different seeds, or parts of one seed that ran alone.

    Args:
        name: a key of `EXPERIMENTS`.
        folders: those that `reproduce` was given.
        device: where to score.
        say: told a line at a time.
        folder: where to keep the averaged probabilities.
    """
    if not isinstance(named(name).settings, StudySettings):
        raise InputError(
            f"runs of {name} cannot be joined; those of experiments named *-posterior can."
        )
    return joining.joined(name, folders, device=device_of(device), say=say, folder=folder)


def named(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def device_of(name: str) -> torch.device:
    """The device of that name, if there is one."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device {name!r} cannot be used here; use cpu, or cuda where torch finds a GPU."
        ) from error
    return device


__all__ = ["EXPERIMENTS", "Experiment", "reproduce"]

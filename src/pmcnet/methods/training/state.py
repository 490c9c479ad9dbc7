"""Where a training stands after an epoch, and what it reports.

All that is random in a training follows from its seed and the epoch, so the tensors are everything.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.io.state_checks import check_whole, require
from pmcnet.rng import check_seed

Stage = Literal["fit", "start", "burn-in"]


class TrainingState(NamedTuple):
    """A training after some epochs.

    `tensors` are by name: parameters, averages of the optimiser, draws kept so far, the best epoch
    on validation rows, and the history, (epochs, 2) of validation loss (NaN without such rows) and
    seconds. `stage` says what is trained: the networks of a "fit", those from which a sampler is to
    "start", or chains in their "burn-in" on mini-batches.

    The tensors that an observer sees are those of the training itself, which its next epoch
    changes: write them to disk at once, or copy what is to be kept.
    """

    tensors: Mapping[str, Tensor]
    epoch: int
    seed: int
    stage: Stage = "fit"

    @property
    def step(self) -> int:
        """0: the state holds its whole history itself."""
        return 0

    @staticmethod
    def stored_types() -> tuple[type[Any], ...]:
        """None: it holds tensors by name."""
        return ()

    def check(self) -> None:
        """Refuse a state that no training has written; `check_tensors` compares its tensors."""
        check_seed(self.seed)
        check_whole(self.epoch, "epoch")
        require(self.stage in get_args(Stage), "stage", f"one of {', '.join(get_args(Stage))}")
        tensors = isinstance(self.tensors, Mapping) and all(
            isinstance(tensor, Tensor) for tensor in self.tensors.values()
        )
        require(tensors, "tensors", "tensors by name")


class EpochInfo(NamedTuple):
    """One epoch of a training; the loss per row on validation rows is None without them."""

    epoch: int
    n_epochs: int
    stage: Stage
    validation_loss: float | None
    seconds: float

    def line(self) -> dict[str, float | None]:
        """Its line of the history."""
        return {
            "epoch": self.epoch,
            "validation_loss": self.validation_loss,
            "seconds": self.seconds,
        }


def check_place(state: TrainingState, *, n_epochs: int, seed: int, stage: Stage) -> None:
    """Raise unless the state is of a training with this seed, for this stage, of no more epochs.

    Args:
        state: to go on from.
        n_epochs: epochs of the whole training.
        seed: of the training.
        stage: what is trained.
    """
    if state.stage != stage:
        raise _misfit(f"it is of a {state.stage}, and this is a {stage}")
    if state.seed != seed:
        raise _misfit(f"it is of seed {state.seed}, and this is of seed {seed}")
    if not 0 <= state.epoch <= n_epochs:
        raise _misfit(f"it has made {state.epoch} epochs, and this makes {n_epochs}")


def check_tensors(state: TrainingState, parts: Mapping[str, Tensor]) -> None:
    """Raise unless the state's tensors have the names, shapes and types of `parts`."""
    found = state.tensors
    if found.keys() != parts.keys():
        raise _misfit(
            f"it holds {', '.join(sorted(found)) or 'nothing'}; needed are "
            f"{', '.join(sorted(parts))}"
        )
    for name, part in parts.items():
        have, need = found[name], part
        if have.shape != need.shape or have.dtype != need.dtype:
            raise _misfit(
                f"its {name} is {tuple(have.shape)} of {have.dtype}; needed is {tuple(need.shape)} "
                f"of {need.dtype}"
            )


def refuse_state(name: str, state: TrainingState | None) -> None:
    """Raise where a state is given to a method that cannot go on from one."""
    if state is not None:
        raise InputError(
            f"{name} cannot go on from a state. Fit from the beginning: leave state out."
        )


def _misfit(why: str) -> InputError:
    return InputError(
        f"the training cannot go on from this state: {why:.300}. Continue with the settings and "
        "data it was begun with."
    )

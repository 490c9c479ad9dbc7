"""What goes along with the fit of a process that follows another: nothing but the state to go on from."""

from pmcnet.estimators.observer import Companion
from pmcnet.methods.checkpoint import AnyState


class Follower(Companion):
    """Hands over the state that the first process has found.

    Args:
        state: to go on from.
    """

    def __init__(self, state: AnyState | None) -> None:
        self._state = state

    def resumed(self) -> AnyState | None:
        """The state to go on from."""
        return self._state

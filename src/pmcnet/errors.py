"""What the library raises. Every text says what was given, what is allowed and what to do."""


class PMCNetError(Exception):
    """Root of everything the library raises on purpose."""


class InputError(PMCNetError, ValueError):
    """An argument has the wrong shape, type or range."""


class AbsentError(InputError, AttributeError):
    """A model has nothing of that name, as it was fitted; `hasattr` says so too."""


class TargetError(PMCNetError, ValueError):
    """A target returned something that is not a log-density or its derivative."""


class DegenerateWeightsError(PMCNetError, ArithmeticError):
    """No draw has positive weight, so there is nothing to normalise, resample or average."""


class DivergedError(PMCNetError, ArithmeticError):
    """Training or sampling has left the networks from which finite predictions follow."""


class ModelFileError(InputError):
    """A model file is missing, damaged, changed, from a newer version or of another kind."""


class ProcessLostError(PMCNetError, RuntimeError):
    """Another process of a shared run has ended or cannot be reached."""


class CompetitorFailed(PMCNetError):
    """The model of another library did not come to a prediction; the text is the reason."""


class UnseenLevelsWarning(UserWarning):
    """Rows have cells that training had nothing like; `counts` are the rows, by column.

    These are levels that no training row had, and words where training had numbers or dates.
    """

    def __init__(self, counts: dict[str, int]) -> None:
        listed = ", ".join(f"{name!r} in {n} rows" for name, n in list(counts.items())[:5])
        more = f" and {len(counts) - 5} more columns" if len(counts) > 5 else ""
        super().__init__(f"cells unlike those of training count as missing: {listed}{more}.")
        self.counts = counts


class DriftWarning(UserWarning):
    """New rows are far less probable than the model expected of such rows."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"the new rows are far less probable than the model expected. {found} Look at them; if "
            "their source has changed, fit again on rows of the new one."
        )


class RunInterrupted(PMCNetError):
    """A run was stopped from outside, by the signal of that number; the text says how to go on."""

    def __init__(self, text: str, signal: int = 2) -> None:
        super().__init__(text)
        self.signal = signal


class RunFailed(PMCNetError):
    """A run could not write its files; the text says how to go on."""

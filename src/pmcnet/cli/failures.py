"""How commands fail: a sentence on standard error and an exit code.

The code is 2 for bad input, 1 for a failure inside, 130 and 143 for signals.
"""

import os
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from signal import SIGTERM
from typing import Any

import click

from pmcnet.errors import (
    DriftWarning,
    InputError,
    PMCNetError,
    ProcessLostError,
    RunInterrupted,
    UnseenLevelsWarning,
)

_SHOWN = (UnseenLevelsWarning, DriftWarning)  # as sentences


class Refused(click.ClickException):
    """Bad input."""

    exit_code = 2


class Stopped(click.ClickException):
    """Ctrl-C."""

    exit_code = 130


class Terminated(click.ClickException):
    """SIGTERM."""

    exit_code = 143


class Commands(click.Group):
    """A group whose commands fail in one sentence; --debug shows the traceback before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options before the command."""
        try:
            return super().parse_args(ctx, args)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise Refused(_usage(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, turning errors into sentences and exit codes."""
        try:
            with warnings.catch_warnings():
                for kind in _SHOWN:
                    warnings.simplefilter("always", kind)
                warnings.showwarning = partial(_shown, warnings.showwarning)
                return super().invoke(ctx)
        except click.UsageError as error:
            raise Refused(_usage(error)) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt as error:
            raise Stopped("interrupted.") from error
        except Exception as error:
            if ctx.params.get("debug"):
                click.echo(traceback.format_exc(), err=True, nl=False)
            raise _once(_plain(error), error) from error


def _shown(
    otherwise: Callable[..., None],
    message: Warning | str,
    category: type[Warning],
    *where: Any,
    **more: Any,
) -> None:
    """A warning of this package as a sentence, others as Python has them."""
    if issubclass(category, _SHOWN):
        click.echo(str(message), err=True)
    else:
        otherwise(message, category, *where, **more)


def _plain(error: Exception) -> click.ClickException:
    """The sentence and exit code of an error."""
    if isinstance(error, RunInterrupted):
        return (Terminated if error.signal == SIGTERM else Stopped)(str(error))
    if isinstance(error, InputError):
        return Refused(str(error))
    if isinstance(error, PMCNetError):
        return click.ClickException(str(error))
    if isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "memory" in str(error)
    ):  # torch's
        return click.ClickException(
            "there is not enough memory for this. Give fewer rows or columns, or a smaller network."
        )
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return click.ClickException(
        f"a failure inside pmcnet ({words}). Run it again with pmcnet --debug to see where."
    )


def _once(plain: click.ClickException, error: Exception) -> click.ClickException:
    """Of several processes the first speaks; the others where they have something else to say."""
    if "RANK" not in os.environ or not isinstance(
        error, InputError | ProcessLostError | RunInterrupted
    ):
        return plain
    from pmcnet.distributed import is_follower  # slow to import

    if is_follower():
        raise SystemExit(plain.exit_code)
    return plain


def _usage(error: click.UsageError) -> str:
    """What click says of options and arguments, with where to read on."""
    words = " ".join(error.format_message().split())
    return f"{words} See: {error.ctx.command_path if error.ctx else 'pmcnet'} --help"

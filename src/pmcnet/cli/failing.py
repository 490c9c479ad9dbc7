"""How commands fail: one sentence on standard error; 2 for bad input, 1 for a failure inside, 130 when interrupted."""

from typing import Any

import click

from pmcnet.errors import InputError, PMCNetError, RunInterrupted


class Refused(click.ClickException):
    """Bad input."""

    exit_code = 2


class Stopped(click.ClickException):
    """Ctrl-C."""

    exit_code = 130


class Commands(click.Group):
    """A group whose commands fail plainly; with --debug the traceback is shown."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, turning errors into sentences and exit codes."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except RunInterrupted as error:
            raise Stopped(str(error)) from error
        except KeyboardInterrupt as error:
            raise Stopped("interrupted.") from error
        except BrokenPipeError as error:
            raise click.exceptions.Exit(0) from error
        except InputError as error:
            raise self._plain(ctx, error, Refused(str(error))) from error
        except PMCNetError as error:
            raise self._plain(ctx, error, click.ClickException(str(error))) from error
        except MemoryError as error:
            raise self._plain(ctx, error, click.ClickException("there is not enough memory for this.")) from error
        except Exception as error:
            text = f"a failure inside pmcnet ({type(error).__name__}: {error}). Run it again with pmcnet --debug."
            raise self._plain(ctx, error, click.ClickException(text)) from error

    def _plain(self, ctx: click.Context, error: BaseException, plain: click.ClickException) -> BaseException:
        return error if ctx.params.get("debug") else plain

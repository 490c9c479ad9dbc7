"""How commands fail: one sentence on standard error, exit code 2 for bad input and 1 for a failure inside."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from pmcnet.errors import InputError, PMCNetError


@contextmanager
def plainly() -> Iterator[None]:
    """Turn the library's errors into click's, which print a sentence and no traceback."""
    try:
        yield
    except InputError as error:
        raise click.UsageError(str(error)) from error
    except PMCNetError as error:
        raise click.ClickException(str(error)) from error

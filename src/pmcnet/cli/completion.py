"""`pmcnet completion SHELL`: the script that makes a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    For bash, add to ~/.bashrc: eval "$(pmcnet completion bash)"
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "pmcnet", "_PMCNET_COMPLETE").source())

"""The command line: one short adapter per command; heavy imports happen inside the commands."""

import click

from pmcnet import __version__
from pmcnet.cli.reproduce import reproduce


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pmcnet")
def main() -> None:
    """Bayesian neural networks by adaptive importance sampling."""


main.add_command(reproduce)

"""The command line: one short adapter per command; heavy imports happen inside the commands."""

import click

from pmcnet import __version__
from pmcnet.cli.compare import compare
from pmcnet.cli.completion import completion
from pmcnet.cli.datasets import datasets
from pmcnet.cli.demo import demo
from pmcnet.cli.diagnose import diagnose
from pmcnet.cli.evaluate import evaluate
from pmcnet.cli.explain import explain
from pmcnet.cli.failures import Commands
from pmcnet.cli.fit import fit
from pmcnet.cli.predict import predict
from pmcnet.cli.report import report
from pmcnet.cli.reproduce import reproduce
from pmcnet.cli.resume import resume
from pmcnet.cli.update import update


@click.group("pmcnet", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pmcnet")
@click.option("--debug", is_flag=True, help="Show the traceback when something fails.")
def main(debug: bool) -> None:
    """Bayesian neural networks with uncertainty you can trust, from a table in minutes."""


for command in (
    demo, fit, predict, evaluate, explain, diagnose, resume, update, compare, report, reproduce,
    datasets, completion,
):  # fmt: skip
    main.add_command(command)

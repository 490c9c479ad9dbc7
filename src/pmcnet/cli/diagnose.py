"""`pmcnet diagnose RUN`: can the posterior be trusted, and what to do if not."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diagnose(run: Path, as_json: bool) -> None:
    """Verdict, effective draws, k-hat and evidence of RUN, and what to do."""
    from pmcnet.cli.output import number, print_json, print_table, print_verdict
    from pmcnet.cli.run_model import load_model
    from pmcnet.estimators.evaluation.figure_data import diagnostics
    from pmcnet.runs.advice import advice

    model = load_model(run, "cpu")
    found = diagnostics(model.posterior_)
    steps = advice(model)
    if as_json:
        print_json(
            {
                **found,
                "method": model.method_,
                "model": model.formulation_._asdict(),
                "prior_std": model.prior_std_,
                "advice": steps,
            }
        )
        return
    print_verdict(found)
    rows = [
        ["method", model.method_],
        ["draws", str(found["n_draws"])],
        ["effective draws", number(found["ess"])],
        ["k-hat", number(found["khat"])],
        *_errors(found, number),
        [
            "log evidence",
            f"{number(found['log_evidence'])} +- {number(found['log_evidence_error'])}",
        ],
        ["", found["evidence"]],
        ["model", model.formulation_.described],
        ["steps", str(len(model.history_))],
    ]
    print_table(["", ""], rows, f"diagnostics of {run}")
    for step in steps:
        click.echo(f"- {step}")


def _errors(found: Mapping[str, Any], number: Callable[[Any], str]) -> list[list[str]]:
    """What is known of the error of predictions."""
    if not found["n_islands"]:
        return []
    unit = "total variation" if found["quantity"] == "probabilities" else "of the spread"
    return [
        ["islands or chains", str(found["n_islands"])],
        ["error of predictions", f"{number(found['error'])} {unit}"],
        ["for one row in ten", f"{number(found['error_upper'])} {unit}"],
        *(
            [["error of the predictive deviation", f"{number(found['std_error'])} of it"]]
            if found["std_error"] is not None
            else []
        ),
        ["nested R-hat", number(found["rhat"])],
    ]

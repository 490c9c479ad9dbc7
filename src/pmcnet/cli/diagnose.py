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
    from pmcnet.cli.output import number, print_advice, print_json, print_table, print_verdict
    from pmcnet.cli.run_model import load_model
    from pmcnet.estimators.evaluation.figure_data import diagnostics
    from pmcnet.estimators.evaluation.model_report import unscored_record
    from pmcnet.reports.advice import advice
    from pmcnet.reports.record import checked_record
    from pmcnet.runs.folder import RunFolder, read_json

    model = load_model(run, "cpu")
    found = diagnostics(model.posterior_)
    stored = RunFolder(run).report_data  # knows test rows, and a model alone does not
    known = checked_record(read_json(stored)) if stored.is_file() else unscored_record(model)
    steps = advice(known)
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
        *_evidence(found, number),
        ["model", model.formulation_.described],
        ["steps", str(len(model.history_))],
    ]
    print_table(["", ""], rows, f"diagnostics of {run}")
    print_advice(steps)


def _evidence(found: Mapping[str, Any], number: Callable[[Any], str]) -> list[list[str]]:
    """Log Z, where the method estimates it."""
    if found["log_evidence"] is None:
        return [["log evidence", "not estimated by this method"]]
    stated = f"{number(found['log_evidence'])} +- {number(found['log_evidence_error'])}"
    return [["log evidence", stated], ["", found["evidence"]]]


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

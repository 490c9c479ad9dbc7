"""The table, timing and figures of the large experiments, from their records."""

import statistics

from pmcnet.paper import published, result_table
from pmcnet.runs.figure_data import Record

LABELS = {
    "adam-mle": "ADAM-MLE",
    "adam-map": "ADAM-MAP",
    "ensemble": "deep ensemble (the start)",
    "bbp": "BBP",
    "sgld": "SGLD",
    "mc-dropout": "MCDropout",
    "sae": "SAE",
    "pmcnet-light": "PMCnet-light, exact weights",
    "pmcnet-light, equal weights": "PMCnet-light, equal weights",
}
_CAPTION = (
    "Exact weights are the algorithm's own: with one effective network they make a single network, "
    "not a posterior. "
    "Equal weights count every draw of the last step once: a population of good modes, not a "
    "posterior either. "
    "Seconds: ADAM-MLE and the ensemble are the starting networks, trained as one batch; "
    "PMCnet-light goes on from "
    "them, and its own steps are counted; choosing settings is not."
)


def deep_table(name: str, runs: dict[str, list[Record]]) -> Record:
    """One row per method, the paper's number beside it."""
    columns = list(published.DEEP[name]["pmcnet-light"])
    rows = []
    for method, found in _ordered(runs).items():
        known = published.DEEP[name].get(method.removesuffix(", equal weights"), {})
        if method == "bbp":
            rows.append(
                result_table.row(
                    "BBP, mean network", [run["at_mean"] for run in found], columns, known
                )
            )
        rows.append(result_table.row(LABELS[method], found, columns, known))
    return {"title": name, "columns": columns, "rows": rows, "caption": _CAPTION}


def deep_timing(name: str, runs: dict[str, list[Record]]) -> list[Record]:
    """Seconds of training and milliseconds per test row, the paper's beside them for MNIST-C."""
    rows = []
    for method, found in _ordered(runs).items():
        known = published.DEEP_SECONDS.get(method) if name == "mnist-c" else None
        rows.append(
            {
                "method": LABELS[method],
                "fit_seconds": statistics.fmean(run["seconds"] for run in found),
                "milliseconds_per_row": statistics.fmean(
                    run["milliseconds_per_row"] for run in found
                ),
                "paper": list(known) if known else None,
            }
        )
    return rows


def deep_figures(name: str, runs: dict[str, list[Record]]) -> Record:
    """Confusion matrices of classes, squared errors of regressions."""
    first = {LABELS[method]: found[0] for method, found in _ordered(runs).items()}
    if "confusion" in next(iter(first.values())):
        return {"confusion": {label: record["confusion"] for label, record in first.items()}}
    return {"squared_errors": {label: record["squared_errors"] for label, record in first.items()}}


def _ordered(runs: dict[str, list[Record]]) -> dict[str, list[Record]]:
    """The methods that ran, in the order of the table."""
    return {method: runs[method] for method in LABELS if method in runs}

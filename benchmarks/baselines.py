"""Do the baselines reach the paper's numbers for them on its shallow problems?

Each method is tuned among six settings on the validation rows and run with five seeds on the
paper's rows; the paper's accuracy stands beside ours. (`pmcnet reproduce NAME` prints the same rows
with PMCnet's.)

    python benchmarks/baselines.py --json docs/results/baselines.json
"""

import argparse
import json
import statistics
from pathlib import Path

import torch

from pmcnet.methods.settings import N_CHOICES
from pmcnet.paper.baselines import run_baseline
from pmcnet.paper.problem import paper_problem
from pmcnet.paper.result_table import BASELINES
from pmcnet.paper.tables import glass, ionosphere, wine

TABLES = {"ionosphere": ionosphere, "wine": wine, "glass": glass}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default=",".join(TABLES))
    parser.add_argument("--methods", default=",".join(BASELINES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.names.split(","):
        problem = paper_problem(name, torch.device("cpu"))
        for method in arguments.methods.split(","):
            runs = run_baseline(
                method,
                problem,
                n_seeds=arguments.seeds,
                n_choices=N_CHOICES,
                n_passes=100,
                extra={},
                say=lambda _: None,
            )
            own = [run["at_mean"] if method == "bbp" else run for run in runs]
            accuracy = [run["per_draw"]["accuracy"]["mean"] for run in own]
            paper = TABLES[name].PUBLISHED.rows.get(method, {}).get("accuracy")
            bar = None if paper is None else paper[0] - (paper[1] or 0.02)
            row = {
                "name": name,
                "method": method,
                "accuracy": statistics.fmean(accuracy),
                "spread": statistics.pstdev(accuracy),
                "averaged_accuracy": statistics.fmean(run["bma"]["accuracy"] for run in runs),
                "averaged_nll": statistics.fmean(
                    run["bma"]["nll"] for run in runs if run["bma"]["nll"] is not None
                ),
                "auc": statistics.fmean(run["per_draw"]["auc"]["mean"] for run in own),
                "paper": paper,
                "bar": bar,
                "reached": None if bar is None else statistics.fmean(accuracy) >= bar,
                "choice": runs[0]["choice"],
                "seconds": statistics.fmean(run["seconds"] for run in runs),
                "milliseconds_per_row": statistics.fmean(
                    run["milliseconds_per_row"] for run in runs
                ),
            }
            rows.append(row)
            print(
                {key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()},
                flush=True,
            )
            if arguments.json:
                arguments.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

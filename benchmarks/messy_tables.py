"""Does `pmcnet fit TABLE.csv --target COLUMN` do on tables as people have them?

Each table of `messy_table_makers` is written to CSV and fitted by the command, with no option but
the target (and --budget where it is given). Beside it stands scikit-learn's histogram gradient
boosting with its defaults, on the same training and test rows: strings and categories by
OrdinalEncoder, dates as they are written. The score is R squared, or accuracy; a table counts where
pmcnet's is at most .02 below that of boosting. Rows are stored one by one, and what is there is not
run again.

    pip install statsmodels lifelines palmerpenguins
    python benchmarks/messy_tables.py --json messy_tables.json
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.preprocessing import OrdinalEncoder

from messy_table_makers import TABLES, made

SHORT = 0.02
"""How far below boosting a score may be to count."""


def boosting(frame: pd.DataFrame, target: str, test: np.ndarray, regression: bool) -> float:
    """The score of gradient boosting on the same test rows."""
    frame = frame[frame[target].notna()]
    x = frame.drop(columns=target)
    strings = [name for name in x if not pd.api.types.is_numeric_dtype(x[name].dtype)]
    if strings:
        encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
        )
        words = x[strings].astype(object).map(str, na_action="ignore")
        x[strings] = encoder.fit_transform(words)
    held = frame.index.isin(test)
    y = frame[target] if regression else frame[target].astype(str)
    make = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    model = make(random_state=0).fit(x[~held], y[~held])
    score = r2_score if regression else accuracy_score
    return float(score(y[held], model.predict(x[held])))


def measured(name: str, budget: str | None) -> dict[str, Any]:
    """Of one table."""
    frame, target = made(name)
    with tempfile.TemporaryDirectory() as folder:
        file, run = Path(folder) / "table.csv", Path(folder) / "run"
        frame.to_csv(file, index=False)
        command = [sys.executable, "-m", "pmcnet", "fit", file, "--target", target, "--out", run]
        command += ["--budget", budget] if budget else []
        start = time.monotonic()
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        seconds = time.monotonic() - start
        row: dict[str, Any] = {"table": name, "shape": list(frame.shape), "seconds": seconds}
        if done.returncode:
            lines = done.stderr.strip().split("\n")
            return row | {"failed": lines[-1], "traceback": "Traceback" in done.stderr}
        metrics = json.loads((run / "metrics.json").read_text())
        report = json.loads((run / "report.json").read_text())
        test = pd.read_csv(run / "predictions.csv")["row"].to_numpy() - 1
    regression = metrics["task"] == "regression"
    bma = metrics["bma"]
    return row | {
        "task": metrics["task"],
        "model": report["summary"]["model"],
        "score": bma["r2"] if regression else bma["accuracy"],
        "boosting": boosting(frame, target, test, regression),
        "verdict": metrics["diagnostics"]["verdict"],
        "n_test": len(test),
        "columns": {
            kind: sum(one["kind"] == kind for one in report["columns"])
            for kind in {one["kind"] for one in report["columns"]}
        },
    }


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    if "failed" in row:
        return f"{row['table']:14} failed: {row['failed']}"
    fine = row["score"] >= row["boosting"] - SHORT
    return (
        f"{row['table']:14} {row['shape'][0]:5d} x {row['shape'][1]:<3d} {row['task']:15}"
        f"{row['score']:8.3f} {row['boosting']:8.3f} {'yes' if fine else 'no':4}"
        f"{row['seconds']:7.0f} s  {row['verdict']}"
    )


def main() -> None:
    """Run what is not stored yet, and print all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--budget")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    stored = json.loads(args.json.read_text()) if args.json.exists() else {"rows": []}
    rows, known = stored["rows"], {row["table"] for row in stored["rows"]}
    for name in args.tables.split(","):
        if name not in known:
            rows.append(measured(name, args.budget))
            args.json.write_text(json.dumps({"budget": args.budget, "rows": rows}, indent=1) + "\n")
        print(line(next(row for row in rows if row["table"] == name)), flush=True)
    good = [row for row in rows if "score" in row and row["score"] >= row["boosting"] - SHORT]
    print(f"{len(good)} of {len(rows)} at least boosting - {SHORT}")


if __name__ == "__main__":
    main()

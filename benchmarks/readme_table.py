"""The README's table of results, written from the JSON files in docs/results.

Each row is a function of one file. `make results` calls this script; tests/test_readme.py fails
where README and files differ.

    python benchmarks/readme_table.py            # write
    python benchmarks/readme_table.py --check    # say whether they differ
"""

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "docs" / "results"
BEGIN, END = "<!-- results: make results -->", "<!-- end of results -->"


def stored(name: str) -> Any:
    """What a JSON file of docs/results holds."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def short(value: float, digits: int) -> str:
    """A number without the zero before the point."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}")


def stated_errors() -> str:
    """How often a stated error is within a factor 2 of the true one."""
    bank = stored("bank")
    runs, cases = bank["summary"]["all"], len(bank["rows"])
    return (
        f"within a factor {bank['settings']['factor']:.0f} in {runs['n_right']} of"
        f" {runs['n_runs']} runs, {cases} posteriors"
    )


def messy_tables() -> str:
    """Tables on which the score is at least that of boosting less .02."""
    rows = stored("messy_tables")["rows"]
    level = sum(row["score"] >= row["boosting"] - 0.02 for row in rows)
    trusted = sum(row["verdict"] == "trustworthy" for row in rows)
    return f"at least its score less .02 on {level} of {len(rows)}; {trusted} `trustworthy`"


def uci_islands() -> str:
    """Log-likelihoods of eight islands on test rows."""
    found = {row["name"]: row["log_likelihood"] for row in stored("uci_islands_h200")["rows"]}
    return (
        f"concrete {short(found['concrete'], 2)}, energy {short(found['energy'], 2)},"
        f" wine {short(found['wine-quality-red'], 2)}"
    )


def other_packages() -> str:
    """On how many tables each package has the best log-likelihood, and how long it takes."""
    rows = stored("versus_packages")["rows"]
    tables = sorted({row["table"] for row in rows})
    models = sorted({row["model"] for row in rows})

    def mean(model: str, table: str) -> float:
        own = [r for r in rows if (r["model"], r["table"]) == (model, table)]
        return sum(row["log_likelihood"] for row in own) / len(own)

    best = [max(models, key=lambda model: mean(model, table)) for table in tables]
    seconds = {
        model: sum(row["fit_seconds"] for row in rows if row["model"] == model)
        for model in ("pmcnet", "bde")
    }
    return (
        f"best on {best.count('pmcnet')} of {len(tables)}, `bde` on {best.count('bde')}, with"
        f" {100 * seconds['bde'] / seconds['pmcnet']:.0f} % of the seconds"
    )


def likelihoods() -> str:
    """Splits on which the fit is ahead of the standard model."""
    rows = stored("likelihood_tables")["rows"]
    ahead: dict[str, int] = defaultdict(int)
    for row in rows:
        ahead[row["table"]] += row["ahead"] > 0
    each = len(rows) // len(ahead)
    return "ahead on " + ", ".join(f"{name} {n} of {each}" for name, n in ahead.items()) + " splits"


def prior_by_evidence() -> str:
    """Test accuracy with the prior's scale chosen by the evidence."""
    accuracy: dict[str, list[float]] = defaultdict(list)
    for row in stored("evidence_prior_h200")["rows"]:
        accuracy[row["name"]].append(row["accuracy"])
    return ", ".join(f"{name} {short(mean(of), 3)}" for name, of in accuracy.items())


def prediction() -> str:
    """Rows predicted per second."""
    rate = stored("table_speed")["predict"]["rows_per_second"]
    return f"{round(rate, -3):,.0f} rows per second".replace(",", " ")


def deep_chains() -> str:
    """Accuracy of chains of ResNet-20, and of an ensemble in about the same time."""
    rows = stored("cifar10_posterior")["rows"]
    chains, ensemble = (
        rows[name]["scores"] for name in ("SGHMC chains, approximate", "ensemble, same time")
    )
    return (
        f"accuracy {short(chains['accuracy'], 4)}, ECE {short(chains['ece'], 3)}; an ensemble"
        f" {short(ensemble['accuracy'], 4)}, {short(ensemble['ece'], 3)}"
    )


ROWS = (
    ("stated beside true errors of predictions", stated_errors, "stated_errors"),
    ("32 messy tables beside gradient boosting, 60 s each", messy_tables, "tables"),
    ("UCI regression, log-likelihood of test rows", uci_islands, "regression"),
    ("six tables beside five other packages", other_packages, "regression"),
    ("counts, censored times, ordered classes beside standard models", likelihoods, "likelihoods"),
    ("prior by the evidence, test accuracy", prior_by_evidence, "evidence"),
    ("prediction of a million rows, 100 draws, two cores", prediction, "cost"),
    ("chains of ResNet-20 on CIFAR10, one H200", deep_chains, "chains"),
)


def table() -> str:
    """The table in Markdown, with a link from each question to its page."""
    lines = ["| question | result |", "|---|---|"]
    for question, found, page in ROWS:
        lines.append(f"| [{question}](docs/results/{page}.md) | {found()} |")
    return "\n".join(lines)


def written(text: str) -> str:
    """A README with the table between its marks."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def main() -> None:
    """Write the table, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    text = README.read_text()
    if parser.parse_args().check:
        sys.exit(
            0 if text == written(text) else "README.md differs from docs/results: make results"
        )
    README.write_text(written(text))


if __name__ == "__main__":
    main()

"""Do the bands of effects cover the true effects? A known function, noise by row, 20 tables.

y = 1.5 sin(2 x_0) + x_1^2 / 2 + x_2 x_3 + noise, with x_0 and x_1 correlated, x_4 without effect
and a standard deviation of the noise of 0.2 exp(x_1 / 2). The true effects are the partial
dependence and the accumulated local effects of that function on the very rows over which the
model's are averaged.

    OMP_NUM_THREADS=1 python benchmarks/effect_coverage.py --json docs/results/effect_coverage.json
"""

import argparse
import json
import time
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from pmcnet import PMCNetRegressor
from pmcnet.estimators.explanations.column_effects import ColumnRows, accumulated, dependence

N_COLUMNS = 5
CORRELATION = 0.5
OPTIONS = {"n_islands": 4, "n_particles": 20}


def truth(x):
    """The mean of y (N,) at rows (N, 5)."""
    return 1.5 * np.sin(2 * x[:, 0]) + x[:, 1] ** 2 / 2 + x[:, 2] * x[:, 3]


def table(seed, n_rows):
    """Rows and responses."""
    source = np.random.default_rng(seed)
    x = source.normal(size=(n_rows, N_COLUMNS))
    x[:, 1] = CORRELATION * x[:, 0] + np.sqrt(1 - CORRELATION**2) * x[:, 1]
    x = np.clip(x, -2.5, 2.5)
    return x, truth(x) + 0.2 * np.exp(x[:, 1] / 2) * source.normal(size=n_rows)


def true_effects(x, column, points):
    """Partial dependence and accumulated local effects of the truth (m,)."""

    def predict(rows):
        return truth(rows.numpy())[None, :, None]

    own = torch.arange(N_COLUMNS) == column
    grid = torch.zeros(len(points), N_COLUMNS, dtype=torch.float64)
    grid[:, column] = torch.as_tensor(points)
    inside = (x[:, column] >= points[0]) & (x[:, column] <= points[-1])
    average, _ = dependence(predict, ColumnRows(torch.as_tensor(x), own, grid))
    some = ColumnRows(torch.as_tensor(x[inside]), own, grid)
    local = accumulated(predict, some, points, x[inside, column])
    return average[0, :, 0], local[0, :, 0]


def coverage(model, x, level):
    """Whether the bands cover, by column: (2, 5, m) for partial dependence and ALE."""
    found = model.effects(x, n_networks=200)
    ends = ((1 - level) / 2, (1 + level) / 2)
    covered = {}
    for each in found.columns:
        column = int(each.feature.split()[-1])
        true = true_effects(x[found.rows], column, each.grid.numbers)
        for kind, by_network, right in zip(
            ("partial", "accumulated"), (each.partial, each.accumulated), true, strict=True
        ):
            low, high = np.quantile(by_network[..., 0], ends, axis=0)
            covered[kind, column] = ((low <= right) & (right <= high)).mean()
    return covered


def fitted(seed, n_rows, hidden, options):
    """A model of one table, and its rows."""
    x, y = table(seed, n_rows)
    model = PMCNetRegressor(
        (hidden,),
        likelihood="gaussian",
        noise="by-row",
        prior_std="layer",
        method="annealed",
        method_options=options,
        random_state=seed,
        device="cpu",
    )
    return model.fit(x, y), x


def studied(seed, n_rows, hidden):
    """Shares of grid points that are covered, by level, kind and column, of one table."""
    start = time.process_time()
    model, x = fitted(seed, n_rows, hidden, OPTIONS)
    seconds = time.process_time() - start
    line = {"seed": seed, "fit_seconds": round(seconds, 1), "verdict": model.verdict_.status}
    for level in (0.8, 0.95):
        for (kind, column), share in coverage(model, x, level).items():
            line[f"{kind} {level} {column}"] = round(float(share), 4)
    return line


def study(seeds, n_rows, hidden, processes=1):
    """A line for each seed, in order; seconds are those of a processor."""
    ask = partial(studied, n_rows=n_rows, hidden=hidden)
    lines = []
    with get_context("spawn").Pool(processes) as pool:
        for line in pool.imap(ask, seeds):
            lines.append(line)
            print(json.dumps(line), flush=True)
    return lines


def summary(lines):
    """Average coverage by level and kind, with the standard error over seeds, and by column."""
    found = {}
    for level in (0.8, 0.95):
        for kind in ("partial", "accumulated"):
            each = np.array(
                [[line[f"{kind} {level} {c}"] for c in range(N_COLUMNS)] for line in lines]
            )
            found[f"{kind} {level}"] = {
                "coverage": round(float(each.mean()), 4),
                "std_error": round(float(each.mean(1).std(ddof=1) / np.sqrt(len(lines))), 4),
                "by_column": each.mean(0).round(4).tolist(),
            }
    return found


def main():
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--hidden", type=int, default=8)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    lines = study(range(asked.seeds), asked.rows, asked.hidden, asked.processes)
    found = {
        "rows": asked.rows,
        "hidden": asked.hidden,
        "method_options": OPTIONS,
        "summary": summary(lines),
        "seeds": lines,
    }
    print(json.dumps(found["summary"], indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

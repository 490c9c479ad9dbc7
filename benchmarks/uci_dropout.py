"""Does our MC dropout reach the stored results of Gal's on UCI concrete and energy, split by split?

Hernandez-Lobato's 20 splits; inputs and target standardised by the training rows; one hidden layer
of 50 relu units, dropout on inputs and hidden units with its rate chosen among .005, .01, .05 and
.1 on a fifth of the training rows, then trained on all of them; Adam, batch 128, the prior's
lengthscale 1e-2. Gal trains 4000 epochs with a grid of precisions; here fewer epochs, and the
precision follows the squared error of the passes on the held-out rows.

    python benchmarks/uci_dropout.py --data DIR --epochs 1000 --json docs/results/uci_dropout.json
"""

import argparse
import json
import math
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn import MLP, BayesianTarget, Gaussian, GaussianPrior, Population
from pmcnet.methods.mc_dropout import MCDropout

RATES = (0.005, 0.01, 0.05, 0.1)
PRIOR_STD = 100.0  # one over the lengthscale


def rows_of(file: Any, split: int) -> tuple[Tensor, Tensor, Tensor, Tensor, float]:
    """Standardised training and test rows, and the target's standard deviation."""
    x, y = file["X"].astype(float), file["y"].astype(float)
    train, test = file["index_train"][split].astype(int), file["index_test"][split].astype(int)
    spread = np.where(x[train].std(0) > 0, x[train].std(0), 1)
    scaled_x, scaled_y = (x - x[train].mean(0)) / spread, (y - y[train].mean()) / y[train].std()
    parts = [
        torch.as_tensor(a).float()
        for a in (scaled_x[train], scaled_y[train], scaled_x[test], scaled_y[test])
    ]
    return parts[0], parts[1], parts[2], parts[3], float(y[train].std())


def passes(x: Tensor, y: Tensor, rate: float, n_epochs: int, seed: int) -> Population:
    """A network trained with dropout, as its stochastic passes."""
    target = BayesianTarget(
        MLP((x.shape[1], 50, 1), "relu"),
        Gaussian(0.3),
        x,
        y,
        prior=GaussianPrior(PRIOR_STD),
        memory=1 << 24,
    )
    method = MCDropout(rate=rate, on_inputs=True, n_epochs=n_epochs, batch_size=128, n_passes=500)
    found = method.fit(target, seed=seed).posterior
    assert isinstance(found, Population)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--names", default="concrete,energy")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first split")
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.names.split(","):
        file = np.load(arguments.data / f"{name}.npz")
        for split in range(arguments.first, arguments.first + arguments.splits):
            start = time.perf_counter()
            x, y, x_test, y_test, scale = rows_of(file, split)
            order = torch.randperm(len(x), generator=torch.Generator().manual_seed(split))
            held, kept = order[: len(x) // 5], order[len(x) // 5 :]
            errors = {}
            for rate in RATES:
                mean = (
                    passes(x[kept], y[kept], rate, arguments.epochs, split)
                    .predict(x[held])
                    .mean[:, 0]
                )
                errors[rate] = float((mean - y[held]).square().mean())
            rate = min(errors, key=lambda r: errors[r])
            found = passes(x, y, rate, arguments.epochs, split)
            rmse = scale * float((found.predict(x_test).mean[:, 0] - y_test).square().mean().sqrt())
            noisy = replace(found, likelihood=Gaussian(math.sqrt(errors[rate])))
            density = float(noisy.log_predictive(x_test, y_test).mean()) - math.log(scale)
            rows.append(
                {
                    "name": name,
                    "split": split,
                    "rate": rate,
                    "rmse": rmse,
                    "log_likelihood": density,
                    "stored_rmse": float(file["mcdropout_test_MC_rmse_100ep_1h"][split]),
                    "stored_log_likelihood": float(file["mcdropout_test_ll_100ep_1h"][split]),
                    "seconds": time.perf_counter() - start,
                }
            )
            print(
                {k: round(v, 4) if isinstance(v, float) else v for k, v in rows[-1].items()},
                flush=True,
            )
        mine = [row for row in rows if row["name"] == name]
        gap = [row["rmse"] - row["stored_rmse"] for row in mine]
        error = statistics.stdev(gap) / math.sqrt(len(gap)) if len(gap) > 1 else math.nan
        print(
            name,
            "RMSE",
            statistics.fmean(row["rmse"] for row in mine),
            "difference",
            statistics.fmean(gap),
            "+-",
            error,
        )
        if arguments.json:
            settings = {"epochs": arguments.epochs, "splits": arguments.splits}
            arguments.json.write_text(
                json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n"
            )


if __name__ == "__main__":
    main()

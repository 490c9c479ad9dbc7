"""Control data: PMCnet and four variants, from means spread around one MLE solution."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Self

from pmcnet import ais
from pmcnet.bnn import BayesianTarget
from pmcnet.estimators.evaluation.figure_data import Record, diagnostics
from pmcnet.methods import Adam, Jitter, PMCMethod, Restarts
from pmcnet.paper.control_table import (
    COLUMNS,
    PRIOR_VARIANCE,
    ControlSettings,
    control_row,
    curves,
    grouped,
    recorded,
    true_accuracy,
)
from pmcnet.paper.experiment import Experiment, Session
from pmcnet.paper.paper_scores import StepScores, score
from pmcnet.paper.problem import Problem, control_problem
from pmcnet.paper.published import Cells

PUBLISHED: dict[str, Cells] = {
    "pmcnet": {"auc": (0.9304, 0.0051), "accuracy": (0.8948, 0.0089)},
    "gradfree": {"auc": (0.8326, 0.0955), "accuracy": (0.7347, 0.1143)},
    "covfree": {"auc": (0.9237, 0.0252), "accuracy": (0.8718, 0.0330)},
    "dm-pmc": {"auc": (0.7378, 0.1946), "accuracy": (0.6203, 0.1153)},
    "pmcnet-light": {"auc": (0.9336, 0.0009), "accuracy": (0.9064, 0.0021)},
}
CAPTION = (
    "Means start at one MLE solution + N(0, jitter^2). Equal weights show the population, exact "
    "ones the posterior."
)


@dataclass(frozen=True, kw_only=True)
class VariantsSettings(ControlSettings):
    """How the variants run.

    Args:
        n_train: training rows.
        sigmas: standard deviations of the first proposals, each in its turn.
        jitter: spread of the means around the solution.
        n_batches: mini-batches of the light variant.
    """

    n_epochs: int = 30
    n_train: int = 1600
    sigmas: tuple[float, ...] = (0.1, 0.5)
    jitter: float = 1.0
    n_batches: int = 16

    def quick(self) -> Self:
        """Sizes that finish in seconds."""
        return replace(super().quick(), n_train=100, sigmas=self.sigmas[:1], n_batches=4)


def run(settings: VariantsSettings, session: Session) -> Record:
    """Every variant, scored with exact and with equal weights."""
    runs: list[Record] = []
    figures: Record = {"roc": {}, "by_step": {}}
    for network, seed in product(settings.networks, range(settings.n_seeds)):
        problem, made = control_problem(settings.n_train, network, session.device)
        target = problem.target(PRIOR_VARIANCE, n_batches=settings.n_batches)
        solution = Restarts(Adam(n_epochs=settings.n_epochs))(target, 1, seed=seed)[0]
        start = Jitter(settings.jitter, solution=solution)
        known = {"network": network, "seed": seed, "true_accuracy": true_accuracy(problem, made)}
        for sigma, name in product(settings.sigmas, PUBLISHED):
            shown = (network, seed, sigma) == (settings.networks[0], 0, settings.sigmas[0])
            method = replace(settings, sigma=sigma).pmc(ais.VARIANTS[name], start)
            scored = _fitted(
                method, problem, target, seed, settings.n_passes, figures if shown else None, name
            )
            runs += [known | {"sigma": sigma, "variant": name} | one for one in scored]
        session.say(
            f"network {network}, seed {seed}: the true network's accuracy is "
            f"{known['true_accuracy']:.4f}"
        )
    groups = grouped(runs, "network", "sigma", "weights", "variant")
    rows = [
        control_row(f"{name}, sigma {sigma}, {weights}, network {network}", chosen, PUBLISHED[name])
        for (network, sigma, weights, name), chosen in groups.items()
    ]
    return {
        "experiment": "control-variants",
        "settings": recorded(settings, session),
        "table": {
            "title": "Control, variants",
            "columns": list(COLUMNS),
            "rows": rows,
            "caption": CAPTION,
        },
        "runs": runs,
        "figures": figures,
    }


def _fitted(
    method: PMCMethod,
    problem: Problem,
    target: BayesianTarget,
    seed: int,
    n_passes: int,
    figures: Record | None,
    name: str,
) -> list[Record]:
    """Scores of one fit with exact and with equal weights; its curves go to `figures`, if any."""
    steps = StepScores(problem.network, problem.likelihood, *problem.test, n_passes=n_passes)
    fit = method.fit(target, seed=seed, observers=[] if figures is None else [steps])
    posteriors = {"exact": fit.posterior, "equal": fit.posterior.equally_weighted()}
    runs = []
    for weights, posterior in posteriors.items():
        scored = score(posterior, *problem.test, n_passes=n_passes)
        # equal weights have no diagnostics of their own: the fit is judged by its exact ones
        runs.append({"weights": weights, **scored, "diagnostics": diagnostics(fit.posterior)})
        if figures is not None:
            figures["roc"][f"{name}, {weights} weights"] = curves(posterior, problem, n_passes)
            figures["by_step"][name] = steps.seen
    return runs


EXPERIMENT = Experiment("PMCnet and four variants on control", VariantsSettings(), run)

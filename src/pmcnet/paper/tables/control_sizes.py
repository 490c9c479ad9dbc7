"""Control data: PMCnet for three sizes of training set."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Self

from pmcnet import ais
from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.methods import Adam, Restarts
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
from pmcnet.paper.paper_scores import score
from pmcnet.paper.problem import control_problem
from pmcnet.paper.published import Cells

PUBLISHED: dict[int, Cells] = {
    50: {"auc": (0.9183, 0.0191), "accuracy": (0.8308, 0.0525), "f1": (0.7984, 0.0767)},
    400: {"auc": (0.9234, 0.0070), "accuracy": (0.8719, 0.0161), "f1": (0.8663, 0.0148)},
    1600: {"auc": (0.9304, 0.0051), "accuracy": (0.8948, 0.0089), "f1": (0.8871, 0.0098)},
}
CAPTION = (
    "The paper's network is not known, so its numbers are for another problem of the same kind."
)


@dataclass(frozen=True, kw_only=True)
class SizesSettings(ControlSettings):
    """With the numbers of training rows."""

    sizes: tuple[int, ...] = (50, 400, 1600)

    def quick(self) -> Self:
        """Sizes that finish in seconds."""
        return replace(super().quick(), sizes=(50, 100))


def run(settings: SizesSettings, session: Session) -> Record:
    """PMCnet on each number of rows of each network."""
    runs: list[Record] = []
    figure: Record = {}
    start = Restarts(Adam(n_epochs=settings.n_epochs))
    for network, size in product(settings.networks, settings.sizes):
        problem, made = control_problem(size, network, session.device)
        truth = true_accuracy(problem, made)
        for seed in range(settings.n_seeds):
            method = settings.pmc(ais.pmcnet, start)
            fit = method.fit(problem.target(PRIOR_VARIANCE), seed=seed)
            scored = score(fit.posterior, *problem.test, n_passes=settings.n_passes)
            known = {"network": network, "n_train": size, "seed": seed, "true_accuracy": truth}
            runs.append(known | scored)
            if network == settings.networks[0] and seed == 0:
                figure[f"{size} rows"] = curves(fit.posterior, problem, settings.n_passes)
        accuracy = runs[-1]["per_draw"]["accuracy"]["mean"]
        session.say(
            f"network {network}, {size} rows: accuracy {accuracy:.4f}, the true network {truth:.4f}"
        )
    rows = [
        control_row(f"network {network}, {size} rows", chosen, PUBLISHED.get(size, {}))
        for (network, size), chosen in grouped(runs, "network", "n_train").items()
    ]
    return {
        "experiment": "control-sizes",
        "settings": recorded(settings, session),
        "table": {
            "title": "Control, training sizes",
            "columns": list(COLUMNS),
            "rows": rows,
            "caption": CAPTION,
        },
        "runs": runs,
        "figures": {"roc": figure},
    }


EXPERIMENT = Experiment("PMCnet on 50, 400 and 1600 control rows", SizesSettings(), run)

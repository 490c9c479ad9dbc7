"""PMCnet-light at the paper's full scale, and every method it is compared with.

All networks are trained on the same rows, with the same augmentation and for the same number of
epochs. The M starting networks are ADAM-MLE; averaged they are the deep ensemble of the table. Each
of the other methods chooses one setting of its own among three, by its log predictive density on
validation rows after a share of the epochs.
"""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import torch

from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.paper import result_table
from pmcnet.paper.deep_baselines import CHOICES, trained
from pmcnet.paper.deep_light import LightRun
from pmcnet.paper.deep_settings import PRIOR_STD, TUNING_SHARE, DeepSettings
from pmcnet.paper.experiment import Experiment, Say, Session
from pmcnet.paper.paper_scores import problem_score, scores_line
from pmcnet.paper.problem import Problem
from pmcnet.paper.published import Published
from pmcnet.paper.result_table import BASELINES
from pmcnet.paper.stages import Stages

MakeProblem = Callable[[DeepSettings, torch.device], Problem]

LABELS = {method: BASELINES[method] for method in ("adam-mle", "adam-map")} | {
    "ensemble": "deep ensemble (the start)",
    **{method: BASELINES[method] for method in ("bbp", "sgld", "mc-dropout", "sae")},
    "pmcnet-light": "PMCnet-light, exact weights",
    "pmcnet-light, equal weights": "PMCnet-light, equal weights",
}
"""What the tables call each method, in their order."""

_CAPTION = (
    "Exact weights are the algorithm's own: with one effective network they make a single network, "
    "not a posterior. Equal weights count every draw of the last step once: a population of good "
    "modes, not a posterior either. Seconds: ADAM-MLE and the ensemble are the starting networks, "
    "trained as one batch; PMCnet-light goes on from them, and its own steps are counted; choosing "
    "settings is not."
)


def experiment(
    name: str,
    description: str,
    problem: MakeProblem,
    published: Published,
    settings: DeepSettings,
) -> Experiment[DeepSettings]:
    """The table of one dataset."""
    run = partial(_run, name, problem, published)
    return Experiment(description, settings, run, keeps_checkpoints=True)


def _run(
    name: str,
    make_problem: MakeProblem,
    published: Published,
    settings: DeepSettings,
    session: Session,
) -> Record:
    device, say = session.device, session.say
    problem = make_problem(settings, device)
    known = asdict(settings) | {"prior_std": PRIOR_STD, "tuning_share": TUNING_SHARE}
    # seeds may be added to a run
    fixed = {key: value for key, value in known.items() if key != "n_seeds"}
    stages = Stages(session.folder, name, fixed | {"device": device.type})
    found: dict[str, list[Record]] = {}
    for seed in range(settings.n_seeds):
        for method, record in LightRun(problem, settings, seed, stages, say).records().items():
            found.setdefault(method, []).append(record)
        for method in CHOICES if settings.baselines else ():
            record = _baseline(method, problem, settings, seed, stages, say)
            found.setdefault(method, []).append(record)
    runs = {method: found[method] for method in LABELS if method in found}
    columns = list(published.rows["pmcnet-light"])
    return {
        "experiment": name,
        "settings": known | {"device": _device_name(device)},
        "classes": list(problem.classes),
        "table": {
            "title": name,
            "columns": columns,
            "rows": result_table.method_rows(runs, LABELS, columns, published),
            "caption": _CAPTION,
        },
        "timing": result_table.timing(runs, LABELS, published),
        "runs": found,
        "figures": _figures(runs, "confusion" if problem.classes else "squared_errors"),
    }


def _baseline(
    method: str, problem: Problem, settings: DeepSettings, seed: int, stages: Stages, say: Say
) -> Record:
    """One method: its setting chosen on validation rows, then trained and scored."""
    if (finished := stages.record(f"{method}-{seed}")) is not None:
        return dict(finished)
    (posterior, *points), record = trained(method, problem, settings, seed)
    record |= problem_score(problem, posterior, n_passes=settings.n_passes)
    if points:
        record["at_mean"] = problem_score(problem, points[0], n_passes=settings.n_passes)
    say(f"{problem.name}, seed {seed}: {scores_line({method: record})}, {record['choice']}")
    stages.keep_record(f"{method}-{seed}", record)
    return record


def _figures(runs: dict[str, list[Record]], kind: str) -> Record:
    """Confusion matrices of classes, squared errors of regressions, of the first seed."""
    return {kind: {LABELS[method]: found[0][kind] for method, found in runs.items()}}


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type

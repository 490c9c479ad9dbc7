"""Posteriors of deep networks: parallel chains beside the ensemble they start from, at the same minutes, and others.

Chains begin at networks trained by Adam under the prior and sample until the budget is spent:
`chains`. Their averaged prediction is compared with that of the starting networks, of as many more
as can be trained in the same time, and of other methods: `rivals`. Images are not changed at random
for any of them.
"""

from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from signal import SIGINT

import numpy as np
import torch
from torch import Tensor

from pmcnet.errors import RunInterrupted
from pmcnet.io.atomic import write_whole
from pmcnet.paper import chains, deep_problems, rivals
from pmcnet.paper.networks import keep_networks
from pmcnet.paper.paper_scores import Say
from pmcnet.paper.stages import Stages
from pmcnet.paper.study import Settings, Study
from pmcnet.runs.figure_data import Record
from pmcnet.runs.fit import PATIENCE
from pmcnet.runs.signals import Stopping

SAMPLERS = {
    "hmc": ("Hamiltonian chains", chains.hmc),
    "sghmc": ("SGHMC chains, approximate", chains.sghmc),
}
_LABELS = {
    "sgld": "SGLD",
    "mc-dropout": "MC dropout",
    "pmcnet-light": "PMCnet-light, exact weights",
    "pmcnet-light, equal weights": "PMCnet-light, equal weights",
}
ENSEMBLE = "ensemble, same time"
_COLUMNS = ("accuracy", "nll", "ece", "auroc_entropy", "auroc_information")
MAY_CHANGE = ("budget", "marks", "parts")  # between calls that go on with each other


def run(
    name: str, *, settings: Settings, device: torch.device, say: Say, folder: Path | None = None
) -> Record:
    """The whole experiment as plain data.

    Args:
        name: a key of `deep_problems.POSTERIORS`.
        settings: sizes.
        device: where to run.
        say: told a line at a time.
        folder: keeps checkpoints, from which a run that was interrupted, or whose budget was
            raised, goes on.
    """
    with Stopping(lambda: say(PATIENCE)) as stop:
        study = made(name, settings=settings, device=device, say=say, folder=folder, stop=stop)
        try:
            return _run(study, folder)
        except KeyboardInterrupt as error:
            if folder is None:
                raise
            raise RunInterrupted(
                f"interrupted. The same call goes on from {folder}.", stop.number or SIGINT
            ) from error


def _run(study: Study, folder: Path | None) -> Record:
    settings = study.settings
    start, begun = chains.begun(study)
    rows = {"starting networks": begun}
    sampled = _sampled(study, start, begun["seconds"], folder) if "chains" in settings.parts else {}
    if "ensemble" in settings.parts:
        rows |= with_marks(ENSEMBLE, rivals.ensemble(study, start, begun["seconds"]))
    if "others" in settings.parts:
        rows |= labelled(rivals.others(study, start))
    rows |= sampled
    return {
        "experiment": study.problem.name,
        "settings": asdict(settings) | {"device": study.device.type},
        "table": table(study, rows),
        "rows": rows,
        "figures": {},
    }


def _sampled(study: Study, start: Tensor, seconds: float, folder: Path | None) -> dict[str, Record]:
    """Rows of the chains, whose averaged probabilities and last networks are kept."""
    label, sample = SAMPLERS[study.settings.sampler]
    record, probability, networks = sample(study, start, seconds)
    if folder is not None:
        keep_probability(folder, study, probability)
        keep_networks(folder / f"{study.problem.name}-networks.safetensors", networks)
    return with_marks(label, record)


def made(
    name: str,
    *,
    settings: Settings,
    device: torch.device,
    say: Say,
    folder: Path | None = None,
    stop: Stopping | None = None,
) -> Study:
    """The study of that name; the other arguments are those of `run`, and who may ask it to stop."""
    how = deep_problems.Evaluation(settings.precision, settings.compiled, settings.memory).on(
        device
    )
    problem = deep_problems.posterior_problem(name, device, how, limits=settings.limits)
    problem = problem._replace(label_count=settings.label_count)
    if problem.outliers is None and deep_problems.has_outliers(name):
        say(
            f"{name}: without crops of SVHN in the data folder, how well outliers are told apart "
            "is not measured"
        )
    fixed = {key: value for key, value in asdict(settings).items() if key not in MAY_CHANGE}
    stages = Stages(folder, name, fixed | {"device": device.type, "n_outliers": problem.n_outliers})
    stop = stop or Stopping(lambda: None)  # which hears nothing
    return Study(problem, problem.target(settings.prior_variance), settings, stages, say, stop)


def with_marks(label: str, record: Record) -> dict[str, Record]:
    """The record, and before it its scores at the marks."""
    early = {
        f"{label}, {float(mark) / 60:.0f} min": {"scores": scores}
        for mark, scores in record["marks"].items()
    }
    return early | {label: record}


def labelled(others: dict[str, Record]) -> dict[str, Record]:
    """Records by the names that tables have for methods."""
    return {_LABELS[key]: record for key, record in others.items()}


def keep_probability(folder: Path, study: Study, probability: Tensor) -> None:
    """The averaged probabilities of the test rows, in their order, as a file."""
    few = probability[: len(study.label)].half().cpu().numpy()
    file = BytesIO()
    np.savez_compressed(file, probability=few)
    write_whole(folder / f"{study.problem.name}-probability.npz", file.getvalue())


def table(study: Study, scored: dict[str, Record]) -> Record:
    """What is known of each, in rows."""
    columns = [column for column in _COLUMNS if column in next(iter(scored.values()))["scores"]]
    rows = []
    for label, record in scored.items():
        scores = record["scores"]
        cells = {name: {"mean": scores[name]} for name in columns}
        note = f"{scores['n_networks']} networks, one of them {scores['single_accuracy']:.4f}"
        rows.append({"label": label, "cells": cells, "note": note})
    caption = "Averaged predictions. Images were not changed at random for any of them."
    if (count := study.settings.label_count) != 1:
        caption += f" Each label counts {count:g} times, for all."
    for label, record in scored.items():
        if "verdict" in record:
            known = [record[name] for name in ("rhat", "ess")]
            rhat, ess = ("unknown" if value is None else f"{value:.3g}" for value in known)
            caption += f" {label}: R-hat of predictions {rhat}, {ess} effective draws; {': '.join(record['verdict'])}"
    return {"title": study.problem.name, "columns": columns, "rows": rows, "caption": caption}

"""Posteriors of deep networks: parallel chains beside the ensemble they start from, at the same minutes, and others.

Chains begin at networks trained by Adam under the prior and sample until the budget is spent: `chains`. Their averaged
prediction is compared with that of the starting networks, of as many more as can be trained in the same time, and of
other methods: `rivals`. Images are not changed at random for any of them.
"""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from pmcnet.ais.tiling import free_memory
from pmcnet.experiments import chains, deep_problems, rivals
from pmcnet.experiments.scoring import Say
from pmcnet.experiments.stages import Stages
from pmcnet.experiments.study import Settings, Study
from pmcnet.runs.curves import Record

_SAMPLERS = {"hmc": ("Hamiltonian chains", chains.hmc), "sghmc": ("SGHMC chains, approximate", chains.sghmc)}
_LABELS = {
    "sgld": "SGLD",
    "mc-dropout": "MC dropout",
    "pmcnet-light": "PMCnet-light, exact weights",
    "pmcnet-light, equal weights": "PMCnet-light, equal weights",
}
_COLUMNS = ("accuracy", "nll", "ece", "auroc_entropy", "auroc_information")
_MAY_CHANGE = ("budget", "marks", "rivals")  # between calls that go on with each other


def run(name: str, *, settings: Settings, device: torch.device, say: Say, folder: Path | None = None) -> Record:
    """The whole experiment as plain data.

    Args:
        name: a key of `deep_problems.POSTERIORS`.
        settings: sizes.
        device: where to run.
        say: told a line at a time.
        folder: keeps checkpoints, from which a run that was interrupted, or whose budget was raised, goes on.
    """
    study = made(name, settings=settings, device=device, say=say, folder=folder)
    start, begun = chains.begun(study)
    label, sample = _SAMPLERS[settings.sampler]
    sampled, probability = sample(study, start, begun["seconds"])
    if folder is not None:  # in the order of the test set
        few = probability[: len(study.label)].half().cpu().numpy()
        np.savez_compressed(folder / f"{name}-probability.npz", probability=few)
    rows = {"starting networks": begun}
    if settings.rivals:
        more = rivals.ensemble(study, start, begun["seconds"])
        rows |= _with_marks("ensemble, same time", more)
        rows |= {_LABELS[key]: record for key, record in rivals.others(study, start).items()}
    rows |= _with_marks(label, sampled)
    return {
        "experiment": name,
        "settings": asdict(settings) | {"device": device.type},
        "table": _table(name, rows, settings.label_count),
        "rows": rows,
        "figures": {},
    }


def made(name: str, *, settings: Settings, device: torch.device, say: Say, folder: Path | None = None) -> Study:
    """The study of that name; the arguments are those of `run`."""
    memory = min(settings.memory, free_memory(device))
    how = deep_problems.Evaluation(settings.precision, settings.compiled and device.type == "cuda", memory)
    problem = deep_problems.posterior_problem(name, device, how, limits=settings.limits)
    problem = problem._replace(label_count=settings.label_count)
    if problem.outliers is None and deep_problems.has_outliers(name):
        say(f"{name}: without crops of SVHN in the data folder, how well outliers are told apart is not measured")
    fixed = {key: value for key, value in asdict(settings).items() if key not in _MAY_CHANGE}
    n_outliers = 0 if problem.outliers is None else len(problem.outliers)
    stages = Stages(folder, name, fixed | {"device": device.type, "n_outliers": n_outliers})
    return Study(problem, problem.target(settings.prior_variance), settings, stages, say)


def _with_marks(label: str, record: Record) -> dict[str, Record]:
    """The record, and before it its scores at the marks."""
    early = {f"{label}, {float(mark) / 60:.0f} min": {"scores": scores} for mark, scores in record["marks"].items()}
    return early | {label: record}


def _table(name: str, scored: dict[str, Record], label_count: float) -> Record:
    columns = [column for column in _COLUMNS if column in next(iter(scored.values()))["scores"]]
    rows = []
    for label, record in scored.items():
        scores = record["scores"]
        cells = {name: {"mean": scores[name]} for name in columns}
        note = f"{scores['n_networks']} networks, one of them {scores['single_accuracy']:.4f}"
        rows.append({"label": label, "cells": cells, "note": note})
    caption = "Averaged predictions. Images were not changed at random for any of them."
    if label_count != 1:
        caption += f" Each label counts {label_count:g} times, for all."
    return {"title": name, "columns": columns, "rows": rows, "caption": caption}

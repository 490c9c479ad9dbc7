"""Runs of one study with different seeds as one: more chains, from several GPUs, calls or days."""

from collections.abc import Sequence
from dataclasses import fields
from functools import reduce
from pathlib import Path
from typing import Any

import torch

from pmcnet import ais
from pmcnet.errors import InputError
from pmcnet.experiments import chains, posterior, rivals
from pmcnet.experiments.averaging import Average
from pmcnet.experiments.scoring import Say
from pmcnet.experiments.stages import Kept, Stages
from pmcnet.experiments.study import Settings, Study, said
from pmcnet.methods.sghmc import REASON
from pmcnet.runs.curves import Record

_MAY_DIFFER = ("seed", "device", "start")


def joined(name: str, folders: Sequence[Path], *, device: torch.device, say: Say, folder: Path | None = None) -> Record:
    """The record of all chains of all runs, every draw counted once; or of ensembles that were trained without chains.

    Args:
        name: a key of `deep_problems.POSTERIORS`.
        folders: with the checkpoints of runs that have the same settings and different seeds.
        device: where to score.
        say: told a line at a time.
        folder: where to keep the averaged probabilities.
    """
    runs = [Stages.of(one, name) for one in folders]
    _check(runs, folders)
    study = posterior.made(name, settings=_settings(runs[0].settings), device=device, say=say)
    before, now = runs[0].settings["n_outliers"], study.problem.n_outliers
    if now != before:
        raise InputError(f"these runs of {name} had {before} outliers to tell apart; {now} are at hand.")
    label, _ = posterior.SAMPLERS[study.settings.sampler]
    ensembles = _kept(runs, rivals.ENSEMBLE, device)
    drawn = _drawn(runs, folders, device, optional=len(ensembles) == len(runs))
    rows = {"starting networks": _row(study, _kept(runs, chains.START, device))}
    if len(ensembles) == len(runs):
        rows[posterior.ENSEMBLE] = _row(study, ensembles)
    others, seed = next(((kept, run.settings["seed"]) for run in runs if (kept := rivals.known(run))), ({}, None))
    rows |= posterior.labelled(others)
    if drawn:
        found = chains.diagnosed(_result(drawn)) | _row(study, drawn)
        rows[label] = found if study.settings.sampler == "hmc" else found | {"verdict": ["doubtful", REASON]}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            posterior.keep_probability(folder, study, _average(drawn).mean)
    study.told(f"{len(runs)} runs joined, {said(rows[label if drawn else posterior.ENSEMBLE]['scores'])}")
    table = posterior.table(study, rows)
    if others:
        table["caption"] += f" {', '.join(posterior.labelled(others))}: of the run with seed {seed}."
    return {
        "experiment": name,
        "settings": runs[0].settings | {"seed": [run.settings["seed"] for run in runs]},
        "table": table,
        "rows": rows,
        "figures": {},
    }


def _check(runs: list[Stages], folders: Sequence[Path]) -> None:
    """Refuse runs of different posteriors, or of the same chains."""
    known = {field.name for field in fields(Settings)} - set(posterior.MAY_CHANGE) | {"device", "n_outliers"}
    for run, one in zip(runs, folders, strict=True):
        if run.settings.keys() != known:
            raise InputError(f"the run in {one} has settings that this version does not know.")
    seeds = [run.settings["seed"] for run in runs]
    if len(set(seeds)) < len(seeds):
        told = ", ".join(f"{one} has {seed}" for one, seed in zip(folders, seeds, strict=True))
        raise InputError(f"runs that are joined need seeds of their own (--seed); {told}.")
    for run, one in zip(runs, folders, strict=True):
        others = [key for key, value in runs[0].settings.items() if run.settings.get(key) != value]
        if others := [key for key in others if key not in _MAY_DIFFER]:
            raise InputError(f"the run in {one} differs from that in {folders[0]} in {', '.join(others)}.")


def _settings(plain: dict[str, Any]) -> Settings:
    """As they were before they were written."""
    known: dict[str, Any] = {field.name: plain[field.name] for field in fields(Settings) if field.name in plain}
    return Settings(**known | {"limits": known["limits"] and tuple(known["limits"]), "parts": ("chains",)})


def _drawn(runs: list[Stages], folders: Sequence[Path], device: torch.device, *, optional: bool) -> list[Kept]:
    """What runs have drawn; each must have, or none where it is `optional`."""
    found = [run.kept(chains.KEY, device) for run in runs]
    if optional and not any(found):
        return []
    for kept, one in zip(found, folders, strict=True):
        if kept is None or Average.of(kept.tensors).n == 0:
            raise InputError(f"the run in {one} has no draws yet.")
    return [kept for kept in found if kept is not None]


def _kept(runs: list[Stages], key: str, device: torch.device) -> list[Kept]:
    """What runs have kept, of those that have."""
    return [kept for run in runs if (kept := run.kept(key, device)) is not None]


def _average(parts: list[Kept]) -> Average:
    return reduce(Average.merged, (Average.of(part.tensors) for part in parts))


def _row(study: Study, parts: list[Kept]) -> Record:
    """Scores, and the seconds of each run, which may have been one after another or side by side."""
    return {"seconds": [part.record["seconds"] for part in parts], "scores": study.scores(_average(parts))}


def _result(parts: list[Kept]) -> ais.ChainResult:
    """All chains side by side, with as many of the last draws as each has."""
    watched, accepted = [], []
    for part in parts:
        if isinstance(part.state, ais.ChainState):
            watched.append((part.state.log_density, part.state.monitors))
            accepted.append(part.state.acceptance)
        else:
            watched.append((part.tensors["log_density"], part.tensors["monitors"]))
            accepted.append(1.0)
    n = min(len(density) for density, _ in watched)
    density = torch.cat([each[len(each) - n :] for each, _ in watched], dim=1)
    monitors = torch.cat([each[len(each) - n :] for _, each in watched], dim=1)
    return ais.ChainResult(density.new_empty(0), density, monitors, (), True, sum(accepted) / len(accepted))

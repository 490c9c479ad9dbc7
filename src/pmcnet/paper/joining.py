"""Runs of one study as one: chains of several seeds, from several GPUs, calls or days, and parts that ran alone."""

from collections.abc import Sequence
from dataclasses import fields
from functools import reduce
from pathlib import Path
from typing import Any

import torch

from pmcnet import ais
from pmcnet.errors import InputError
from pmcnet.methods.sgmcmc.sghmc import reason
from pmcnet.paper import chains, posterior, rivals
from pmcnet.paper.averaging import Average
from pmcnet.paper.paper_scores import Say
from pmcnet.paper.stages import Kept, Stages
from pmcnet.paper.study import Settings, Study, said
from pmcnet.runs.figure_data import Record

_MAY_DIFFER = ("seed", "device", "start")


def joined(
    name: str,
    folders: Sequence[Path],
    *,
    device: torch.device,
    say: Say,
    folder: Path | None = None,
) -> Record:
    """The record of all chains of all runs, every draw counted once; or of ensembles that were trained without chains.

    Args:
        name: a key of `deep_problems.POSTERIORS`.
        folders: with the checkpoints of runs that have the same settings and different seeds, or
            different parts of one seed.
        device: where to score.
        say: told a line at a time.
        folder: where to keep the averaged probabilities.
    """
    runs = [Stages.of(one, name) for one in folders]
    _check(runs, folders)
    study = posterior.made(name, settings=_settings(runs[0].settings), device=device, say=say)
    before, now = runs[0].settings["n_outliers"], study.problem.n_outliers
    if now != before:
        raise InputError(
            f"these runs of {name} had {before} outliers to tell apart; {now} are at hand."
        )
    seeds = list(dict.fromkeys(run.settings["seed"] for run in runs))
    ensembles, drawn = (
        _by_seed(runs, folders, key, device) for key in (rivals.ENSEMBLE, chains.KEY)
    )
    has_ensembles = len(ensembles) == len(seeds)
    if drawn or not has_ensembles:
        _check_drawn(runs, folders, drawn)
    rows = {"starting networks": _row(study, _begun(runs, device))}
    if ensembles and not has_ensembles:
        study.told("not every seed has an ensemble; the row of ensembles is left out")
    if has_ensembles:
        rows |= posterior.with_marks(posterior.ENSEMBLE, _marked(study, ensembles))
    most = max(runs, key=lambda run: len(rivals.known(run)))  # of equals the first
    others = posterior.labelled(rivals.known(most))
    rows |= others
    rows |= _sampled(study, drawn, folder) if drawn else {}
    *_, last = rows.values()
    study.told(f"{len(runs)} runs joined, {said(last['scores'])}")
    table = posterior.table(study, rows)
    if others and len(seeds) > 1:
        table["caption"] += f" {', '.join(others)}: of the run with seed {most.settings['seed']}."
    return {
        "experiment": name,
        "settings": runs[0].settings | {"seed": seeds},
        "table": table,
        "rows": rows,
        "figures": {},
    }


def _sampled(study: Study, drawn: dict[int, Kept], folder: Path | None) -> dict[str, Record]:
    """Rows of the chains, whose averaged probabilities are kept."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        posterior.keep_probability(folder, study, _average(drawn).mean)
    label, _ = posterior.SAMPLERS[study.settings.sampler]
    found = chains.diagnosed(_result(list(drawn.values()))) | _marked(study, drawn)
    if study.settings.sampler == "sghmc":
        found["n_returns"] = sum(part.record.get("n_returns", 0) for part in drawn.values())
        found["verdict"] = ["doubtful", reason(found["n_returns"])]
    return posterior.with_marks(label, found)


def _check(runs: list[Stages], folders: Sequence[Path]) -> None:
    """Refuse runs of different posteriors."""
    known = {field.name for field in fields(Settings)} - set(posterior.MAY_CHANGE) | {
        "device",
        "n_outliers",
    }
    for run, one in zip(runs, folders, strict=True):
        if run.settings.keys() != known:
            raise InputError(f"the run in {one} has settings that this version does not know.")
        if run.record(chains.START) is None:
            raise InputError(f"the run in {one} has no starting networks yet.")
    for run, one in zip(runs, folders, strict=True):
        others = [key for key, value in runs[0].settings.items() if run.settings.get(key) != value]
        if others := [key for key in others if key not in _MAY_DIFFER]:
            raise InputError(
                f"the run in {one} differs from that in {folders[0]} in {', '.join(others)}."
            )


def _settings(plain: dict[str, Any]) -> Settings:
    """As they were before they were written."""
    known: dict[str, Any] = {
        field.name: plain[field.name] for field in fields(Settings) if field.name in plain
    }
    return Settings(
        **known | {"limits": known["limits"] and tuple(known["limits"]), "parts": ("chains",)}
    )


def _by_seed(
    runs: list[Stages], folders: Sequence[Path], key: str, device: torch.device
) -> dict[int, Kept]:
    """What runs have kept, of those that have; no two may be of one seed."""
    found: dict[int, tuple[Kept, Path]] = {}
    for run, one in zip(runs, folders, strict=True):
        kept, seed = run.kept(key, device), run.settings["seed"]
        if kept is None:
            continue
        if seed in found:
            told = f"{found[seed][1]} and {one} both have {key} of seed {seed}"
            raise InputError(f"runs that are joined need seeds of their own (--seed); {told}.")
        found[seed] = kept, one
    return {seed: kept for seed, (kept, _) in found.items()}


def _begun(runs: list[Stages], device: torch.device) -> dict[int, Kept]:
    """The starting networks of each seed: where parts have trained their own, those of the chains."""
    found = {}
    for run in sorted(runs, key=lambda run: run.record(chains.KEY) is None):
        if (
            run.settings["seed"] not in found
            and (kept := run.kept(chains.START, device)) is not None
        ):
            found[run.settings["seed"]] = kept
    return found


def _check_drawn(runs: list[Stages], folders: Sequence[Path], drawn: dict[int, Kept]) -> None:
    """Refuse chains without draws, and seeds without chains."""
    for run, one in zip(runs, folders, strict=True):
        seed = run.settings["seed"]
        if seed not in drawn:
            raise InputError(
                f"the run in {one} has no draws yet, and no other with seed {seed} is named that "
                "has."
            )
        if run.record(chains.KEY) is not None and Average.of(drawn[seed].tensors).n == 0:
            raise InputError(f"the run in {one} has no draws yet.")


def _average(parts: dict[int, Kept]) -> Average:
    return reduce(Average.merged, (Average.of(part.tensors) for part in parts.values()))


def _row(study: Study, parts: dict[int, Kept]) -> Record:
    """Scores, and the seconds of each seed, which may have been one after another or side by side."""
    seconds = [part.record["seconds"] for part in parts.values()]
    return {"seconds": seconds, "scores": study.scores(_average(parts))}


def _marked(study: Study, parts: dict[int, Kept]) -> Record:
    """The same with scores at the marks, which are known of one seed alone, and of several cannot be put together."""
    marks = [part.record["marks"] for part in parts.values()]
    return _row(study, parts) | {"marks": marks[0] if len(marks) == 1 else {}}


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
    return ais.ChainResult(
        density.new_empty(0), density, monitors, (), True, sum(accepted) / len(accepted)
    )

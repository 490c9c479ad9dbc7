"""What else the same networks, rows and minutes give: more trained networks, SGLD, MC dropout, PMCnet-light."""

import time

from torch import Tensor

from pmcnet.bnn import ParticlePosterior
from pmcnet.paper.averaging import Average
from pmcnet.paper.deep_baselines import trained
from pmcnet.paper.paper_scores import since
from pmcnet.paper.stages import Kept, Stages
from pmcnet.paper.study import Study, said
from pmcnet.runs.figure_data import Record

ENSEMBLE_SEED = 1000
ENSEMBLE = "ensemble"
OTHERS = ("sgld", "mc-dropout")
_LIGHT = "pmcnet-light"


def ensemble(study: Study, start: Tensor, seconds: float) -> Record:
    """The averaged prediction of all networks that can be trained within the budget, the starting ones first.

    Args:
        study: what is trained.
        start: networks (P, D).
        seconds: what they have taken.
    """
    stages, settings = study.stages, study.settings
    new: Record = {
        "seconds": seconds,
        # the last one's, which tells whether another fits: the first also compiles
        "round_seconds": seconds,
        "seed": ENSEMBLE_SEED * (1 + settings.seed),
        "marks": {},
    }
    if (kept := stages.kept(ENSEMBLE, study.device)) is None:
        kept = Kept(new, study.added(study.nothing(), start)._asdict(), None)
        stages.keep(ENSEMBLE, *kept)
    record, average = kept.record, Average.of(kept.tensors)
    while record["seconds"] + record["round_seconds"] <= settings.budget:
        _mark(study, record, average)
        begun = time.monotonic()
        average = study.added(
            average, settings.adam(study.target, settings.n_chains, seed=record["seed"])
        )
        record["round_seconds"] = since(begun, study.device)
        record["seconds"], record["seed"] = (
            record["seconds"] + record["round_seconds"],
            record["seed"] + 1,
        )
        stages.keep(ENSEMBLE, record, average._asdict())
        scores = study.scores(average)
        study.told(f"{record['seconds']:.0f} s: ensemble of {scores['n_networks']}, {said(scores)}")
    _mark(study, record, average)
    return record | {"scores": study.scores(average)}


def _mark(study: Study, record: Record, average: Average) -> None:
    """Score the average at marks that are still to come, which the next round does anew where it is over by then."""
    for mark in study.settings.marks:
        if record["seconds"] <= mark <= study.settings.budget:
            record["marks"][str(mark)] = study.scores(average)


def others(study: Study, start: Tensor) -> dict[str, Record]:
    """The other methods, by name, each with seconds and scores.

    Args:
        study: what is trained.
        start: networks (P, D) that PMCnet-light begins at.
    """
    found = {method: _trained(study, method) for method in OTHERS}
    return found | _light(study, start)


def known(stages: Stages) -> dict[str, Record]:
    """What `others` has found and kept."""
    kept = {method: stages.record(method) for method in OTHERS} | (stages.record(_LIGHT) or {})
    return {name: record for name, record in kept.items() if record is not None}


def _trained(study: Study, method: str) -> Record:
    if (known := study.stages.record(method)) is not None:
        return dict(known)
    (posterior, *_), record = trained(
        method, study.problem, study.settings.others, seed=study.settings.seed
    )
    record["scores"] = _scored(study, posterior)
    study.told(f"{method}: {said(record['scores'])}, {record['choice']}")
    study.stages.keep_record(method, record)
    return record


def _light(study: Study, start: Tensor) -> dict[str, Record]:
    if (known := study.stages.record(_LIGHT)) is not None:
        return dict(known)
    settings = study.settings.others
    n_batches = max(1, len(study.problem.train[0]) // settings.batch_rows)
    target = study.problem.target(settings.prior_std**2, n_batches=n_batches)
    begun = time.monotonic()
    posterior = settings.method(start).fit(target, seed=study.settings.seed).posterior
    seconds = since(begun, study.device)
    found: dict[str, Record] = {
        _LIGHT: {"seconds": seconds, "ess": posterior.ess, "scores": _scored(study, posterior)},
        "pmcnet-light, equal weights": {
            "seconds": seconds,
            "scores": _scored(study, posterior.equally_weighted()),
        },
    }
    for name, record in found.items():
        study.told(f"{name}: {said(record['scores'])}")
    study.stages.keep_record(_LIGHT, found)
    return found


def _scored(study: Study, posterior: ParticlePosterior) -> Record:
    draws = posterior.draws(study.rows, n_passes=study.settings.others.n_passes)
    return study.scores(study.nothing().plus(draws, study.label))

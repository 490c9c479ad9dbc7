"""PMCnet-light at the paper's full scale, and every method it is compared with, under the same conditions.

All networks are trained on the same rows with the same random changes of images and for the same number of epochs. The
M starting networks are ADAM-MLE; averaged they are the deep ensemble of the table. Each of the other methods chooses
one setting of its own among three, by its log predictive density on validation rows after a share of the epochs.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pmcnet import ais, tune
from pmcnet.ais.tiling import free_memory
from pmcnet.bnn import ParticlePosterior, Population
from pmcnet.bnn.arithmetic import Precision
from pmcnet.errors import DivergedError
from pmcnet.experiments import deep_problems
from pmcnet.experiments.baselines import TUNING_SEED, made, posteriors
from pmcnet.experiments.deep_table import deep_figures, deep_table, deep_timing
from pmcnet.experiments.problem import Problem
from pmcnet.experiments.scoring import Say, regression_score, score, since
from pmcnet.experiments.stages import Stages
from pmcnet.methods import Adam, Given, PMCMethod, Restarts
from pmcnet.methods.point import MANY, ONE
from pmcnet.runs.curves import Record


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the large experiments run; M, K and T are the paper's.

    Args:
        n_proposals: M.
        n_draws: K.
        n_steps: T.
        sigma: standard deviation of the first proposals, which the paper does not give.
        prior_std: of the prior that weights are compared under.
        batch_rows: rows of a factor of the incremental step.
        n_epochs: of every training.
        batch_size: rows per step of every training.
        learning_rate: of Adam, with a cosine schedule.
        weight_decay: of ADAM-MLE and the starting networks.
        tuning_share: of the epochs, while a method chooses its setting.
        augmented: whether training changes images at random.
        n_passes: R.
        n_kept: networks that BBP, SGLD and MC dropout keep.
        n_chains: of SAE.
        n_members: of each chain of SAE.
        n_seeds: repetitions.
        baselines: whether the other methods run.
        precision: of products: "float32", "tf32" or "bf16"; incremental steps are always in float32.
        compiled: whether networks are compiled, on a GPU.
        memory: bytes for temporaries at most; half of what is free, if that is less.
        limits: at most so many training, validation and test rows.
    """

    n_proposals: int = 20
    n_draws: int = 20
    n_steps: int = 20
    sigma: float = 0.005
    prior_std: float = 1.0
    batch_rows: int = 1000
    n_epochs: int = 60
    batch_size: int = 500
    learning_rate: float = 3e-3
    weight_decay: float = 0.05
    tuning_share: float = 0.25
    augmented: bool = True
    n_passes: int = 100
    n_kept: int = 100
    n_chains: int = 5
    n_members: int = 8
    n_seeds: int = 1
    baselines: bool = True
    precision: Precision = "tf32"
    compiled: bool = True
    memory: int = 8 << 30
    limits: tuple[int, int, int] | None = None

    def quick(self) -> "Settings":
        """Sizes that finish in seconds on two cores, CIFAR10 in minutes."""
        sizes = replace(self, n_proposals=3, n_draws=4, n_steps=2, n_epochs=2, n_seeds=1, n_passes=4, batch_size=50)
        sizes = replace(sizes, n_kept=4, n_chains=2, n_members=2, limits=(100, 20, 20), batch_rows=25)
        return replace(sizes, compiled=False, memory=1 << 31, precision="float32")

    def evaluation(self, device: torch.device) -> deep_problems.Evaluation:
        """How networks are evaluated on this device."""
        memory = min(self.memory, free_memory(device))
        return deep_problems.Evaluation(self.precision, self.compiled and device.type == "cuda", memory)

    def adam(self) -> Adam:
        """The training of the starting networks."""
        return Adam(
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            schedule="cosine",
            weight_decay=self.weight_decay,
        )

    def method(self, start: torch.Tensor) -> PMCMethod:
        """PMCnet-light from these networks."""
        return PMCMethod(
            algorithm=replace(ais.pmcnet_light, n_draws=self.n_draws),
            n_proposals=self.n_proposals,
            n_steps=self.n_steps,
            sigma=self.sigma,
            start=Given(start),
        )


# What each method chooses among.
CHOICES: Mapping[str, tuple[Mapping[str, float], ...]] = {
    "adam-map": ({"prior_std": 0.1}, {"prior_std": 0.3}, {"prior_std": 1.0}),
    "bbp": ({"kl_weight": 1.0}, {"kl_weight": 0.1}, {"kl_weight": 0.01}),
    "sgld": ({"learning_rate": 3e-6}, {"learning_rate": 1e-5}, {"learning_rate": 3e-5}),
    "mc-dropout": ({"rate": 0.02}, {"rate": 0.05}, {"rate": 0.2}),
    "sae": ({"prior_std": 0.1}, {"prior_std": 0.3}, {"prior_std": 1.0}),
}


def run(name: str, *, settings: Settings, device: torch.device, say: Say, folder: Path | None = None) -> Record:
    """The whole experiment as plain data.

    Args:
        name: of the data.
        settings: sizes.
        device: where to run.
        say: told a line at a time.
        folder: keeps checkpoints, from which a run that was interrupted goes on.
    """
    how = settings.evaluation(device)
    if name in deep_problems.IMAGES:
        problem = deep_problems.image_problem(name, device, how, augmented=settings.augmented, limits=settings.limits)
    else:
        problem = deep_problems.table_problem(name, device, memory=how.memory, limits=settings.limits)
    fixed = {key: value for key, value in asdict(settings).items() if key != "n_seeds"}  # seeds may be added
    stages = Stages(folder, name, fixed | {"device": device.type})
    runs: dict[str, list[Record]] = {}
    for seed in range(settings.n_seeds):
        for method, record in _light(problem, settings, seed, stages, say).items():
            runs.setdefault(method, []).append(record)
        for method in CHOICES if settings.baselines else ():
            runs.setdefault(method, []).append(_baseline(method, problem, settings, seed, stages, say))
    return {
        "experiment": name,
        "settings": asdict(settings) | {"device": _device_name(device)},
        "classes": list(problem.classes),
        "table": deep_table(name, runs),
        "timing": deep_timing(name, runs),
        "runs": runs,
        "figures": deep_figures(name, runs),
    }


def _light(problem: Problem, settings: Settings, seed: int, stages: Stages, say: Say) -> dict[str, Record]:
    """The starting networks, one and all of them, and PMCnet-light with exact and with equal weights."""
    key = f"light-{seed}"
    if (finished := stages.record(key)) is not None:
        return dict(finished)
    prior_variance, n_rows = settings.prior_std**2, len(problem.train[0])
    target = problem.target(prior_variance, n_batches=max(1, n_rows // settings.batch_rows))
    device = target.device
    state, known = stages.state(key, device), stages.record(f"start-{seed}")
    if state is None or known is None:
        start = time.monotonic()
        restarts = Restarts(settings.adam())
        loc = restarts(target, settings.n_proposals, seed=seed, progress=_epochs(say, f"{problem.name}: start"))
        seconds = since(start, device)
        known = {"adam-mle": _scored(problem, Population.of(target, loc[:1], ONE), settings) | {"seconds": seconds}}
        known["ensemble"] = _scored(problem, Population.of(target, loc, MANY), settings) | {"seconds": seconds}
        state = settings.method(loc).algorithm.init(loc, sigma=settings.sigma, seed=seed)
        stages.keep_record(f"start-{seed}", known)
        stages.keep_state(key, state)
        say(f"{problem.name}, seed {seed}: {settings.n_proposals} networks trained in {seconds:.1f} s, {_said(known)}")
    assert isinstance(state, ais.PMCState)
    lines: list[Record] = stages.record(f"history-{seed}") or []
    del lines[state.step :]

    def after(state: ais.PMCState, info: ais.PMCInfo) -> None:
        lines.append({"step": state.step, "ess": info.ess, **info.phases._asdict()})
        if state.step < settings.n_steps:
            stages.keep_record(f"history-{seed}", lines)
            stages.keep_state(key, state)
        seconds = info.phases
        say(
            f"{problem.name}, seed {seed}, step {state.step} of {settings.n_steps}: ESS {info.ess:.2f}, "
            f"{seconds.target:.2f} s for the weights, {seconds.moves:.2f} s for the moves"
        )

    fit = settings.method(state.proposals.loc).fit(target, seed=seed, observers=[after], state=state)
    own = {"seconds": sum(line["proposals"] + line["target"] + line["moves"] for line in lines), "phases": lines}
    found: dict[str, Record] = known | {
        "pmcnet-light": _scored(problem, fit.posterior, settings) | own,
        "pmcnet-light, equal weights": _scored(problem, fit.posterior.equally_weighted(), settings) | own,
    }
    say(f"{problem.name}, seed {seed}: {_said(found)}")
    stages.keep_record(key, found)
    return found


def _baseline(method: str, problem: Problem, settings: Settings, seed: int, stages: Stages, say: Say) -> Record:
    """One method: its setting chosen on validation rows, then trained and scored."""
    if (finished := stages.record(f"{method}-{seed}")) is not None:
        return dict(finished)
    assert problem.validation is not None
    x, y = problem.validation

    def fitted(choice: Mapping[str, Any], n_epochs: int, seed: int) -> list[ParticlePosterior]:
        own = _options(method, settings, n_epochs)
        trained, target = made(method, problem, {"prior_std": settings.prior_std, **choice}, own)
        return posteriors(trained, target, seed=seed, validation=problem.validation)

    def loss(choice: Mapping[str, Any]) -> float:
        n_epochs = max(1, round(settings.tuning_share * settings.n_epochs))
        return float(-fitted(choice, n_epochs, TUNING_SEED)[0].log_predictive(x, y).mean())

    device = x.device
    start = time.monotonic()
    search = tune.grid_search(CHOICES[method], loss)
    tuning_seconds, start = since(start, device), time.monotonic()
    best, (posterior, *points) = _first_finite(search, lambda choice: fitted(choice, settings.n_epochs, seed))
    record = {"seconds": since(start, device), "tuning_seconds": tuning_seconds, "choice": dict(best)}
    record |= _scored(problem, posterior, settings)
    if points:
        record["at_mean"] = _scored(problem, points[0], settings)
    say(f"{problem.name}, seed {seed}: {_said({method: record})}, {dict(best)}")
    stages.keep_record(f"{method}-{seed}", record)
    return record


def _first_finite(
    search: tune.GridSearch, fitted: Callable[[Mapping[str, Any]], list[ParticlePosterior]]
) -> tuple[Mapping[str, Any], list[ParticlePosterior]]:
    """The best choice whose whole training does not diverge, and what it trained: tuning was shorter."""
    *better, last = search.ranked
    for choice in better:
        try:
            return choice, fitted(choice)
        except DivergedError:
            continue
    return last, fitted(last)


def _options(method: str, settings: Settings, n_epochs: int) -> dict[str, Any]:
    """What a method does not choose: the same epochs and batches for all, and a cosine schedule where there is one."""
    own: dict[str, Any] = {"n_epochs": n_epochs, "batch_size": settings.batch_size}
    if method == "adam-map":
        own |= {"learning_rate": settings.learning_rate, "schedule": "cosine", "early_stopping": False}
    if method == "sae":
        own |= {"n_chains": settings.n_chains, "n_members": settings.n_members, "n_next_epochs": 2}
        own |= {"learning_rate": settings.learning_rate}
    if method == "bbp":
        own |= {"n_draws": 1, "learning_rate": settings.learning_rate, "schedule": "cosine"}
        own |= {"start": None, "deviation": 0.01}
    if method in ("bbp", "sgld"):
        own |= {"n_kept": settings.n_kept}
    if method == "mc-dropout":
        own |= {"n_passes": settings.n_kept}
    return own


def _scored(problem: Problem, posterior: ParticlePosterior, settings: Settings) -> Record:
    start = time.monotonic()
    posterior.draws(problem.test[0], n_passes=settings.n_passes)
    per_row = 1e3 * since(start, problem.test[0].device) / len(problem.test[0])
    if problem.classes:
        found = score(posterior, *problem.test, n_passes=settings.n_passes)
    else:
        found = regression_score(posterior, *problem.test, unit=problem.unit, n_passes=settings.n_passes)
    return found | {"milliseconds_per_row": per_row}


def _said(records: Mapping[str, Record]) -> str:
    parts = []
    for method, record in records.items():
        name = "accuracy" if "accuracy" in record["bma"] else "mse"
        parts.append(f"{method} {name} {record['per_draw'][name]['mean']:.5g}, averaged {record['bma'][name]:.5g}")
    return "; ".join(parts)


def _epochs(say: Say, what: str) -> Callable[[int, int], None]:
    def told(done: int, total: int) -> None:
        if done == total or done % max(1, total // 10) == 0:
            say(f"{what}, epoch {done} of {total}")

    return told


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type

"""Ionosphere, Wine and Glass: PMCnet on the paper's rows, from both kinds of start, over several seeds."""

import statistics
import time
from dataclasses import dataclass, replace

import torch

from pmcnet import ais, metrics, tune
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.methods import Adam, Fit, Jitter, PMCMethod, Restarts, Start
from pmcnet.methods.settings import N_CHOICES
from pmcnet.paper import published, result_table
from pmcnet.paper.baselines import LABELS, run_baseline
from pmcnet.paper.paper_scores import Say, StepScores, score
from pmcnet.paper.problem import Problem, paper_problem
from pmcnet.runs.figure_data import Record, roc_bands, row_histograms

# Of the search for a prior variance: apart from the seeds that are reported.
TUNING_SEED = 1000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the shallow experiments run; the defaults are the paper's where it gives them.

    Args:
        n_proposals: M.
        n_draws: K.
        n_steps: T.
        n_tuning_steps: T while the prior variance is searched.
        sigma: standard deviation of the first proposals, which the paper does not give.
        jitter: spread of the means around one solution, for that start.
        n_seeds: repetitions.
        n_epochs: of Adam at the start.
        n_passes: R.
        n_trials: evaluations of the search for a prior variance.
        n_choices: settings tried for each baseline.
        baseline_epochs: of each baseline, where not its own.
    """

    n_proposals: int = 50
    n_draws: int = 100
    n_steps: int = 50
    n_tuning_steps: int = 70
    sigma: float = 0.1
    jitter: float = 0.1
    n_seeds: int = 5
    n_epochs: int = 500
    n_passes: int = 100
    n_trials: int = 10
    n_choices: int = N_CHOICES
    baseline_epochs: int | None = None

    def quick(self) -> "Settings":
        """Sizes that finish in seconds."""
        sizes = replace(
            self,
            n_proposals=5,
            n_draws=20,
            n_steps=4,
            n_tuning_steps=4,
            n_seeds=2,
            n_epochs=10,
            n_trials=4,
        )
        return replace(sizes, n_choices=2, baseline_epochs=3)

    @property
    def algorithm(self) -> ais.PMC:
        """PMCnet with K draws."""
        return replace(ais.pmcnet, n_draws=self.n_draws)

    def starts(self) -> dict[str, Start]:
        """Both kinds of start."""
        adam = Adam(n_epochs=self.n_epochs)
        return {"restarts": Restarts(adam), "jitter": Jitter(self.jitter, adam)}

    def method(self, start: Start) -> PMCMethod:
        """PMCnet with these sizes."""
        return PMCMethod(
            algorithm=self.algorithm,
            n_proposals=self.n_proposals,
            n_steps=self.n_steps,
            sigma=self.sigma,
            start=start,
        )


def search_prior(problem: Problem, settings: Settings, say: Say) -> Record:
    """Prior variance by golden-section search of the validation accuracy; equal accuracies are told apart by NLL."""
    assert problem.validation is not None
    x, y = problem.validation
    start = settings.starts()["restarts"]
    loc = start(
        problem.target(1.0), settings.n_proposals, seed=TUNING_SEED, validation=problem.validation
    )
    state = settings.algorithm.init(loc, sigma=settings.sigma, seed=TUNING_SEED)

    def loss(variance: float) -> float:
        result = ais.run(
            settings.algorithm, problem.target(variance), state, n_steps=settings.n_tuning_steps
        )
        posterior = ParticlePosterior(problem.network, problem.likelihood, result.samples)
        accuracy = metrics.accuracy(posterior.draws(x, n_passes=settings.n_passes), y.long()).mean()
        nll = -posterior.log_predictive(x, y).mean()
        say(
            f"  prior variance {variance:9.4g}: validation accuracy {float(accuracy):.4f}, NLL "
            f"{float(nll):.4f}"
        )
        return float(-accuracy + 1e-4 * nll)

    found = tune.golden_section(loss, 1e-2, 1e2, n_trials=settings.n_trials)
    source = "golden-section search on validation rows"
    return {
        "variance": found.best,
        "source": source,
        "bracketed": found.bracketed,
        "trials": list(found.trials),
    }


def prior_of(problem: Problem, settings: Settings, say: Say) -> Record:
    """The published prior variance, or the one that the validation rows prefer where none is published."""
    if problem.name in published.PRIOR_VARIANCE:
        return {"variance": published.PRIOR_VARIANCE[problem.name], "source": "published"}
    say(f"{problem.name}: searching the prior variance on validation rows")
    return search_prior(problem, settings, say)


def one_run(
    problem: Problem, target: BayesianTarget, settings: Settings, kind: str, seed: int
) -> tuple[Fit[ais.StepRecord], Record]:
    """One fit and its scores on the test rows, with the weights as they are and with equal ones."""
    by_step = StepScores(
        problem.network, problem.likelihood, *problem.test, n_passes=settings.n_passes
    )
    observers = [by_step] if kind == "restarts" and seed == 0 else []
    method = settings.method(settings.starts()[kind])
    started = method.prepared(target, seed=seed, validation=problem.validation)
    fit = started.fit(target, seed=seed, observers=observers)
    start = time.monotonic()
    fit.posterior.draws(problem.test[0], n_passes=settings.n_passes)
    per_row = 1e3 * (time.monotonic() - start) / len(problem.test[0])
    equal = score(fit.posterior.equally_weighted(), *problem.test, n_passes=settings.n_passes)
    record = {
        "start": kind,
        "seed": seed,
        **score(fit.posterior, *problem.test, n_passes=settings.n_passes),
        "equal_weights": {name: equal[name] for name in ("per_draw", "bma")},
        "by_step": by_step.seen,
        "history": [step._asdict() for step in fit.history],
        "seconds": fit.history[-1].seconds,
        "milliseconds_per_row": per_row,
    }
    return fit, record


def run(name: str, *, settings: Settings, device: torch.device, say: Say) -> Record:
    """The whole experiment as plain data."""
    problem = paper_problem(name, device)
    prior = prior_of(problem, settings, say)
    target = problem.target(prior["variance"])
    runs, first = [], None
    for kind in settings.starts():
        for seed in range(settings.n_seeds):
            fit, record = one_run(problem, target, settings, kind, seed)
            first = first or fit
            runs.append(record)
            accuracy, verdict = record["per_draw"]["accuracy"], record["diagnostics"]["verdict"]
            say(
                f"{name}, {kind}, seed {seed}: accuracy {accuracy['mean']:.4f} "
                f"({accuracy['std']:.4f}), {verdict}"
            )
    assert first is not None
    extra = {} if settings.baseline_epochs is None else {"n_epochs": settings.baseline_epochs}
    others = {
        method: run_baseline(
            method,
            problem,
            n_seeds=settings.n_seeds,
            n_choices=settings.n_choices,
            n_passes=settings.n_passes,
            extra=extra,
            say=say,
        )
        for method in LABELS
    }
    x, y = problem.test
    draws, label = first.posterior.draws(x, n_passes=settings.n_passes), y.long()
    return {
        "experiment": name,
        "settings": vars(settings) | {"device": device.type},
        "prior": prior,
        "classes": list(problem.classes),
        "table": _table(name, runs, others, prior),
        "timing": _timing(name, runs, others),
        "runs": runs,
        "baselines": others,
        "figures": {
            "roc": {name: roc_bands(draws, label)},
            "histograms": row_histograms(draws, label),
            "confusion": {
                "PMCnet": runs[0]["confusion"],
                **{LABELS[method]: found[0]["confusion"] for method, found in others.items()},
            },
            "by_step": {"PMCnet": runs[0]["by_step"]},
        },
    }


def _table(name: str, runs: list[Record], others: dict[str, list[Record]], prior: Record) -> Record:
    columns, known = list(published.SHALLOW[name]), published.SHALLOW[name]
    rows = []
    for method, found in others.items():
        cells = published.BASELINES[name].get(method, {})
        if method == "bbp":
            rows.append(
                result_table.row(
                    "BBP, mean network", [run["at_mean"] for run in found], columns, cells
                )
            )
        rows.append(result_table.row(LABELS[method], found, columns, cells))
    for kind in dict.fromkeys(run["start"] for run in runs):
        chosen = [run for run in runs if run["start"] == kind]
        rows.append(result_table.row(f"PMCnet, {kind}", chosen, columns, known))
        equal = [run["equal_weights"] for run in chosen]
        rows.append(result_table.row(f"PMCnet, {kind}, equal weights", equal, columns, known))
    edge = "" if prior.get("bracketed", True) else ", at an end of the range"
    caption = f"Prior variance {prior['variance']:.4g} ({prior['source']}{edge}). Class 0 is the positive class."
    return {"title": name.capitalize(), "columns": columns, "rows": rows, "caption": caption}


def _timing(name: str, runs: list[Record], others: dict[str, list[Record]]) -> list[Record]:
    """Seconds of training and milliseconds per test row of each method, the paper's beside them for Ionosphere."""
    rows = []
    for method, found in {**others, "pmcnet": runs}.items():
        known = published.SECONDS.get(method) if name == "ionosphere" else None
        rows.append(
            {
                "method": LABELS.get(method, "PMCnet"),
                "fit_seconds": statistics.fmean(run["seconds"] for run in found),
                "milliseconds_per_row": statistics.fmean(
                    run["milliseconds_per_row"] for run in found
                ),
                "paper": list(known) if known else None,
            }
        )
    return rows

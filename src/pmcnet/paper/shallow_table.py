"""Ionosphere, Wine and Glass: PMCnet from two kinds of start, and the methods it is compared with.

All methods have the paper's rows and several seeds.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Self

from pmcnet import ais, metrics, tune
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.estimators.evaluation.figure_data import Record, roc_bands, row_histograms
from pmcnet.methods import Adam, Fit, Jitter, Restarts, Start
from pmcnet.methods.settings import N_CHOICES
from pmcnet.paper import result_table
from pmcnet.paper.baselines import TUNING_SEED, run_baseline
from pmcnet.paper.experiment import Experiment, Say, Session, Settings
from pmcnet.paper.paper_scores import StepScores, milliseconds_per_row, score
from pmcnet.paper.problem import Problem, paper_problem
from pmcnet.paper.published import Published
from pmcnet.paper.result_table import BASELINES


@dataclass(frozen=True, kw_only=True)
class ShallowSettings(Settings):
    """How the shallow experiments run.

    The paper does not give sigma; its published Ionosphere script uses 0.1, taken for Glass too.

    Args:
        n_tuning_steps: T while the prior variance is searched.
        jitter: spread of the means around one solution, for that start.
        n_trials: evaluations of the search for a prior variance.
        n_choices: settings tried for each baseline.
        baseline_epochs: of each baseline, where not its own.
    """

    n_tuning_steps: int = 70
    jitter: float = 0.1
    n_trials: int = 10
    n_choices: int = N_CHOICES
    baseline_epochs: int | None = None

    def quick(self) -> Self:
        """Sizes that finish in seconds."""
        sizes = replace(self, n_proposals=5, n_draws=20, n_steps=4, n_epochs=10, n_seeds=2)
        return replace(sizes, n_tuning_steps=4, n_trials=4, n_choices=2, baseline_epochs=3)

    def starts(self) -> dict[str, Start]:
        """Both kinds of start."""
        adam = Adam(n_epochs=self.n_epochs)
        return {"restarts": Restarts(adam), "jitter": Jitter(self.jitter, adam)}


def experiment(
    name: str, description: str, published: Published, settings: ShallowSettings
) -> Experiment[ShallowSettings]:
    """The table of one dataset."""
    return Experiment(description, settings, partial(_run, name, published))


def _run(name: str, published: Published, settings: ShallowSettings, session: Session) -> Record:
    problem = paper_problem(name, session.device)
    prior = _prior(problem, published, settings, session.say)
    target = problem.target(prior["variance"])
    runs, first = [], None
    for kind in settings.starts():
        for seed in range(settings.n_seeds):
            fit, record = _fitted(problem, target, settings, kind, seed)
            first = first or fit
            runs.append(record)
            accuracy, verdict = record["per_draw"]["accuracy"], record["diagnostics"]["verdict"]
            session.say(
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
            say=session.say,
        )
        for method in BASELINES
    }
    x, y = problem.test
    draws, label = first.posterior.draws(x, n_passes=settings.n_passes), y.long()
    methods, labels = {**others, "pmcnet": runs}, BASELINES | {"pmcnet": "PMCnet"}
    confusion = {
        "PMCnet": runs[0]["confusion"],
        **{BASELINES[method]: found[0]["confusion"] for method, found in others.items()},
    }
    return {
        "experiment": name,
        "settings": asdict(settings) | {"device": session.device.type},
        "prior": prior,
        "classes": list(problem.classes),
        "table": _table(name, published, runs, others, prior),
        "timing": result_table.timing(methods, labels, published),
        "runs": runs,
        "baselines": others,
        "figures": {
            "roc": {name: roc_bands(draws, label)},
            "histograms": row_histograms(draws, label),
            "confusion": confusion,
            "by_step": {"PMCnet": runs[0]["by_step"]},
        },
    }


def _prior(problem: Problem, published: Published, settings: ShallowSettings, say: Say) -> Record:
    """The published prior variance, or the one that the validation rows prefer where none is."""
    if published.prior_variance is not None:
        return {"variance": published.prior_variance, "source": "published"}
    say(f"{problem.name}: searching the prior variance on validation rows")
    return _search_prior(problem, settings, say)


def _search_prior(problem: Problem, settings: ShallowSettings, say: Say) -> Record:
    """Golden-section search of the validation accuracy; the NLL decides between equal ones."""
    assert problem.validation is not None
    x, y = problem.validation
    start = settings.starts()["restarts"]
    method = settings.pmc(ais.pmcnet, start)
    loc = start(
        problem.target(1.0), settings.n_proposals, seed=TUNING_SEED, validation=problem.validation
    )
    state = method.algorithm.init(loc, sigma=settings.sigma, seed=TUNING_SEED)

    def loss(variance: float) -> float:
        target = problem.target(variance)
        result = ais.run(method.algorithm, target, state, n_steps=settings.n_tuning_steps)
        posterior = ParticlePosterior(problem.network, problem.likelihood, result.samples)
        accuracy = metrics.accuracy(posterior.draws(x, n_passes=settings.n_passes), y.long()).mean()
        nll = -posterior.log_predictive(x, y).mean()
        say(
            f"  prior variance {variance:9.4g}: validation accuracy {float(accuracy):.4f}, NLL "
            f"{float(nll):.4f}"
        )
        return float(-accuracy + 1e-4 * nll)

    found = tune.golden_section(loss, 1e-2, 1e2, n_trials=settings.n_trials)
    return {
        "variance": found.best,
        "source": "golden-section search on validation rows",
        "bracketed": found.bracketed,
        "trials": list(found.trials),
    }


def _fitted(
    problem: Problem, target: BayesianTarget, settings: ShallowSettings, kind: str, seed: int
) -> tuple[Fit[ais.PMCInfo], Record]:
    """One fit and its scores on the test rows, with exact and with equal weights."""
    n_passes = settings.n_passes
    by_step = StepScores(problem.network, problem.likelihood, *problem.test, n_passes=n_passes)
    observers = [by_step] if kind == "restarts" and seed == 0 else []
    method = settings.pmc(ais.pmcnet, settings.starts()[kind])
    fit = method.fit(target, seed=seed, validation=problem.validation, observers=observers)
    per_row = milliseconds_per_row(fit.posterior, problem.test[0], n_passes)
    equal = score(fit.posterior.equally_weighted(), *problem.test, n_passes=n_passes)
    record = {
        "start": kind,
        "seed": seed,
        **score(fit.posterior, *problem.test, n_passes=n_passes),
        "equal_weights": {name: equal[name] for name in ("per_draw", "bma")},
        "by_step": by_step.seen,
        "history": [info.line() for info in fit.history],
        "seconds": fit.history[-1].seconds,
        "milliseconds_per_row": per_row,
    }
    return fit, record


def _table(
    name: str,
    published: Published,
    runs: list[Record],
    others: dict[str, list[Record]],
    prior: Record,
) -> Record:
    known = published.rows["pmcnet"]
    columns = list(known)
    rows = result_table.method_rows(others, BASELINES, columns, published)
    for kind in dict.fromkeys(run["start"] for run in runs):
        chosen = [run for run in runs if run["start"] == kind]
        rows.append(result_table.row(f"PMCnet, {kind}", chosen, columns, known))
        equal = [run["equal_weights"] for run in chosen]
        rows.append(result_table.row(f"PMCnet, {kind}, equal weights", equal, columns, known))
    edge = "" if prior.get("bracketed", True) else ", at an end of the range"
    variance = f"Prior variance {prior['variance']:.4g} ({prior['source']}{edge})."
    caption = f"{variance} Class 0 is the positive class."
    return {"title": name.capitalize(), "columns": columns, "rows": rows, "caption": caption}

"""Which likelihood, noise and prior a fit takes: as asked for, or by the evidence.

Likelihoods and kinds of noise are compared first, with scales by layer; then scales by input and a
fixed prior, with what won; then Student's t noise in the place of Gaussian, where residuals of a
quick fit have heavy tails (`residual_tails`). Each is annealed by small islands on some of the
rows. The first alternative, the simplest, wins unless log Z of another one is larger by more than
its error (`tune.alternatives`); among priors the first are scales by layer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pmcnet import tune
from pmcnet.ais.comm import Communicator
from pmcnet.ais.islands.algorithm import Islands
from pmcnet.bnn.likelihoods.response import Noise
from pmcnet.errors import InputError
from pmcnet.estimators.formulation import (
    SCALES,
    AskedNoise,
    Formulation,
    FoundPrior,
    PriorStd,
    candidates,
)
from pmcnet.estimators.model_rows import ModelRows
from pmcnet.estimators.observer import FitObserver, Settled
from pmcnet.estimators.residual_tails import are_heavy
from pmcnet.methods.base import Method
from pmcnet.methods.cost import SEARCH_ROWS, Cost
from pmcnet.methods.evidence_islands import N_PARTICLES, allowance, particle_seconds

FIXED = 1.0
"""The prior's standard deviation where none is given and none is searched."""
_MORE_PRIORS = 2  # that are compared with scales by layer
_EXCESS = 3.0  # estimated cost of the comparisons, in their share of the time, that is still tried
_NATS_PER_ROW = 0.4  # that a row says of a network, where nothing was compared
_SLIGHT = 10.0  # nats by which noise by row is ahead, up to which heavy tails may explain it
_MOST = 2.0  # shares of the time after which comparisons are abandoned


class Asked(NamedTuple):
    """What an estimator's settings leave open, or settle."""

    likelihood: str
    noise: AskedNoise
    prior_std: PriorStd


def first(asked: Asked, rows: ModelRows) -> Formulation:
    """The simplest of what is open."""
    likelihood, noise = candidates(asked.likelihood, asked.noise, rows.task, rows.response.y)[0]
    prior_std = asked.prior_std
    known = not isinstance(prior_std, str) or prior_std in SCALES
    return Formulation(likelihood, noise, prior_std if known else FIXED)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class FormulationSearch:
    """Settles what is open before a fit.

    Args:
        rows: of the fit.
        asked: what its settings say.
        name: of the method.
        method: of the fit.
        seconds: its budget.
        seed: of every comparison.
        observers: watch the fit.
        comm: shares each comparison between processes.
    """

    rows: ModelRows
    asked: Asked
    name: str
    method: Method
    seconds: float
    seed: int
    observers: Sequence[FitObserver]
    comm: Communicator

    def found(self) -> Settled:
        """The formulation."""
        start = first(self.asked, self.rows)
        likelihoods = self._candidates()
        n_runs = self._n_runs(likelihoods)
        sampler = self.method.comparing(self.seconds, n_runs)
        scalable = sampler is not None and self.rows.can_sample_scales()
        if not scalable and (self.asked.prior_std == "hierarchical" or start.prior_std in SCALES):
            raise InputError(
                f"prior_std={self.asked.prior_std!r} samples the prior's scales with the weights, "
                f"which needs hidden layers, the prior gaussian or layer, and method annealed or "
                f"hmc; got method {self.name}. Use prior_std='auto' or a number."
            )
        if sampler is None:
            return self._settled(start, [], "", self.asked.prior_std)
        open_prior = scalable and self.asked.prior_std in ("auto", "hierarchical")
        begun = start._replace(prior_std="layer") if open_prior else start
        scale = "layer" if open_prior else self.asked.prior_std
        alternatives = [
            begun._replace(likelihood=likelihood, noise=noise) for likelihood, noise in likelihoods
        ]
        if not self._affordable(alternatives[-1], n_runs):
            return self._settled(begun, [], "", scale)
        chosen, comparisons = self._chosen(alternatives, sampler, [])
        in_time = len(alternatives) in (1, len(comparisons))
        if open_prior and in_time:
            priors: list[FoundPrior] = ["layer", "ard"] if self.rows.x.shape[1] > 1 else ["layer"]
            if self.asked.prior_std == "auto":
                priors.append(FIXED)
            alternatives = [chosen._replace(prior_std=prior) for prior in priors]
            chosen, more = self._chosen(alternatives, sampler, comparisons)
            comparisons += [each for each in more if each not in comparisons]
        if in_time and (heavy := self._with_heavy_tails(chosen, begun.prior_std, comparisons)):
            chosen, more = self._chosen([chosen, heavy], sampler, comparisons)
            comparisons += [each for each in more if each not in comparisons]
        reason = _reason(chosen.described, comparisons)
        if reason:
            self._say(reason)
        scale = chosen.prior_std if open_prior else scale
        return self._settled(chosen, comparisons, reason, scale)

    def _settled(
        self,
        chosen: Formulation,
        comparisons: list[tune.Comparison],
        reason: str,
        scale: PriorStd,
    ) -> Settled:
        information = self._information(chosen, comparisons)
        return Settled(chosen, comparisons, reason, scale, information)

    def _information(self, chosen: Formulation, found: Sequence[tune.Comparison]) -> float:
        """What all rows say of the network, in nats, by those that were compared; or a guess."""
        if self.rows.task == "classification":
            return 0.0
        own = [each.log_evidence for each in found if each.name == chosen.described]
        y, weight = self.rows.response.y, self.rows.response.weight
        few = slice(0, SEARCH_ROWS)
        n, total = float(weight[few].sum()), float(weight.sum())
        if not own or y.ndim > 1:
            return _NATS_PER_ROW * total
        with np.errstate(all="ignore"):
            variance = float(np.cov(y[few], aweights=weight[few], bias=True))
        if not 0 < variance < math.inf:
            return _NATS_PER_ROW * total
        constant = -0.5 * n * math.log(2 * math.pi * math.e * variance)
        return (own[0] - constant) * total / n

    def _candidates(self) -> list[tuple[str, Noise]]:
        """Those whose number of outputs the network can have."""
        rows = self.rows
        found = candidates(self.asked.likelihood, self.asked.noise, rows.task, rows.response.y)
        return found if rows.has_layers else found[:1]

    def _with_heavy_tails(
        self, chosen: Formulation, prior_std: FoundPrior, found: Sequence[tune.Comparison]
    ) -> Formulation | None:
        """Student's t noise in the place of Gaussian, where residuals of a quick fit suggest it.

        Noise by row has heavy tails itself, so it has to explain little more than one level, with
        the prior by which the two were compared.
        """
        rows, few = self.rows, slice(0, SEARCH_ROWS)  # rows are in random order
        y = rows.response.y
        learned = y.ndim == 1 and isinstance(chosen.noise, str) and rows.has_layers
        if not learned or (self.asked.likelihood, chosen.likelihood) != ("auto", "gaussian"):
            return None
        log_evidence = {each.name: each.log_evidence for each in found}
        compared = chosen._replace(prior_std=prior_std)
        names = compared.described, _one_level(compared).described
        own, one_level = (log_evidence.get(name, math.nan) for name in names)
        if chosen.noise == "by-row" and not (
            self.asked.noise == "auto" and own - one_level < _SLIGHT
        ):
            return None
        if not are_heavy(rows.x[few].double().cpu().numpy(), y[few], self.seed):
            return None
        return _one_level(chosen)._replace(likelihood="student-t")

    def _n_runs(self, likelihoods: Sequence[tuple[str, Noise]]) -> int:
        """Runs of islands at most: noise by row needs none for one noise level."""
        n_likelihoods = len(likelihoods) - any(noise == "by-row" for _, noise in likelihoods)
        return n_likelihoods + _MORE_PRIORS

    def _chosen(
        self,
        alternatives: Sequence[Formulation],
        sampler: Islands,
        known: Sequence[tune.Comparison],
    ) -> tuple[Formulation, list[tune.Comparison]]:
        """The best of some formulations, and their comparisons; nothing is run for a single one."""
        if len(alternatives) == 1:
            return alternatives[0], []
        self._say(f"comparing {len(alternatives)} models by the evidence")
        left = math.inf
        if sampler.max_seconds is not None:
            left = _MOST * allowance(self.seconds) - sum(each.seconds for each in known)
        best, found = tune.choose(
            [self._alternative(each) for each in alternatives],
            sampler,
            seed=self.seed,
            known=known,
            max_seconds=left,
            progress=self._say_comparison,
            comm=self.comm,
        )
        return alternatives[best], found

    def _alternative(self, formulation: Formulation) -> tune.Alternative:
        """On some of the rows, with log Z in units of y."""
        target, units = self.rows.target(formulation), self.rows.units(formulation)
        n = min(len(target.x), SEARCH_ROWS)
        offset = float(units.log_density(np.zeros(()))) * float(self.rows.response.weight[:n].sum())
        waypoint = "" if target.likelihood.simpler is None else _one_level(formulation).described
        return tune.Alternative(formulation.described, target.at(slice(0, n)), offset, waypoint)

    def _affordable(self, formulation: Formulation, n_runs: int) -> bool:
        """Whether comparing takes about its share of the budget at most."""
        target = self.rows.target(formulation)
        cost = Cost.of(target.at(slice(0, min(len(target.x), SEARCH_ROWS))))
        seconds = n_runs * N_PARTICLES * particle_seconds(cost)
        return seconds <= _EXCESS * allowance(self.seconds)

    def _say_comparison(self, found: tune.Comparison) -> None:
        self._say(f"{found.name}: log Z {found.log_evidence:.1f} +- {found.log_evidence_error:.1f}")

    def _say(self, text: str) -> None:
        for observer in self.observers:
            observer.stage(text)


def _one_level(formulation: Formulation) -> Formulation:
    return formulation._replace(noise="learn")


def _reason(chosen: str, comparisons: Sequence[tune.Comparison]) -> str:
    """The choice and its margin to the best of the others."""
    others = [each for each in comparisons if each.name != chosen]
    if not others:
        return ""
    own = next(each for each in comparisons if each.name == chosen)
    top = max(others, key=lambda each: each.log_evidence)
    margin = own.log_evidence - top.log_evidence
    if margin >= 0:
        why = f"log Z is larger by {margin:.1f} than with {top.name}, the next"
    else:
        why = f"log Z of {top.name} is ahead by {-margin:.1f}, within its error"
    return f"Model: {chosen}; {why}."

"""The likelihoods that estimators know by name; a new one is a line here."""

from collections.abc import Mapping
from typing import Any

from pmcnet.bnn.likelihoods.base import Family, Likelihood, Task
from pmcnet.bnn.likelihoods.categorical import Bernoulli, Categorical
from pmcnet.bnn.likelihoods.censored import CensoredLogLogistic, CensoredWeibull
from pmcnet.bnn.likelihoods.counts import NegativeBinomial, Poisson
from pmcnet.bnn.likelihoods.fractions import Beta
from pmcnet.bnn.likelihoods.gaussian import Gaussian, LearnedGaussian, RowGaussian
from pmcnet.bnn.likelihoods.known_noise import KnownGaussian
from pmcnet.bnn.likelihoods.multi_target import MultiGaussian, MultiStudentT
from pmcnet.bnn.likelihoods.ordinal import Ordinal
from pmcnet.bnn.likelihoods.positive import LogNormal, RowLogNormal
from pmcnet.bnn.likelihoods.shaped_noise import (
    LaplaceNoise,
    RowLaplaceNoise,
    RowStudentT,
    StudentT,
)
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, table, text

FAMILIES: dict[str, tuple[type[Family], ...]] = {
    "gaussian": (Gaussian, LearnedGaussian, RowGaussian, KnownGaussian),
    "student-t": (StudentT, RowStudentT),
    "multi-gaussian": (MultiGaussian,),
    "multi-student-t": (MultiStudentT,),
    "laplace": (LaplaceNoise, RowLaplaceNoise),
    "poisson": (Poisson,),
    "negative-binomial": (NegativeBinomial,),
    "lognormal": (LogNormal, RowLogNormal),
    "censored": (CensoredWeibull,),
    "censored-loglogistic": (CensoredLogLogistic,),
    "beta": (Beta,),
    "categorical": (Categorical, Bernoulli),
    "ordinal": (Ordinal,),
}
"""The classes of each family; the first builds the one that a response needs."""


def family(name: str, task: Task) -> type[Family]:
    """What builds the likelihoods of this name."""
    known = [each for each, (first, *_) in FAMILIES.items() if first.task == task]
    if name not in known:
        raise InputError(f"likelihood must be one of {', '.join(known)}; got {name!r:.60}.")
    return FAMILIES[name][0]


def stored_forms(task: Task) -> dict[str, Form]:
    """The form of each likelihood of a task in a file, by the name of its class."""
    return {
        kind: table(kind=text(), **each.stored_form)
        for kind, each in _stored().items()
        if each.task == task
    }


def from_plain(plain: Mapping[str, Any]) -> Likelihood:
    """The likelihood that `to_plain` gave."""
    return _stored()[plain["kind"]].from_plain(plain)


def _stored() -> dict[str, type[Family]]:
    return {each.__name__: each for classes in FAMILIES.values() for each in classes}

"""Methods by name, each with the settings that can be given as plain data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args, get_type_hints

from pmcnet import ais
from pmcnet.errors import InputError
from pmcnet.methods.annealed import AnnealedMethod
from pmcnet.methods.bbp import BBP
from pmcnet.methods.extras.laplace import LaplaceMethod
from pmcnet.methods.extras.nuts import NUTSMethod
from pmcnet.methods.extras.requirements import installed, require
from pmcnet.methods.hmc import HMCMethod
from pmcnet.methods.mc_dropout import MCDropout
from pmcnet.methods.pmc import PMCMethod, Weights
from pmcnet.methods.point_estimates import AdamMethod
from pmcnet.methods.sae import SAE
from pmcnet.methods.sgmcmc.sghmc import SGHMC
from pmcnet.methods.sgmcmc.sgld import SGLD
from pmcnet.methods.training.adam import Adam
from pmcnet.methods.training.starts import Jitter, Restarts

Baseline = AdamMethod | BBP | SGLD | SGHMC | MCDropout | SAE
Extra = LaplaceMethod | NUTSMethod
Method = AnnealedMethod | HMCMethod | PMCMethod | Baseline | Extra
Value = int | float | str | None

UNSET = "auto"
"""How plain data say None, "as many as needed", which TOML has no word for."""

TRAINED: Mapping[str, Baseline] = {
    "adam-mle": AdamMethod(objective="mle"),
    "adam-map": AdamMethod(objective="map"),
    "ensemble": AdamMethod(objective="map", n_members=10),
    "bbp": BBP(),
    "sgld": SGLD(),
    "psgld": SGLD(preconditioned=True, learning_rate=1e-3),
    "sghmc": SGHMC(),
    "mc-dropout": MCDropout(),
    "sae": SAE(),
}
"""Methods that train on mini-batches, with their defaults."""

EXTRAS: Mapping[str, Extra] = {"laplace": LaplaceMethod(), "nuts": NUTSMethod()}
"""Methods of other libraries, with their defaults; see `methods.extras.library`."""

NAMES = ("annealed", "hmc", *ais.VARIANTS, *TRAINED)
"""Methods that are always there."""


@dataclass(frozen=True, kw_only=True)
class AnnealedOptions:
    """Settings of "annealed"; see `ais.AnnealedPMC`."""

    n_particles: int = 504
    ess_fraction: float = 0.5
    n_moves: int | None = 1
    max_correlation: float = 0.25
    max_moves: int = 4
    resample_below: float = 0.8

    def method(self, name: str) -> AnnealedMethod:
        """The method with these settings."""
        return AnnealedMethod(sampler=ais.AnnealedPMC(**vars(self)))


@dataclass(frozen=True, kw_only=True)
class PMCOptions:
    """Settings of the paper's algorithm and its variants; see `PMCMethod`, `Adam`, `Restarts` and `Jitter`."""

    n_proposals: int = 50
    n_draws: int = 100
    n_steps: int = 50
    sigma: float = 0.1
    keep: Literal["last", "all", "mixture"] = "last"
    weights: Weights = "exact"
    start: Literal["restarts", "jitter"] = "restarts"
    jitter: float = 0.1
    n_epochs: int = 200
    batch_size: int = 10
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        if self.start not in ("restarts", "jitter"):
            raise InputError(f'start must be "restarts" or "jitter"; got {self.start!r}.')

    def method(self, name: str) -> PMCMethod:
        """The variant of that name with these settings."""
        adam = Adam(
            n_epochs=self.n_epochs, batch_size=self.batch_size, learning_rate=self.learning_rate
        )
        return PMCMethod(
            algorithm=replace(ais.VARIANTS[name], n_draws=self.n_draws),
            n_proposals=self.n_proposals,
            n_steps=self.n_steps,
            sigma=self.sigma,
            keep=self.keep,
            weights=self.weights,
            start=Restarts(adam) if self.start == "restarts" else Jitter(self.jitter, adam),
        )


@dataclass(frozen=True, kw_only=True)
class HMCOptions:
    """Settings of "hmc"; see `HMCMethod`, `ais.HMCPopulation`, `Adam` and `SGHMC`.

    `n_epochs`, `batch_size` and `learning_rate` are of the starting networks, `walk_epochs` and
    `walk_step` of the warm-up on mini-batches, which 0 epochs leave out.
    """

    n_chains: int = 16
    n_warmup: int = 100
    n_draws: int = 100
    thin: int = 1
    max_leapfrog: int = 256
    n_epochs: int = 200
    batch_size: int = 32
    learning_rate: float = 1e-2
    walk_epochs: int = 0
    walk_step: float = 1e-2

    def shorter(self) -> "HMCOptions":
        """For a search, in which fits are compared: a quarter of the warm-up, and few draws.

        Networks to start from are trained as long: with a quarter of the epochs, or the same
        networks for all, wide priors looked too good (four splits of the diabetes data).
        """
        return replace(
            self, n_warmup=max(1, self.n_warmup // 4), n_draws=min(_SEARCH_DRAWS, self.n_draws)
        )

    def method(self, name: str) -> HMCMethod:
        """The method with these settings."""
        adam = Adam(
            objective="map",
            n_epochs=self.n_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
        )
        walk = SGHMC.from_modes(
            step=self.walk_step, batch_size=10 * self.batch_size, n_epochs=max(1, self.walk_epochs)
        )
        sampler = ais.HMCPopulation(
            n_warmup=self.n_warmup,
            n_draws=self.n_draws,
            thin=self.thin,
            max_leapfrog=self.max_leapfrog,
        )
        return HMCMethod(
            n_chains=self.n_chains,
            sampler=sampler,
            start=Restarts(adam),
            walk=walk if self.walk_epochs else None,
        )


Options = AnnealedOptions | HMCOptions | PMCOptions | Baseline | Extra
LIGHT = PMCOptions(n_proposals=20, n_draws=20, n_steps=20)


_MAY_BE_ZERO = (
    "n_moves",
    "jitter",
    "rate",
    "decay",
    "burn_in",
    "start",
    "weight_decay",
    "exploration",
    "heating",
    "walk_epochs",
)
_SEARCH_DRAWS = 20
_MANY_ROWS = 5000  # from which chains of "hmc" first walk on mini-batches


def check_name(name: str) -> str:
    """The name, or an error that lists the names there are."""
    if name not in NAMES and name not in EXTRAS:
        raise InputError(
            f"method must be one of auto, {', '.join((*NAMES, *EXTRAS))}; got {name!r}."
        )
    return name


def names_at_hand() -> list[str]:
    """Every method that can be used here: those of other libraries only where these are installed."""
    return [*NAMES, *(name for name in EXTRAS if installed(name))]


def options(name: str, given: Mapping[str, Value], n_rows: int) -> Options:
    """The settings of a method: the defaults for that many training rows, with what was given in their place.

    Adam's batches grow with the rows, from 10 to 200, and its epochs shrink, so that a start takes
    a bounded number of steps. A method whose library is missing is refused.

    Args:
        name: of the method.
        given: some of its settings.
        n_rows: training rows.
    """
    if check_name(name) == "annealed":
        return _with(AnnealedOptions(), name, given)
    if name == "hmc":
        batch_size = _adam_batch(n_rows)
        n_walked = 20 if n_rows >= _MANY_ROWS else 0
        sized = HMCOptions(
            batch_size=batch_size,
            n_epochs=_epochs(batch_size, n_rows, most=200),
            walk_epochs=n_walked,
        )
        return _with(sized, name, given)
    if name in EXTRAS:
        require(name)
        return _with(EXTRAS[name], name, given)
    if name in TRAINED:
        return _with(_sized(TRAINED[name], n_rows), name, given)
    batch_size = _adam_batch(n_rows)
    n_epochs = _epochs(batch_size, n_rows, most=500)
    default = LIGHT if name == "pmcnet-light" else PMCOptions()
    return _with(replace(default, batch_size=batch_size, n_epochs=n_epochs), name, given)


def _sized(method: Baseline, n_rows: int) -> Baseline:
    """Epochs so that training takes about 10 000 steps, at least 20 epochs, whatever the number of rows."""
    if isinstance(method, SAE):
        n_first, n_next = (steps * method.batch_size // max(1, n_rows) for steps in (3000, 150))
        return replace(
            method, n_epochs=min(max(20, n_first), 1500), n_next_epochs=min(max(2, n_next), 75)
        )
    if isinstance(method, AdamMethod):
        batch_size = _adam_batch(n_rows)
        return replace(
            method, batch_size=batch_size, n_epochs=_epochs(batch_size, n_rows, most=500)
        )
    # chains must also travel: on few rows they make all of the 10 000 steps
    most = 10_000 if isinstance(method, SGLD | SGHMC) else 2000
    return replace(method, n_epochs=_epochs(method.batch_size, n_rows, most=most))


def _adam_batch(n_rows: int) -> int:
    return min(max(10, n_rows // 50), 200)


def _epochs(batch_size: int, n_rows: int, *, most: int) -> int:
    """Epochs that make about 10 000 steps."""
    return min(max(20, 10_000 * batch_size // max(1, n_rows)), most)


def _with(default: Options, name: str, given: Mapping[str, Value]) -> Options:
    allowed = [field.name for field in fields(default)]
    unknown = sorted(set(given) - set(allowed))
    if unknown:
        raise InputError(
            f"{name} has no setting {', '.join(unknown)}; it has {', '.join(allowed)}."
        )
    kinds = get_type_hints(type(default))
    for key, value in given.items():
        if value is not None and value != UNSET:
            _check_option(key, value, kinds[key])
    changed: dict[str, Any] = {
        key: None if value == UNSET else value for key, value in given.items()
    }
    return replace(default, **changed)


def _check_option(name: str, value: Any, kind: Any) -> None:
    """Refuse a text for a number, a fraction for a whole number, too little, and a word that is none of the known."""
    if words := [word for word in get_args(kind) if isinstance(word, str)]:
        if value not in words:
            raise InputError(f"{name} must be one of {', '.join(words)}; got {value!r}.")
        return
    if kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"{name} must be true or false; got {value!r}.")
        return
    whole = kind in (int, int | None)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise InputError(f"{name} must be a {'whole ' * whole}number; got {value!r}.")
    least = 0 if name in _MAY_BE_ZERO else 1 if whole else math.nextafter(0, 1)
    if not least <= value < math.inf:
        allowed = f"at least {least}" if whole or least == 0 else "positive"
        raise InputError(f"{name} must be {allowed}; got {value}.")

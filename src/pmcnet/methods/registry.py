"""Methods by name. A line here is all that a new method needs besides its own file."""

from collections.abc import Mapping

from pmcnet.errors import InputError
from pmcnet.methods.annealed import AnnealedOptions
from pmcnet.methods.bbp import BBP
from pmcnet.methods.extras.laplace import LaplaceMethod
from pmcnet.methods.extras.nuts import NUTSMethod
from pmcnet.methods.hmc_options import HMCOptions
from pmcnet.methods.mc_dropout import MCDropout
from pmcnet.methods.pmc import LightOptions, PMCOptions
from pmcnet.methods.point_estimates import AdamMethod
from pmcnet.methods.sae import SAE
from pmcnet.methods.settings import Settings, Value
from pmcnet.methods.sgmcmc.sghmc import SGHMC
from pmcnet.methods.sgmcmc.sgld import SGLD

METHODS: dict[str, Settings] = {
    "annealed": AnnealedOptions(),
    "hmc": HMCOptions(),
    "pmcnet": PMCOptions(),
    "pmcnet-light": LightOptions(),
    "gradfree": PMCOptions(),
    "covfree": PMCOptions(),
    "dm-pmc": PMCOptions(),
    "sl-pmc": PMCOptions(),
    "adam-mle": AdamMethod(objective="mle"),
    "adam-map": AdamMethod(objective="map"),
    "ensemble": AdamMethod(objective="map", n_members=10),
    "bbp": BBP(),
    "sgld": SGLD(),
    "psgld": SGLD(preconditioned=True, learning_rate=1e-3),
    "sghmc": SGHMC(),
    "mc-dropout": MCDropout(),
    "sae": SAE(),
    "laplace": LaplaceMethod(),
    "nuts": NUTSMethod(),
}
"""The default settings of each."""


def check_name(name: str) -> str:
    """The name, or an error that lists the names there are."""
    if name not in METHODS:
        raise InputError(f"method must be one of auto, {', '.join(METHODS)}; got {name!r}.")
    return name


def names_at_hand() -> list[str]:
    """Every method that can be used here: those of other libraries only where installed."""
    return [
        name
        for name, settings in METHODS.items()
        if settings.library is None or settings.library.installed
    ]


def options(name: str, given: Mapping[str, Value], n_rows: int) -> Settings:
    """The settings of a method; one whose library is missing is refused.

    Args:
        name: of the method.
        given: some of its settings; the others are the defaults for that many rows.
        n_rows: training rows.
    """
    settings = METHODS[check_name(name)]
    if settings.library is not None:
        settings.library.require(name)
    return settings.sized(n_rows).given(name, given)

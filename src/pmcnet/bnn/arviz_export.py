"""Posteriors for ArviZ."""

from typing import TYPE_CHECKING

from pmcnet.errors import InputError

if TYPE_CHECKING:
    from xarray import DataTree

    from pmcnet.bnn.posterior import ParticlePosterior

MOST_DRAWS = 4000


def to_arviz(posterior: "ParticlePosterior", n: int | None = None, seed: int = 0) -> "DataTree":
    """A `posterior` group of equally weighted draws; its attributes say what they came from.

    ArviZ has no weights, so draws are resampled by them, as one chain: `n_weighted`, `n_resampled`
    and `ess` are noted in the attributes. Repeated draws carry no more information than `ess` says.
    Islands and parallel chains are chains, whose draws stay in their order.

    Args:
        posterior: weighted networks.
        n: how many to draw; as many as there are weighted draws, at most 4000, when absent.
        seed: of the resampling.
    """
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise InputError(
            "to_arviz needs the package arviz-base. Install it with pip install 'pmcnet[arviz]'."
        ) from error

    n = min(posterior.samples.n_draws, MOST_DRAWS) if n is None else n
    theta = posterior.chains(n, seed).cpu()  # (P, K, D)
    by_chain, layout, flat = theta.shape[:2], posterior.network.layout, theta.flatten(0, 1)
    tensors = layout.unflatten(flat[:, : layout.dim])
    tensors |= dict(zip(posterior.likelihood.extra_names, flat[:, layout.dim :].mT, strict=True))
    variables = {
        name: tensor.reshape(*by_chain, *tensor.shape[1:]).numpy()
        for name, tensor in tensors.items()
    }
    attributes = {
        "n_weighted": posterior.samples.n_draws,
        "n_resampled": len(flat),
        "ess": posterior.ess,
        "log_evidence": posterior.log_evidence,
        "verdict": str(posterior.verdict),
    }
    return from_dict({"posterior": variables}, attrs={"/": attributes, "posterior": attributes})

"""Posteriors for ArviZ."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from pmcnet.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xarray import DataTree

    from pmcnet.bnn.posterior import ParticlePosterior

    Groups = Mapping[str, Mapping[str, NDArray[Any]]]

MOST_DRAWS = 4000
ROW, RESPONSE = "row", "y"
"""The dimension of rows, and the variable that has it in groups about responses."""


def to_arviz(
    posterior: "ParticlePosterior",
    n: int | None = None,
    seed: int = 0,
    *,
    groups: "Groups | None" = None,
    rows: "NDArray[Any] | None" = None,
    about: Mapping[str, Any] | None = None,
) -> "DataTree":
    """A `posterior` group of equally weighted draws; its attributes say what they came from.

    ArviZ has no weights, so draws are resampled by them, as one chain: `n_weighted`, `n_resampled`
    and `ess` are noted in the attributes. Repeated draws carry no more information than `ess` says.
    Islands and parallel chains are chains, whose draws stay in their order.

    Args:
        posterior: weighted networks.
        n: how many to draw; as many as there are weighted draws, at most 4000, when absent.
        seed: of the resampling.
        groups: others, by name, of variables (P, K, N) or (N,) of N rows.
        rows: names of these rows (N,).
        about: more attributes of the whole.
    """
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise InputError(
            "to_arviz needs the package arviz-base. Install it with pip install 'pmcnet[arviz]'."
        ) from error

    theta = chains(posterior, n, seed)  # (P, K, D)
    attributes = {
        "n_weighted": posterior.samples.n_draws,
        "n_resampled": theta.shape[0] * theta.shape[1],
        "ess": posterior.ess,
        "log_evidence": posterior.log_evidence,
        "verdict": str(posterior.verdict),
    }
    return from_dict(
        {"posterior": variables(posterior, theta), **(groups or {})},
        attrs={"/": attributes | dict(about or {}), "posterior": attributes},
        dims={name: [ROW] for group in (groups or {}).values() for name in _of_rows(group)},
        coords=None if rows is None else {ROW: rows},
    )


def chains(posterior: "ParticlePosterior", n: int | None, seed: int) -> Tensor:
    """The draws that are exported, by chain (P, K, D)."""
    n = min(posterior.samples.n_draws, MOST_DRAWS) if n is None else n
    return posterior.chains(n, seed).cpu()


def variables(posterior: "ParticlePosterior", theta: Tensor) -> dict[str, "NDArray[Any]"]:
    """The parameters of networks (P, K, D), those of the likelihood too, by their names."""
    by_chain, layout, flat = theta.shape[:2], posterior.network.layout, theta.flatten(0, 1)
    tensors = layout.unflatten(flat[:, : layout.dim])
    tensors |= dict(zip(posterior.likelihood.extra_names, flat[:, layout.dim :].mT, strict=True))
    return {
        name: tensor.reshape(*by_chain, *tensor.shape[1:]).cpu().numpy()
        for name, tensor in tensors.items()
    }


def _of_rows(group: Mapping[str, Any]) -> list[str]:
    """The variables of a group that are about rows, and not parameters."""
    return [name for name in group if name in (RESPONSE, "weight", "event", "exposure")]

"""NUTS (Hoffman and Gelman, 2014) by NumPyro: Hamiltonian chains on all rows in double precision.

The chains run side by side as one batch. Each starts in the prior, tunes its step and its diagonal
mass matrix while it warms up, and keeps every draw after that. All work is on the CPU.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn import BayesianTarget, Population
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Observer, Rows
from pmcnet.methods.extras.jax_density import log_density
from pmcnet.methods.settings import Choice, choices
from pmcnet.methods.training.loop import TrainedMethod, Watch
from pmcnet.methods.training.state import EpochInfo, TrainingState, refuse_state
from pmcnet.requirements import Library
from pmcnet.rng import stream

Array = NDArray[Any]

_PER_PART = 25
"""Draws of each chain between two records of the history."""
_LEAST_JUDGED = 10
"""Draws of a chain below which its halves say nothing."""


@dataclass(frozen=True, kw_only=True)
class NUTSMethod(TrainedMethod):
    """Chains of the No-U-Turn sampler.

    Args:
        n_chains: chains.
        n_warmup: draws of each chain that tune it and are left out.
        n_draws: draws kept of each chain.
        max_depth: a trajectory makes at most 2^max_depth steps.
        acceptance: the average acceptance probability that the step is tuned for.
    """

    n_chains: int = 4
    n_warmup: int = 300
    n_draws: int = 250
    max_depth: int = 10
    acceptance: float = 0.8

    needs_validation = False
    state_types = ()
    library = Library("NumPyro", "numpyro", "nuts")

    @property
    def grid(self) -> tuple[Choice, ...]:
        """The prior."""
        return choices(prior_std=(0.3, 0.5, 1.0, 2.0, 3.0, 5.0))

    def summary(self, name: str) -> str:
        """What it is called in full."""
        return "the No-U-Turn sampler on all rows, by NumPyro"

    @property
    def work(self) -> str:
        """What the chains do."""
        return f"{self.n_chains} chains of {self.n_warmup + self.n_draws} trajectories"

    def __post_init__(self) -> None:
        if min(self.n_chains, self.n_warmup, self.n_draws, self.max_depth) < 1:
            raise InputError("n_chains, n_warmup, n_draws and max_depth must be at least 1.")
        if not 0 < self.acceptance < 1:
            raise InputError(
                f"acceptance must lie between 0 and 1; got {self.acceptance}. Use 0.8."
            )

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
        validation: Rows | None = None,
    ) -> Fit[EpochInfo]:
        """Run the chains; validation rows are only for the history."""
        self.library.require("nuts")
        refuse_state("nuts", state)
        n_parts = -(-(self.n_warmup + self.n_draws) // _PER_PART)
        watch, parts, diverging = Watch(target, validation, n_parts, observers=observers), [], []
        with _double_precision():
            for drawn, diverged in self._parts(target, seed, n_parts):
                parts.append(
                    torch.as_tensor(drawn).to(target.device, target.x.dtype)
                )  # (C, K_i, D)
                diverging.append(diverged)  # (C, K_i)
                if validation is not None:
                    watch.judge(parts[-1][:, -1])
                watch.done()
        kept = slice(self.n_warmup, self.n_warmup + self.n_draws)
        theta = torch.cat(parts, dim=1)[:, kept]  # (C, K, D)
        n_diverging = int(np.concatenate(diverging, axis=1)[:, kept].sum())
        posterior = Population.of(
            target, theta.flatten(0, 1), self._reason(target, theta, n_diverging)
        )
        return Fit(posterior, tuple(watch.history))

    def _parts(
        self, target: BayesianTarget, seed: int, n_parts: int
    ) -> Iterator[tuple[Array, Array]]:
        """Draws (C, K_i, D), the warm-up included, and which diverged (C, K_i), part by part.

        Parts have one length, since each other length would be compiled anew.
        """
        import jax
        import jax.numpy as jnp
        from numpyro.infer import NUTS

        density = log_density(target)
        kernel = NUTS(
            potential_fn=lambda theta: -density(theta),
            target_accept_prob=self.acceptance,
            max_tree_depth=self.max_depth,
        )

        def step(state: Any, _: None) -> tuple[Any, tuple[Any, Any]]:
            after = kernel.sample(state, (), {})
            return after, (after.z, after.diverging)

        advance = jax.jit(lambda state: jax.lax.scan(step, state, None, length=_PER_PART))
        sources = [stream(seed, 0, chain) for chain in range(self.n_chains)]
        start = jnp.asarray(target.sample_prior(sources, 1)[:, 0].double().cpu().numpy())  # (C, D)
        keys = jax.random.split(
            jax.random.PRNGKey(int(stream(seed, 1, 0).host.integers(1 << 62))), self.n_chains
        )
        state = kernel.init(keys, self.n_warmup, start, (), {})
        for _ in range(n_parts):
            state, (drawn, diverged) = advance(state)  # (K_i, C, D), (K_i, C)
            yield np.array(drawn).swapaxes(0, 1), np.array(diverged).T

    def _reason(self, target: BayesianTarget, theta: Tensor, n_diverging: int) -> str:
        """How far the chains agree on predictions of a few rows, which is no proof."""
        from numpyro.diagnostics import split_gelman_rubin

        agreement = "they are too short to be held against each other"
        if self.n_draws >= _LEAST_JUDGED:
            monitored = target.monitor(theta.flatten(0, 1)).double().cpu().numpy()  # (C * K, S)
            ratio = split_gelman_rubin(monitored.reshape(self.n_chains, self.n_draws, -1))
            agreement = f"the largest split R-hat of their predictions is {ratio.max():.3f}"
        return (
            f"{self.n_chains} chains of NUTS: {agreement}, and {n_diverging} of "
            f"{self.n_chains * self.n_draws} draws "
            "diverged. Chains can agree and all miss a mode, and they give no evidence."
        )


@contextmanager
def _double_precision() -> Iterator[None]:
    """64 bits in JAX for a while; what it was set to before comes back."""
    import jax

    with jax.enable_x64(True):
        yield

"""What does a long run of NUTS (NumPyro) predict on the small problems?

Writes the reference that tests and `versus_nuts.py` compare with: predictive probabilities of the
test rows, mean log pi, and how far two halves of the chains disagree. NumPyro and JAX come with the
`bench` extra.

    python benchmarks/nuts.py --out tests/statistical/nuts_reference.json
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import torch
from numpyro.infer import MCMC, NUTS

from pmcnet.bnn import MLP
from pmcnet.methods.extras.jax_density import log_density, outputs
from pmcnet.paper.problem import Problem, control_problem, paper_problem

PRIOR_VARIANCE = {"ionosphere": 6.46, "glass": 0.511, "wine": 30.0, "control": 4.0}
CONTROL = {"n_train": 400, "seed": 44}
N_PARALLEL = 2


def problem_of(name: str) -> Problem:
    """The paper's rows, or control rows from a known network."""
    cpu = torch.device("cpu")
    return (
        control_problem(CONTROL["n_train"], CONTROL["seed"], cpu)[0]
        if name == "control"
        else paper_problem(name, cpu)
    )


def log_probabilities(theta: Any, x: Any, network: MLP) -> Any:
    """Log-probabilities of the classes (N, n_classes)."""
    z = outputs(theta, x, network)
    if z.shape[-1] == 1:
        return jnp.concatenate([-jax.nn.softplus(z), -jax.nn.softplus(-z)], -1)
    return jax.nn.log_softmax(z, -1)


def sample(
    problem: Problem, variance: float, *, n_chains: int, n_warmup: int, n_draws: int, seed: int
) -> Any:
    """Draws (n_chains, n_draws, D) and the number of gradients."""
    target = problem.target(variance)
    density = log_density(target)
    mcmc = MCMC(
        NUTS(potential_fn=lambda theta: -density(theta)),
        num_warmup=n_warmup,
        num_samples=n_draws,
        num_chains=n_chains,
        chain_method="parallel",
        progress_bar=False,
    )
    keys = jax.random.split(jax.random.PRNGKey(seed), 2)
    start = jnp.sqrt(variance) * jax.random.normal(keys[0], (n_chains, target.dim))
    mcmc.run(
        keys[1], init_params=start, extra_fields=("potential_energy", "num_steps", "diverging")
    )
    return mcmc


def reference(name: str, *, n_rounds: int, n_warmup: int, n_draws: int) -> dict[str, Any]:
    """Predictions and log pi of `n_rounds` times two chains."""
    problem, variance = problem_of(name), PRIOR_VARIANCE[name]
    x_test = jnp.asarray(problem.test[0].numpy())
    predict = jax.jit(
        jax.vmap(lambda theta: jnp.exp(log_probabilities(theta, x_test, problem.network)))
    )
    start = time.perf_counter()
    means, log_pi, divergences = [], [], 0
    for seed in range(n_rounds):
        mcmc = sample(
            problem, variance, n_chains=N_PARALLEL, n_warmup=n_warmup, n_draws=n_draws, seed=seed
        )
        draws = mcmc.get_samples(group_by_chain=True)
        extra = mcmc.get_extra_fields(group_by_chain=True)
        means += [np.asarray(predict(chain).mean(0)) for chain in draws]
        log_pi += [float(-energy.mean()) for energy in extra["potential_energy"]]
        divergences += int(extra["diverging"].sum())
        print(
            name,
            seed,
            f"{time.perf_counter() - start:.0f} s, mean log pi",
            log_pi[-N_PARALLEL:],
            flush=True,
        )
    even, odd = np.mean(means[::2], 0), np.mean(means[1::2], 0)
    return {
        "prior_variance": variance,
        "n_chains": len(means),
        "n_warmup": n_warmup,
        "n_draws": n_draws,
        "mean_log_pi": float(np.mean(log_pi)),
        "mean_log_pi_error": float(np.std(log_pi, ddof=1) / np.sqrt(len(log_pi))),
        "halves_tv": float(0.5 * np.abs(even - odd).sum(-1).mean()),
        "n_divergences": divergences,
        "probability": np.round(np.mean(means, 0), 6).tolist(),
    }


def main() -> None:
    """Sample every problem and store the reference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--names", default=",".join(PRIOR_VARIANCE))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args()
    numpyro.set_host_device_count(N_PARALLEL)
    numpyro.enable_x64()
    sizes = {"n_rounds": options.rounds, "n_warmup": options.warmup, "n_draws": options.draws}
    found = {name: reference(name, **sizes) for name in options.names.split(",")}
    options.out.write_text(
        json.dumps({"numpyro": numpyro.__version__, "control": CONTROL, "problems": found}) + "\n"
    )


if __name__ == "__main__":
    main()

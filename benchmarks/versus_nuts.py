"""How long do the annealed method and NumPyro's NUTS take to the same predictions?

Both run in one process on the same cores, one after the other. NUTS: two chains in parallel. Cold
seconds are those of a first run: NUTS compiles for every new network or dataset, the annealed
method loads what was compiled once on this machine. Warm seconds are those of a second run of the
same problem with another seed. Predictions are compared with the stored long reference of
`nuts.py`.

    python benchmarks/versus_nuts.py --json docs/results/versus_nuts.json
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

from nuts import N_PARALLEL, PRIOR_VARIANCE, log_probabilities, problem_of, sample
from pmcnet import ais
from pmcnet.bnn import ParticlePosterior

REFERENCE = Path(__file__).parents[1] / "tests" / "statistical" / "nuts_reference.json"


def distance(probability: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    """Mean total variation, and the share of rows with the same predicted class."""
    tv = 0.5 * np.abs(probability - reference).sum(-1).mean()
    return {
        "tv": float(tv),
        "agreement": float((probability.argmax(-1) == reference.argmax(-1)).mean()),
    }


def nuts(
    name: str, reference: np.ndarray, *, n_warmup: int, n_draws: int, seed: int
) -> dict[str, Any]:
    """Two chains of NUTS, timed from nothing to draws."""
    problem = problem_of(name)
    jax.clear_caches()
    start = time.perf_counter()
    mcmc = sample(
        problem,
        PRIOR_VARIANCE[name],
        n_chains=N_PARALLEL,
        n_warmup=n_warmup,
        n_draws=n_draws,
        seed=100 + seed,
    )
    draws = jax.block_until_ready(mcmc.get_samples())
    seconds = time.perf_counter() - start
    extra = mcmc.get_extra_fields()
    start = time.perf_counter()
    again = jnp.sqrt(PRIOR_VARIANCE[name]) * jax.random.normal(
        jax.random.PRNGKey(200 + seed), (N_PARALLEL, draws.shape[-1])
    )
    mcmc.run(jax.random.PRNGKey(300 + seed), init_params=again, extra_fields=("potential_energy",))
    jax.block_until_ready(mcmc.get_samples())
    warm = time.perf_counter() - start
    x = jnp.asarray(problem.test[0].numpy())
    mean = jax.vmap(lambda theta: jnp.exp(log_probabilities(theta, x, problem.network)))(
        draws
    ).mean(0)
    return {
        "seconds": seconds,
        "warm_seconds": warm,
        "gradients": int(extra["num_steps"].sum()),
        "gradients_counted": "after warm-up only",
        "mean_log_pi": float(-extra["potential_energy"].mean()),
        **distance(np.asarray(mean), reference),
    }


def annealed(
    name: str, reference: np.ndarray, sampler: ais.AnnealedPMC, *, seed: int
) -> dict[str, Any]:
    """One annealed run in single precision, log-densities summed in double."""
    problem = problem_of(name)
    single = problem._replace(train=(problem.train[0].float(), problem.train[1].float()))
    target = single.target(PRIOR_VARIANCE[name])
    start = time.perf_counter()
    result = sampler.run(target, seed=seed)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    sampler.run(target, seed=100 + seed)
    warm = time.perf_counter() - start
    posterior = ParticlePosterior(problem.network, problem.likelihood, result.samples)
    mean = posterior.predict(problem.test[0].float()).mean
    return {
        "seconds": seconds,
        "warm_seconds": warm,
        "gradients": result.n_gradients * sampler.n_particles,
        "mean_log_pi": float(result.samples.weight @ result.state.points.log_density(1.0)),
        "log_evidence": result.log_evidence,
        "log_evidence_error": result.log_evidence_error,
        "verdict": result.verdict.status,
        **distance(mean.numpy(), reference),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default="ionosphere,glass")
    parser.add_argument("--particles", type=int, default=500)
    parser.add_argument("--ess-fraction", type=float, default=0.5)
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    numpyro.set_host_device_count(N_PARALLEL)
    numpyro.enable_x64()
    sampler = ais.AnnealedPMC(
        n_particles=options.particles, ess_fraction=options.ess_fraction, n_moves=1
    )
    problems = json.loads(REFERENCE.read_text())["problems"]
    rows = []
    for name in options.names.split(","):
        reference = np.array(problems[name]["probability"])
        for seed in range(options.repetitions):
            ours = annealed(name, reference, sampler, seed=seed)
            theirs = nuts(
                name, reference, n_warmup=options.warmup, n_draws=options.draws, seed=seed
            )
            ratio = theirs["seconds"] / ours["seconds"]
            warm = theirs["warm_seconds"] / ours["warm_seconds"]
            found = {"annealed": ours, "nuts": theirs, "ratio": ratio, "warm_ratio": warm}
            rows.append({"name": name, "seed": seed, **found})
            print(
                f"{name}, seed {seed}: annealed {ours['seconds']:.1f} s ({ours['warm_seconds']:.1f}"
                f" warm), TV {ours['tv']:.4f}; NUTS {theirs['seconds']:.1f} s "
                f"({theirs['warm_seconds']:.1f} warm), TV {theirs['tv']:.4f}; NUTS / annealed "
                f"{ratio:.2f} cold, {warm:.2f} warm",
                flush=True,
            )
    if options.json:
        settings = {key: value for key, value in vars(options).items() if key != "json"}
        options.json.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

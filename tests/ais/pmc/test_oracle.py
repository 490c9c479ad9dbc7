"""The batched step of every variant equals the loops of METHOD in numpy, to rounding."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import logsigmoid

from ais.pmc import oracle
from pmcnet import ais

N_PROPOSALS, N_DRAWS, DIM, N_STEPS, SEED = 4, 12, 3, 4, 7

CASES = {
    "pmcnet": (ais.pmcnet, {"scale": "full", "mean": "langevin"}),
    "pmcnet-light": (ais.pmcnet_light, {"scale": "diagonal", "mean": "incremental"}),
    "gradfree": (ais.gradfree, {"scale": "full", "mean": "none"}),
    "covfree": (ais.covfree, {"scale": "fixed", "mean": "langevin"}),
    "dm-pmc": (ais.dm_pmc, {"scale": "fixed", "mean": "none"}),
    "sl-pmc": (ais.sl_pmc, {"scale": "hessian", "mean": "langevin"}),
    "own-proposal": (
        replace(ais.pmcnet, weighting=ais.OwnProposal()),
        {"scale": "full", "mean": "langevin", "own": True},
    ),
    "global": (
        replace(ais.pmcnet, resampling=ais.Global()),
        {"scale": "full", "mean": "langevin", "globally": True},
    ),
    "rank-deficient": (
        replace(ais.pmcnet, n_draws=3, scale_step=ais.RobustCovariance(beta=ais.Constant(1.0))),
        {"scale": "full", "mean": "langevin", "beta": 1.0},
    ),
}


def logistic_target(loops: oracle.Logistic) -> ais.FunctionTarget:
    x, sign = torch.as_tensor(loops.x), torch.as_tensor(loops.sign)

    def part(rows, share):
        def log_density(theta):
            return logsigmoid(theta @ (sign[rows, None] * x[rows]).mT).sum(
                -1
            ) - 0.5 * share * theta.square().sum(-1)

        return log_density

    batches = np.array_split(np.arange(len(x)), loops.n_batches)
    parts = tuple(part(torch.as_tensor(rows), 1 / loops.n_batches) for rows in batches)
    return ais.FunctionTarget(part(slice(None), 1.0), DIM, parts=parts)


@pytest.fixture(scope="module")
def loops():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(25, DIM)) * [1.0, 4.0, 0.3]
    sign = np.where(x @ [1.0, -2.0, 3.0] + generator.normal(size=25) > 0, 1.0, -1.0)
    return oracle.Logistic(x, sign, n_batches=3)


def dense(scale: ais.Scale) -> np.ndarray:
    return (
        torch.diag_embed(scale.covariance) if isinstance(scale, ais.Diagonal) else scale.covariance
    ).numpy()


@pytest.mark.parametrize("name", CASES)
def test_step_equals_loop_oracle(name, loops):
    algorithm, settings = CASES[name]
    n_draws = min(algorithm.n_draws, N_DRAWS)
    algorithm = replace(algorithm, n_draws=n_draws)
    target = logistic_target(loops)
    loc = torch.as_tensor(np.random.default_rng(1).normal(size=(N_PROPOSALS, DIM)))
    state = algorithm.init(loc, sigma=1.7, seed=SEED)
    for t in range(1, N_STEPS + 1):
        mus, sigmas = state.proposals.loc.numpy(), dense(state.proposals.scale)
        want = oracle.step(loops, mus, sigmas, t, SEED, n_draws, **settings)
        state, info = algorithm.step(state, target)
        assert np.array_equal(info.ancestors.numpy(), want["ancestors"])
        assert np.array_equal(info.step_size.numpy(), want["step_size"])
        assert np.array_equal(info.rejected_scale.numpy(), want["rejected"])
        np.testing.assert_allclose(
            info.samples.log_weight.numpy(), want["log_weight"], rtol=1e-10, atol=1e-10
        )
        np.testing.assert_allclose(state.proposals.loc.numpy(), want["loc"], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(
            dense(state.proposals.scale), want["cov"], rtol=1e-10, atol=1e-10
        )


def test_oracle_cases_exercise_backtracking_and_rejection(loops):
    """The comparison above counts only where steps are halved and covariances rejected."""
    target = logistic_target(loops)
    halved, rejected = 0, 0
    for algorithm, _ in CASES.values():
        algorithm = replace(algorithm, n_draws=min(algorithm.n_draws, N_DRAWS))
        state = algorithm.init(
            torch.as_tensor(np.random.default_rng(1).normal(size=(4, DIM))), sigma=1.7, seed=SEED
        )
        for _ in range(N_STEPS):
            state, info = algorithm.step(state, target)
            halved += int(((info.step_size > 0) & (info.step_size < 1)).sum())
            rejected += int(info.rejected_scale.sum())
    assert halved >= 10
    assert rejected >= 3

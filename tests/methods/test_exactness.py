"""Baselines where theory gives their answer: a linear network with Gaussian noise and prior."""

import pytest
import torch

from pmcnet.bnn import MLP, BayesianTarget, Gaussian, GaussianPrior
from pmcnet.methods.bbp import BBP
from pmcnet.methods.mc_dropout import MCDropout
from pmcnet.methods.point_estimates import AdamMethod
from pmcnet.methods.sae import SAE
from pmcnet.methods.sgmcmc.sgld import SGLD
from pmcnet.rng import stream

SIGMA, TAU, N = 0.5, 1.0, 40


def linear():
    """The target, and its posterior's mean and precision."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(N, 3, generator=generator, dtype=torch.float64)
    x[:, 1] += 0.5 * x[:, 0]  # correlated, so that independent coordinates are not the posterior
    y = (
        x @ torch.tensor([1.0, -1.0, 0.5]).double()
        + 0.3
        + SIGMA * torch.randn(N, generator=generator).double()
    )
    design = torch.cat([x, torch.ones(N, 1).double()], 1)
    precision = design.mT @ design / SIGMA**2 + torch.eye(4).double() / TAU**2
    mean = torch.linalg.solve(precision, design.mT @ y / SIGMA**2)
    least_squares = torch.linalg.lstsq(design, y[:, None]).solution[:, 0]
    return (
        BayesianTarget(MLP((3, 1)), Gaussian(SIGMA), x, y, prior=GaussianPrior(TAU)),
        mean,
        precision,
        least_squares,
    )


def test_mle_is_least_squares_and_map_is_ridge():
    target, mean, _, least_squares = linear()
    settings = {"batch_size": N, "n_epochs": 3000, "learning_rate": 0.01}
    mle = AdamMethod(objective="mle", **settings).fit(target, seed=0).posterior.theta[0]
    best = AdamMethod(objective="map", **settings).fit(target, seed=0).posterior.theta[0]
    assert torch.allclose(mle, least_squares, atol=1e-5)
    assert torch.allclose(best, mean, atol=1e-5)


@pytest.mark.parametrize("estimator", ["weights", "local"])
def test_bbp_is_the_best_gaussian_with_independent_coordinates(estimator):
    """Mean of the posterior, variances 1 / diag(precision)."""
    target, mean, precision, _ = linear()
    method = BBP(
        n_draws=256,
        estimator=estimator,
        batch_size=N,
        n_epochs=4000,
        learning_rate=0.002,
        n_kept=20000,
    )
    theta = method.fit(target, seed=0).posterior.theta
    expected = 1 / precision.diagonal().sqrt()
    error = expected / 20000**0.5
    assert (
        (theta.mean(0) - mean).abs() < 5 * error + 0.03 * expected
    ).all()  # the last steps' noise is a few percent
    assert torch.allclose(theta.std(0), expected, rtol=0.06)


@pytest.mark.parametrize("preconditioned", [False, True])
def test_sgld_reaches_the_posterior(preconditioned):
    """Full batches and small steps: the posterior's moments, within the draws' own error."""
    target, mean, precision, _ = linear()
    rate = 1e-1 if preconditioned else 1e-3
    method = SGLD(
        n_chains=400, learning_rate=rate, decay=0.3, delay=1000, batch_size=N, n_epochs=2000,
        burn_in=0.9, n_kept=8000, preconditioned=preconditioned,
    )  # fmt: skip
    theta = method.fit(target, seed=0).posterior.theta
    covariance = torch.linalg.inv(precision)
    expected = covariance.diagonal().sqrt()
    chains_error = expected / 400**0.5
    bias = (
        0.12 if preconditioned else 0.03
    )  # of a finite step; pSGLD leaves out the derivative of its scale
    assert ((theta.mean(0) - mean).abs() < 5 * chains_error).all()
    assert ((theta.std(0) / expected - 1).abs() < 5 / (2 * 400) ** 0.5 + bias).all()


def test_anchored_ensemble_with_noisy_targets_is_the_posterior():
    target, mean, precision, _ = linear()
    method = SAE(
        n_chains=500, n_members=1, n_epochs=800, learning_rate=0.05, batch_size=N,
        noisy_targets=True,
    )  # fmt: skip
    theta = method.fit(target, seed=0).posterior.theta
    expected = torch.linalg.inv(precision).diagonal().sqrt()
    assert ((theta.mean(0) - mean).abs() < 5 * expected / 500**0.5).all()
    assert ((theta.std(0) / expected - 1).abs() < 5 / (2 * 500) ** 0.5).all()


def test_anchors_walk_leaves_the_prior_invariant():
    """After many steps of a walk that began in the prior, its moments are the prior's."""
    target, *_ = linear()
    method = SAE(n_chains=2000, n_members=1, step=0.5)
    sources = [stream(1, 0, chain) for chain in range(2000)]
    anchor, direction = target.sample_prior(sources, 1)[:, 0], torch.ones(2000, 4).double()
    start = anchor.clone()
    for step in range(1, 31):
        anchor, direction = method._walked(
            target, anchor, direction, [stream(1, step, c) for c in range(2000)]
        )
    assert (anchor.mean(0).abs() < 5 * TAU / 2000**0.5).all()
    assert ((anchor.std(0) / TAU - 1).abs() < 5 / (2 * 2000) ** 0.5).all()
    assert (torch.corrcoef(torch.stack([start[:, 0], anchor[:, 0]]))[0, 1]).abs() < 0.5


def test_dropout_expectation_is_the_deterministic_pass_of_a_linear_network():
    target = BayesianTarget(
        MLP((3, 6, 1), "relu"), Gaussian(SIGMA), *(linear()[0].x, linear()[0].y)
    )
    method = MCDropout(rate=0.3, on_inputs=True)
    linear_target = BayesianTarget(MLP((3, 1)), Gaussian(SIGMA), target.x, target.y)
    theta = torch.randn(1, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    masks = method.masks(linear_target, 20000, stream(0, 0, 0))
    outputs = linear_target.network(theta * masks, target.x)[..., 0]  # (S, N)
    expected = linear_target.network(theta, target.x)[0, :, 0]
    error = outputs.std(0) / 20000**0.5
    assert ((outputs.mean(0) - expected).abs() < 5 * error + 1e-12).all()


def test_dropout_score_of_masks_is_that_of_masked_weights():
    """A row-wise mask in the forward pass and a mask on weights are the same network."""
    x, y = linear()[0].x[:1], linear()[0].y[:1]
    target = BayesianTarget(MLP((3, 5, 1)), Gaussian(SIGMA), x, y)
    method = MCDropout(rate=0.5)
    theta = torch.randn(
        1, target.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    batch = target.batch(torch.tensor([0]))
    by_row = method._mlp_score(target, target.network, theta, batch, stream(3, 0, 0))
    mask = method.masks(target, 1, stream(3, 0, 0))
    by_weight = mask * target.batch_likelihood_and_score(theta * mask, batch).score
    assert torch.allclose(by_row, by_weight)

"""What every family of likelihoods must pass, given a member and data as it takes them."""

import json
import math

import numpy as np
import torch
from scipy import stats
from scipy.optimize import brentq

from cli.commands import numbers
from pmcnet import PMCNetRegressor, ais
from pmcnet.ais.verdict import max_chain_drift
from pmcnet.bnn import MLP, BayesianTarget
from pmcnet.bnn.likelihoods import registry
from pmcnet.io.schema import by_kind
from pmcnet.rng import stream

FIVE = max_chain_drift(8) * 1.5
"""Standard errors from eight islands that a mean exceeds once in 50 000."""


def points(likelihood, n_networks, n_rows, seed=0):
    """Outputs (P, N, C) and own parameters (P, E), float64."""
    source = torch.Generator().manual_seed(seed)
    output = torch.randn(n_networks, n_rows, likelihood.n_outputs, generator=source).double()
    noise = torch.randn(n_networks, likelihood.n_extra, generator=source).double()
    return output, likelihood.from_normal(noise)


def assert_gradients(likelihood, y):
    """Those of automatic differentiation, and nearly the same in single precision."""
    output, extra = points(likelihood, 5, len(y))
    output, extra = output.requires_grad_(), extra.requires_grad_()
    log_prob = likelihood.log_prob(output, y, extra)
    expected = torch.autograd.grad(log_prob.sum(), (output, extra), materialize_grads=True)
    output, extra = output.detach(), extra.detach()
    found = likelihood.gradients(output, y, extra)
    torch.testing.assert_close(found.log_prob, log_prob.detach())
    torch.testing.assert_close(found.output, expected[0])
    torch.testing.assert_close(found.extra.sum(1), expected[1])
    single = likelihood.gradients(output.float(), y.float(), extra.float())
    for part, exact in zip(single, found, strict=True):
        assert part.dtype == torch.float32
        size = exact.abs().amax() if exact.numel() else 1.0
        torch.testing.assert_close(part.double(), exact, rtol=1e-4, atol=1e-5 * float(size))


def assert_finite_far_away(likelihood, y, farthest=1e4):
    """In both precisions, whatever the networks say."""
    n_networks = 6
    size = torch.tensor([-1.0, -0.01, -0.001, 0.001, 0.01, 1.0]) * farthest
    output = size[:, None, None].expand(n_networks, len(y), likelihood.n_outputs).clone()
    output[..., 1:] = size.clamp(-8, 8)[:, None, None]
    for shift in (-6.0, 0.0, 6.0):
        extra = likelihood.from_normal(torch.full((n_networks, likelihood.n_extra), shift))
        for dtype in (torch.float32, torch.float64):
            parts = (part.to(dtype) for part in (output, y, extra))
            found = likelihood.gradients(*parts)
            assert all(bool(part.isfinite().all()) for part in found)


def assert_draws(likelihood, *, cdf, seed=1):
    """Their distribution function is `cdf(draws, output, extra)`, their moments those stated."""
    n = 40_000
    output, extra = points(likelihood, 3, 1, seed)
    output = output.expand(3, n, likelihood.n_outputs)
    draws = likelihood.sample(output, extra, stream(0, 0, 0))
    assert draws.shape == (3, n)
    assert draws.dtype == torch.float64
    for j in range(3):
        own = draws[j].numpy()
        level = cdf(own, output[j, 0].numpy(), extra[j].numpy())
        assert stats.kstest(level, "uniform").pvalue > 1e-4
    mean = likelihood.mean(output[:, :1], extra)
    variance = likelihood.aleatoric(mean, output[:, :1], extra)[:, 0]
    mean = mean[:, 0, 0]
    assert ((draws.mean(1) - mean).abs() < 5 * (variance / n).sqrt()).all()
    square = (draws - mean[:, None]).square()
    assert ((square.mean(1) - variance).abs() < 5 * square.std(1) / math.sqrt(n)).all()


def assert_quantiles(likelihood, *, cdf, low, high, levels=(1e-4, 0.025, 0.5, 0.9)):
    """Those of a brute-force inversion of sum_j w_j cdf(q, output_j, extra_j)."""
    output, extra = points(likelihood, 7, 4, seed=2)
    weight = torch.rand(7, generator=torch.Generator().manual_seed(0)).double()
    weight /= weight.sum()
    found = likelihood.quantiles(output, extra, weight, levels)
    assert found.shape == (4, len(levels))
    for n in range(4):
        networks = [(output[j, n].numpy(), extra[j].numpy()) for j in range(7)]

        def below(q, networks=networks):
            each = [float(cdf(np.array(q), *network)) for network in networks]
            return float(weight.numpy() @ each)

        for level, q in zip(levels, found[n].tolist(), strict=True):
            expected = brentq(lambda q, level=level: below(q) - level, low, high, xtol=1e-300)
            assert math.isclose(q, expected, rel_tol=1e-6)
    single = likelihood.quantiles(output.float(), extra.float(), weight, levels)
    torch.testing.assert_close(single.double(), found, rtol=1e-3, atol=0)


def assert_stored(likelihood):
    """It comes back from its form in a file."""
    plain = json.loads(json.dumps(likelihood.to_plain()))
    by_kind("likelihood", registry.stored_forms("regression"))(plain, "it")
    assert registry.from_plain(plain) == likelihood


def constant_network(likelihood, y):
    """A target whose output is a bias, with prior N(0, 1): parameters are (unused, bias, own)."""
    x = torch.zeros(len(y), 1, dtype=torch.float64)
    return BayesianTarget(MLP((1, likelihood.n_outputs)), likelihood, x, y)


def assert_posterior(likelihood, y, log_density, *, spans, n_grid=401):
    """Moments and log Z of (bias, own parameter), by islands against a sum over a grid.

    Args:
        likelihood: with one output and one parameter.
        y: data as it takes them.
        log_density: sum_n log p(y_n | bias, own) of arrays that broadcast.
        spans: where the posterior is, of the bias and of the own parameter.
    """
    axes = [np.linspace(*span, n_grid) for span in spans]
    bias, own = np.meshgrid(*axes, indexing="ij")
    ((mean, std),) = likelihood.extra_prior
    log_joint = stats.norm.logpdf(bias) + stats.norm.logpdf(own, mean, std)
    log_joint = log_joint + log_density(bias, own)
    mass = np.exp(log_joint - log_joint.max())
    edges = (mass[0], mass[-1], mass[:, 0], mass[:, -1])
    assert max(edge.max() for edge in edges) < 1e-8  # the grid holds the posterior
    cell = (axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0])
    log_z = log_joint.max() + math.log(mass.sum() * cell)
    mass /= mass.sum()
    first = [float((mass * each).sum()) for each in (bias, own)]
    second = [
        float((mass * (each - m) ** 2).sum()) for each, m in zip((bias, own), first, strict=True)
    ]
    assert_islands(constant_network(likelihood, y), first, second, log_z)


def assert_islands(target, mean, variance, log_z):
    """A run of islands agrees with the exact posterior of all but the first parameter."""
    result = ais.Islands().run(target, seed=0)
    draws, mean, variance = result.islands[..., 1:], torch.tensor(mean), torch.tensor(variance)
    for value, exact in ((draws, mean), ((draws - mean).square(), variance)):
        each = value.mean(1)
        error = each.std(0) / math.sqrt(len(each))
        assert ((each.mean(0) - exact).abs() < FIVE * error).all()
        assert (error < 0.1 * variance.sqrt().clamp(max=1)).all()
    assert abs(result.log_evidence - log_z) < 5 * result.log_evidence_error
    assert result.log_evidence_error < 0.2


def assert_estimator(path, y, likelihood, member, noise="learn"):
    """A small fit predicts, states intervals, samples, and comes back from a file."""
    x = numbers(len(y))[["x", "z"]].to_numpy()
    model = PMCNetRegressor(
        (2,),
        method="annealed",
        likelihood=likelihood,
        noise=noise,
        device="cpu",
        method_options={"n_islands": 4, "n_particles": 16},
        prior_std=1.0,
        random_state=0,
    ).fit(x, y)
    assert isinstance(model.posterior_.likelihood, member)
    mean, std = model.predict(x, return_std=True)
    interval, total = model.predict_interval(x, 0.9), model.uncertainty(x).total
    assert np.isfinite(mean).all()
    assert np.allclose(std**2, total)
    assert (interval[:, 0] < interval[:, 1]).all()
    drawn = model.sample_y(x, 2000, random_state=1)
    below = (drawn[..., None] < interval[:, None]).mean(1)  # (N, 2)
    assert np.abs(below - [0.05, 0.95]).max() < 5 * math.sqrt(0.05 * 0.95 / 2000)
    assert np.isfinite(model.log_predictive(x, y)).all()
    loaded = PMCNetRegressor.load(model.save(path / "m"))
    assert loaded.posterior_.likelihood == model.posterior_.likelihood
    assert (loaded.predict_interval(x, 0.9) == interval).all()
    assert (loaded.sample_y(x, 3) == model.sample_y(x, 3)).all()
    assert (loaded.log_predictive(x, y) == model.log_predictive(x, y)).all()
    return model, x

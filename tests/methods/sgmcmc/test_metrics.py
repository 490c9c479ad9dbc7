"""Metrics against matrices that are written out."""

from functools import reduce

import pytest
import torch

from pmcnet.bnn.networks.base import Layout
from pmcnet.methods.sgmcmc.diagonal_metric import Diagonal
from pmcnet.methods.sgmcmc.kronecker_metric import Kronecker

SHAPES = [
    ("a.weight", (3, 2, 2, 2)),
    ("a.bias", (3,)),
    ("b.weight", (3, 2, 2, 2)),
    ("c.weight", (4, 3)),
    ("c.bias", (4,)),
]
N_CHAINS, INFORMATION, COUNT, STEP, SPREAD = 2, 0.3, 5.0, 0.1, 0.7


def tell(metric, told):
    for n_before, score in enumerate(told):
        metric.learn(score, n_before)
    metric.renew()


@pytest.fixture
def learned():
    """A metric of tensors of two shapes and vectors; its prior, and what it learned from."""
    source = torch.Generator().manual_seed(0)
    layout = Layout.of(SHAPES)
    precision = torch.rand(layout.dim, generator=source, dtype=torch.float64) + 0.5
    told = torch.randn(6, N_CHAINS, layout.dim, generator=source, dtype=torch.float64)
    told *= torch.linspace(0.2, 3, layout.dim).double()
    metric = Kronecker(layout, precision, INFORMATION, N_CHAINS)
    tell(metric, told)
    tell(metric, told)
    return metric, layout, precision, told


def pushed(metric, gradient, noise):
    velocity = torch.zeros_like(gradient)
    metric.accelerate(velocity, gradient, noise, step=STEP, spread=SPREAD, count=COUNT)
    return velocity


def dense(metric, n):
    """What `push` makes of each unit vector, (P, D, D), as a gradient and as noise."""
    found = []
    for of_noise in (False, True):
        columns = []
        for unit in torch.eye(n).double():
            unit = unit.expand(N_CHAINS, n)
            columns.append(
                pushed(metric, 0 * unit, unit) if of_noise else pushed(metric, unit, 0 * unit)
            )
        found.append(torch.stack(columns, dim=-1))
    return found


def expected_block(told, precision, shape):
    """h C (d, d) of one tensor and chain: told (T, d), precision (d,).

    Squares along directions are known from two rounds: in the first directions were the weights'
    own, and what was seen along them was turned to those that were found then."""
    deviation = precision.rsqrt()
    flat = told * deviation  # (T, d)
    gradients = flat.reshape(-1, *shape[:2], max(1, told.shape[1] // (shape[0] * shape[1])))
    axes = [
        torch.einsum(form, gradients, gradients) / len(told)
        for form in ("toik,tpik->op", "toik,tojk->ij", "toik,toil->kl")
    ]
    directions = reduce(
        torch.kron, (torch.linalg.eigh(axis).eigenvectors for axis in axes)
    )  # (d, d), columns
    first = directions.square().mT @ flat.square().mean(0)
    information = (first + (flat @ directions).square().mean(0)) / 2
    inverse = directions @ torch.diag(1 / (1 + INFORMATION * COUNT * information)) @ directions.mT
    return STEP * deviation[:, None] * inverse * deviation


def test_steps_are_those_of_the_matrices(learned):
    """Directions are Kronecker products; noise has the metric as its covariance."""
    metric, layout, precision, told = learned
    by_gradient, by_noise = dense(metric, layout.dim)
    for chain in range(N_CHAINS):
        expected = torch.zeros(layout.dim, layout.dim).double()
        for p in layout:
            at = slice(p.start, p.stop)
            if len(p.shape) > 1:
                expected[at, at] = expected_block(told[:, chain, at], precision[at], p.shape)
            else:
                square = told[:, :, at].square().mean((0, 1))
                expected[at, at] = torch.diag(STEP / (precision[at] + INFORMATION * COUNT * square))
        torch.testing.assert_close(by_gradient[chain], expected)
        torch.testing.assert_close(by_noise[chain] @ by_noise[chain].mT, SPREAD * expected)


def test_the_metric_of_gradients_that_are_products_is_exact():
    """Gradients u_o v_i with independent u and v have the assumed second moment."""
    layout = Layout.of([("weight", (2, 3))])
    u = torch.tensor([[1.0, 1.0], [1.0, -1.0], [2.0, 0.5], [-2.0, 0.5]]).double()
    v = torch.tensor([[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]]).double()
    told = [torch.outer(a, b).flatten() for a in u for b in v]
    metric = Kronecker(layout, torch.ones(6).double(), 1.0, N_CHAINS)
    tell(metric, [score.expand(N_CHAINS, 6) for score in told])
    metric.parts["known"].zero_()  # what was seen before the directions were found
    tell(metric, [score.expand(N_CHAINS, 6) for score in told])
    fisher = sum(torch.outer(score, score) for score in told) / len(told)
    expected = STEP * torch.linalg.inv(torch.eye(6).double() + COUNT * fisher)
    torch.testing.assert_close(dense(metric, 6)[0][0], expected)


def test_what_is_learned_is_used_from_the_next_turn_on(learned):
    metric, layout, _, told = learned
    gradient = torch.ones(N_CHAINS, layout.dim).double()
    before = pushed(metric, gradient, 0 * gradient)
    metric.learn(100 * told[0], 0)
    weights = slice(layout[0].start, layout[0].stop)
    assert torch.equal(pushed(metric, gradient, 0 * gradient)[:, weights], before[:, weights])
    metric.restore()
    assert torch.equal(pushed(metric, gradient, 0 * gradient)[:, weights], before[:, weights])
    metric.renew()
    assert (
        pushed(metric, gradient, 0 * gradient)[:, weights].abs().sum()
        < 0.1 * before[:, weights].abs().sum()
    ).all()


def test_before_anything_is_learned_the_metric_is_the_priors():
    layout = Layout.of(SHAPES)
    precision = torch.linspace(0.5, 2, layout.dim).double()
    gradient = torch.ones(N_CHAINS, layout.dim).double()
    metrics = Kronecker(layout, precision, 1.0, N_CHAINS), Diagonal(precision, 0.0)
    for metric in metrics:
        metric.learn(0 * gradient, 0)
        metric.renew()
    found = [pushed(metric, gradient, gradient) for metric in metrics]
    torch.testing.assert_close(found[0], found[1])

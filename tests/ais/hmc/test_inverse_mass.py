"""Inverse mass matrices: what they multiply by and what they colour with."""

import pytest
import torch

from pmcnet import ais
from pmcnet.ais.hmc.inverse_mass import Dense, LowRank, OneDiagonal

G, D, R = 3, 12, 5


@pytest.fixture
def parts():
    source = torch.Generator().manual_seed(0)
    sigma = 0.5 + torch.rand(G, D, generator=source, dtype=torch.float64)
    rows = torch.randn(G, R, D, generator=source, dtype=torch.float64)
    return sigma, rows


def covariance(sigma, rows):
    inner = torch.eye(D, dtype=torch.float64) + rows.mT @ rows
    return sigma[..., None] * inner.inverse() * sigma[:, None]


def masses(sigma, rows):
    expected = covariance(sigma, rows)
    return {
        "low rank": (LowRank.of(sigma, rows), expected),
        "dense": (Dense.of(expected.inverse()), expected),
        "diagonal": (ais.Diagonal(sigma), torch.diag_embed(sigma.square())),
        "one diagonal": (OneDiagonal(sigma[0], G), sigma[0].square().diag().expand(G, D, D)),
    }


@pytest.mark.parametrize("name", ["low rank", "dense", "diagonal", "one diagonal"])
def test_vectors_are_multiplied_by_the_covariance(parts, name):
    mass, expected = masses(*parts)[name]
    vectors = torch.randn(G, 7, D, dtype=torch.float64)
    assert mass.n_groups == G
    assert torch.allclose(mass.multiply(vectors), vectors @ expected)
    assert torch.allclose(mass.take(slice(1, 3)).multiply(vectors[1:]), vectors[1:] @ expected[1:])


@pytest.mark.parametrize("name", ["low rank", "dense", "diagonal", "one diagonal"])
def test_particles_are_launched_with_the_covariance(parts, name):
    mass, expected = masses(*parts)[name]
    velocity, momentum = mass.launch(torch.eye(D, dtype=torch.float64).repeat(G, 1, 1))
    assert torch.allclose(velocity.mT @ velocity, expected)  # rows are roots of it, transposed
    assert torch.allclose(momentum @ expected, velocity)


@pytest.mark.parametrize("name", ["low rank", "dense"])
def test_covariances_are_given_as_matrices(parts, name):
    mass, expected = masses(*parts)[name]
    assert torch.allclose(mass.covariance, expected)


def test_precisions_that_are_not_positive_definite_are_refused():
    eye = torch.eye(D, dtype=torch.float64).repeat(G, 1, 1)
    eye[1, 0, 0] = -1
    assert Dense.of(eye) is None
    assert LowRank.of(torch.full((G, D), torch.inf), torch.zeros(G, R, D)) is None


def test_few_particles_give_the_matrix_that_many_would(parts):
    """Score takes the structure that costs less; both are the same matrix."""
    source = torch.Generator().manual_seed(1)
    n, dim = 16, 40
    empty = torch.zeros(n, dtype=torch.float64)
    theta, score = (torch.randn(n, dim, generator=source, dtype=torch.float64) for _ in range(2))
    points = ais.path.Points(theta, empty, empty, torch.zeros_like(score), score)
    weight = torch.full((n,), 1 / n, dtype=torch.float64)
    mass = ais.Score("dense")(points, weight, 1.0)
    assert isinstance(mass, LowRank)
    share = 0.2 + 0.8 * dim / (dim + n)
    others = score[2:]
    moment = others.mT @ others / len(others)
    precision = (1 - share) * moment + share * torch.diag(others.square().mean(0))
    assert torch.allclose(mass.covariance[0], precision.inverse())

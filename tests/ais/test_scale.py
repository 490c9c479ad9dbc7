import pytest
import torch

from pmcnet.ais import Diagonal, Full

LOC = torch.zeros(3, 4, dtype=torch.float64)


@pytest.fixture(params=[Full, Diagonal])
def scale(request):
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(3, 4, 4, generator=generator, dtype=torch.float64)
    covariance = root @ root.mT + torch.eye(4, dtype=torch.float64)
    if request.param is Diagonal:
        covariance = covariance.diagonal(dim1=-2, dim2=-1)
    made, valid = request.param.from_covariance(covariance)
    assert valid.all()
    torch.testing.assert_close(made.covariance, covariance)
    return made


def dense(scale):
    return scale.covariance if isinstance(scale, Full) else torch.diag_embed(scale.covariance)


def test_matvec_multiplies_by_the_covariance(scale):
    vector = torch.randn(3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(scale.matvec(vector), (dense(scale) @ vector[..., None])[..., 0])


def test_coloured_basis_squares_to_the_covariance(scale):
    basis = torch.eye(4, dtype=torch.float64).repeat(3, 1, 1)
    root = scale.colour_(basis).mT
    torch.testing.assert_close(root @ root.mT, dense(scale))


def test_inverse_undoes_colour(scale):
    noise = torch.randn(3, 7, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(scale.inverse().colour_(scale.colour_(noise.clone())), noise)


def test_log_det_is_half_that_of_the_covariance(scale):
    torch.testing.assert_close(scale.log_det, 0.5 * torch.logdet(dense(scale)))


def test_scatter_is_the_weighted_covariance(scale):
    generator = torch.Generator().manual_seed(2)
    theta = torch.randn(3, 9, 4, generator=generator, dtype=torch.float64) + 100
    weight = torch.rand(3, 9, generator=generator, dtype=torch.float64)
    weight /= weight.sum(-1, keepdim=True)
    for m in range(3):
        expected = torch.cov(theta[m].mT, aweights=weight[m], correction=0)
        got = scale.scatter(theta, weight)[m]
        torch.testing.assert_close(
            got, expected if isinstance(scale, Full) else expected.diagonal()
        )


def test_put_overwrites_valid_blocks_of_a_copy(scale):
    before = scale.covariance.clone()
    other = scale.isotropic(5.0, LOC)
    copy = scale.clone()
    copy.put_(slice(1, 3), other.take(slice(1, 3)), torch.tensor([False, True]))
    torch.testing.assert_close(copy.covariance[:2], before[:2])
    torch.testing.assert_close(copy.covariance[2], other.covariance[2])
    assert torch.equal(scale.covariance, before)


@pytest.mark.parametrize("structure", [Full, Diagonal])
def test_isotropic_has_variance_sigma_squared(structure):
    torch.testing.assert_close(
        dense(structure.isotropic(3.0, LOC)), 9 * torch.eye(4, dtype=torch.float64).repeat(3, 1, 1)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_full_rejects_what_is_not_positive_definite(dtype):
    eye = torch.eye(5, dtype=dtype)
    thin = torch.randn(3, 5, generator=torch.Generator().manual_seed(0), dtype=dtype)
    tiny = torch.diag(torch.tensor([1e-12, 1, 1e6, 1, 1], dtype=dtype))
    cases = torch.stack([eye, thin.mT @ thin, -eye, eye * torch.nan, eye * 0, tiny])
    assert Full.from_covariance(cases)[1].tolist() == [True, False, False, False, False, True]


def test_diagonal_rejects_what_is_not_positive():
    cases = torch.tensor([[1.0, 2.0], [0.0, 1.0], [-1.0, 1.0], [torch.nan, 1.0], [torch.inf, 1.0]])
    assert Diagonal.from_covariance(cases)[1].tolist() == [True, False, False, False, False]

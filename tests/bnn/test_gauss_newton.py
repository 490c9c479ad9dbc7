import pytest
import torch

from pmcnet import ais
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianPrior,
    GaussNewtonTarget,
    LearnedGaussian,
)

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(15, 3, generator=GENERATOR, dtype=torch.float64)
Y = (X[:, 0] > 0).double()


@pytest.mark.parametrize(
    ("sizes", "likelihood"),
    [((3, 1), Gaussian(0.5)), ((3, 1), Bernoulli()), ((3, 2), Categorical(2))],
)
def test_gauss_newton_of_a_linear_network_is_the_hessian(sizes, likelihood):
    target = BayesianTarget(MLP(sizes), likelihood, X, Y, prior=GaussianPrior(1.3))
    theta = torch.randn(4, target.dim, generator=GENERATOR, dtype=torch.float64)
    torch.testing.assert_close(GaussNewtonTarget(target).hessian(theta), target.hessian(theta))


@pytest.mark.parametrize(
    ("sizes", "likelihood"), [((3, 4, 1), Bernoulli()), ((3, 4, 2), Categorical(2))]
)
def test_gauss_newton_is_negative_definite_where_the_hessian_is_not(sizes, likelihood):
    target = BayesianTarget(MLP(sizes), likelihood, X, Y, prior=GaussianPrior(3.0))
    theta = 2 * torch.randn(20, target.dim, generator=GENERATOR, dtype=torch.float64)
    assert (torch.linalg.eigvalsh(target.hessian(theta))[:, -1] > 0).any()
    assert (torch.linalg.eigvalsh(GaussNewtonTarget(target).hessian(theta))[:, -1] < 0).all()


def test_noise_scale_gets_its_exact_curvature():
    target = BayesianTarget(MLP((3, 1)), LearnedGaussian(), X, Y)
    theta = torch.randn(2, target.dim, generator=GENERATOR, dtype=torch.float64)
    got, exact = GaussNewtonTarget(target).hessian(theta), target.hessian(theta)
    torch.testing.assert_close(got[:, -1, -1], exact[:, -1, -1])


def test_sl_pmc_rejects_no_scale_with_gauss_newton():
    target = BayesianTarget(MLP((3, 4, 1)), Bernoulli(), X, Y, prior=GaussianPrior(3.0))
    loc = torch.randn(6, target.dim, generator=GENERATOR, dtype=torch.float64)
    state = ais.sl_pmc.init(loc, sigma=0.5, seed=0)
    _, exact = ais.sl_pmc.step(state, target)
    _, always = ais.sl_pmc.step(state, GaussNewtonTarget(target))
    assert exact.rejected_scale.any()
    assert not always.rejected_scale.any()

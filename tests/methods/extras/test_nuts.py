"""NUTS by NumPyro, which comes with the `nuts` extra: the same density, and what it draws."""

import pytest
import torch

from pmcnet import ais
from pmcnet.bnn import (
    MLP,
    AnnealedPosterior,
    BayesianTarget,
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianPrior,
    GeneralisedGaussian,
    LaplacePrior,
    LayerGaussianPrior,
    LearnedGaussian,
    ModuleNetwork,
)
from pmcnet.errors import InputError
from pmcnet.methods.extras.jax_density import log_density
from pmcnet.methods.extras.nuts import NUTSMethod
from pmcnet.paper.problem import paper_problem

pytestmark = pytest.mark.skipif(
    not NUTSMethod().library.installed,
    reason="NumPyro is not installed: pip install 'pmcnet[nuts]'",
)

LIKELIHOODS = {
    "bernoulli": Bernoulli(),
    "categorical": Categorical(3),
    "gaussian": Gaussian(0.4),
    "learned": LearnedGaussian(-1.0, 0.7),
}


def rows(n=25):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    return x, x @ torch.tensor([1.0, -1.0, 0.5]).double() + 0.5 * torch.randn(
        n, generator=generator
    ).double()


def a_target(kind, prior=None, activation="tanh", weight=None):
    x, y = rows()
    prior = prior or GaussianPrior(1.3)
    labels = {
        "bernoulli": (y > 0).double(),
        "categorical": torch.bucketize(y, torch.tensor([-1.0, 1.0])).double(),
    }
    network = MLP((3, 4, 2, LIKELIHOODS[kind].n_outputs), activation)
    return BayesianTarget(
        network, LIKELIHOODS[kind], x, labels.get(kind, y), prior=prior, weight=weight
    )


@pytest.mark.parametrize(
    "target",
    [
        *(a_target(kind) for kind in LIKELIHOODS),
        *(a_target("learned", prior) for prior in (LayerGaussianPrior(0.6), LaplacePrior(0.9))),
        *(
            a_target("bernoulli", activation=activation)
            for activation in ("relu", "sigmoid", "silu")
        ),
        a_target("categorical", weight=torch.arange(25).double() / 7),
    ],
    ids=lambda target: f"{target.likelihood}, {target.prior}, {target.network.activation}",
)
def test_density_is_that_of_the_target(target):
    import jax
    import jax.numpy as jnp

    theta = torch.randn(
        4, target.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    value, score = target.value_and_score(theta)
    with jax.enable_x64(True):
        density = log_density(target)
        found = [jax.value_and_grad(density)(jnp.asarray(point.numpy())) for point in theta]
    assert [float(one) for one, _ in found] == pytest.approx(value.tolist(), rel=1e-10)
    assert torch.allclose(
        torch.stack([torch.tensor(slope.tolist()).double() for _, slope in found]), score, atol=1e-6
    )


def test_precision_of_jax_is_left_as_it_was():
    import jax

    before = jax.config.jax_enable_x64
    NUTSMethod(n_chains=2, n_warmup=5, n_draws=5).fit(a_target("gaussian"), seed=0)
    assert jax.config.jax_enable_x64 == before


def test_linear_gaussian_posterior_is_reached():
    x, y = rows()
    target = BayesianTarget(MLP((3, 1)), Gaussian(0.5), x, y, prior=GaussianPrior(0.8))
    design = torch.cat([x, torch.ones(len(x), 1).double()], 1)
    precision = design.mT @ design / 0.25 + torch.eye(4).double() / 0.64
    mean = torch.linalg.solve(precision, design.mT @ y / 0.25)
    scale = torch.linalg.inv(precision).diagonal().sqrt()
    posterior = NUTSMethod(n_chains=4, n_draws=1000).fit(target, seed=0).posterior
    n_effective = 1000  # of 4000: draws of a chain are related
    assert ((posterior.theta.mean(0) - mean).abs() < 5 * scale / n_effective**0.5).all()
    assert ((posterior.theta.std(0) / scale - 1).abs() < 5 / (2 * n_effective) ** 0.5).all()
    assert "R-hat of their predictions is 1.0" in posterior.verdict.reason
    assert posterior.verdict.status == "doubtful"


def test_one_chain_gives_as_many_draws_as_asked_for():
    told = []
    method = NUTSMethod(n_chains=1, n_warmup=20, n_draws=7)
    fitted = method.fit(
        a_target("gaussian"),
        seed=0,
        validation=rows(),
        observers=[lambda _, info: told.append(info[:2])],
    )
    assert fitted.posterior.theta.shape == (7, a_target("gaussian").dim)
    assert told == [(1, 2), (2, 2)]
    assert fitted.history[-1].validation_loss is not None
    assert "too short" in fitted.posterior.verdict.reason


def test_what_it_does_not_know_is_refused():
    x, y = rows()
    with pytest.raises(InputError, match="needs a network of hidden layers"):
        NUTSMethod().fit(
            BayesianTarget(ModuleNetwork(torch.nn.Linear(3, 1)), Gaussian(0.5), x, y), seed=0
        )
    with pytest.raises(InputError, match="knows Bernoulli, categorical and Gaussian"):
        NUTSMethod().fit(BayesianTarget(MLP((3, 1)), GeneralisedGaussian(0.5), x, y), seed=0)
    with pytest.raises(InputError, match="acceptance must lie between 0 and 1"):
        NUTSMethod(acceptance=1.0)


@pytest.mark.slow
def test_predictions_on_ionosphere_are_those_of_the_annealed_method():
    problem = paper_problem("ionosphere", torch.device("cpu"))
    target = problem.target(6.46)
    nuts = NUTSMethod().fit(target, seed=0).posterior.predict(problem.test[0]).mean
    result = ais.AnnealedPMC(n_particles=1000).run(target, seed=0)
    annealed = AnnealedPosterior.of(target, result).predict(problem.test[0]).mean
    assert 0.5 * (nuts - annealed).abs().sum(-1).mean() < 0.02
    assert (nuts.argmax(-1) == annealed.argmax(-1)).double().mean() > 0.98

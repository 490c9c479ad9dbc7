"""No NaN or infinity leaves the core: targets, samplers, predictions at the ends of float."""

import math
from dataclasses import replace

import pytest
import torch
from scipy import stats

from pmcnet import ais, metrics, tune
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianPrior,
    GeneralisedGaussian,
    LearnedGaussian,
    ParticlePosterior,
    Population,
)
from pmcnet.bnn.likelihoods.mixture_quantiles import mixture_quantile, standard_quantiles
from pmcnet.errors import DegenerateWeightsError, DivergedError, InputError, TargetError
from pmcnet.methods import AnnealedMethod, PMCMethod
from pmcnet.methods.registry import METHODS
from pmcnet.methods.training.starts import Given, Jitter
from pmcnet.tune.validation_search import validation_prior

DTYPES = [torch.float32, torch.float64]
NONE = torch.zeros(1, 0)


def rows(dtype, scale=1.0):
    x = torch.randn(12, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return (scale * x).to(dtype), (x[:, 0] - x[:, 1]).to(dtype)


def target(
    likelihood,
    dtype=torch.float64,
    *,
    scale=1.0,
    sigma=1.0,
    activation="relu",
    hidden=(3,),
    weight=None,
):
    x, y = rows(dtype, scale)
    if likelihood.task == "classification":
        y = (
            (y > 0.5).to(dtype) + (y > -0.5).to(dtype)
            if likelihood.n_outputs > 1
            else (y > 0).to(dtype)
        )
    network = MLP((2, *hidden, likelihood.n_outputs), activation)
    return BayesianTarget(network, likelihood, x, y, prior=GaussianPrior(sigma), weight=weight)


def posterior(given, theta, log_weight=None):
    log_weight = torch.zeros(len(theta), dtype=torch.float64) if log_weight is None else log_weight
    return ParticlePosterior(
        given.network, given.likelihood, ais.WeightedSamples(theta, log_weight)
    )


def check(found: ParticlePosterior, x, y):
    prediction = found.predict(x)
    parts = [*prediction, found.draws(x, n_passes=5), found.log_predictive(x, y)]
    if found.likelihood.task == "regression":
        parts.append(found.quantiles(x, [1e-6, 0.05, 0.5, 0.95]))
    assert all(part.isfinite().all() for part in parts)
    assert not math.isnan(found.log_evidence)
    assert not math.isnan(found.log_evidence_error)


LIKELIHOODS = [
    Bernoulli(),
    Categorical(3),
    Gaussian(0.1),
    LearnedGaussian(),
    GeneralisedGaussian(0.1, 0.7),
]
SCALES = [(1e-30, 1.0), (1e12, 1.0), (1e18, 1.0), (1.0, 1e-6), (1.0, 1e6)]


@pytest.mark.parametrize(
    "likelihood", LIKELIHOODS, ids=lambda likelihood: type(likelihood).__name__
)
@pytest.mark.parametrize(("scale", "sigma"), SCALES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_samplers_on_networks_are_finite(likelihood, scale, sigma, dtype):
    """Inputs or priors at which squares leave single precision; such a gradient is an error."""
    given = target(likelihood, dtype, scale=scale, sigma=sigma)
    sampler = ais.AnnealedPMC(n_particles=8, n_moves=0, ess_fraction=0.1)
    fits = [lambda: AnnealedMethod(sampler=sampler).fit(given, seed=0)]
    for name in ("pmcnet", "pmcnet-light", "sl-pmc"):
        algorithm = replace(ais.VARIANTS[name], n_draws=5)
        start = torch.full((3, given.dim), 0.3, dtype=dtype)
        method = PMCMethod(algorithm=algorithm, n_proposals=3, n_steps=2, start=Given(start))
        fits.append(lambda method=method: method.fit(given, seed=0))
    for fit in fits:
        try:
            found = fit()
        except (TargetError, DegenerateWeightsError):
            assert dtype == torch.float32
            assert scale == 1e18
        else:
            check(found.posterior, given.x, given.y)
            lines = [info.line().values() for info in found.history]
            assert not any(math.isnan(value) for line in lines for value in line)


@pytest.mark.parametrize(
    "name", [name for name in METHODS if METHODS[name].grid and not METHODS[name].library]
)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e18])
def test_training_is_finite_or_says_that_it_diverged(scale, dtype, name):
    settings = {"n_epochs": 3} | (
        {"n_next_epochs": 1, "n_members": 2, "n_chains": 2} if name == "sae" else {}
    )
    for likelihood in (LearnedGaussian(), Categorical(3)):
        given = target(likelihood, dtype, scale=scale)
        try:
            found = replace(METHODS[name], **settings).fit(given, seed=0).posterior
        except DivergedError:
            assert scale == 1e18
        else:
            check(found, given.x, given.y)


def test_start_that_diverged_is_not_sampled_from():
    given = target(LearnedGaussian(), torch.float32)
    adam = replace(Jitter().adam, n_epochs=3, learning_rate=1e3)
    with pytest.raises(DivergedError, match="3 of 3 networks"):
        PMCMethod(n_proposals=3, start=replace(PMCMethod().start, adam=adam)).fit(given, seed=0)
    with pytest.raises(DivergedError, match="1 of 1 networks"):
        PMCMethod(n_proposals=3, start=Jitter(adam=adam)).fit(given, seed=0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e30])
def test_networks_that_predict_nothing_are_refused(bad):
    given = target(Gaussian(0.1), torch.float32)
    theta = torch.zeros(3, given.dim)
    theta[1] = bad
    with pytest.raises(DivergedError, match=r"1 of 3 networks.*Use a smaller learning_rate"):
        Population.of(given, theta, "for the test")


@pytest.mark.parametrize("log_sigma", [-200.0, 200.0])
def test_noise_that_is_no_number_is_refused(log_sigma):
    given = target(LearnedGaussian(), torch.float32)
    theta = torch.zeros(3, given.dim)
    theta[2, -1] = log_sigma
    with pytest.raises(DivergedError, match="1 of 3 networks"):
        Population.of(given, theta, "for the test")


@pytest.mark.parametrize("likelihood", [Bernoulli(), Categorical(3), LearnedGaussian()])
def test_rows_on_which_networks_overflow_are_refused_by_number(likelihood):
    given = target(likelihood, torch.float32, hidden=(3, 3, 3))
    theta = torch.randn(32, given.dim, generator=torch.Generator().manual_seed(1))
    theta[:, : given.n_parameters] *= 1e7
    found, x = posterior(given, theta), given.x.clone()
    x[5] = 1e15
    asked = [found.predict, found.draws, lambda x: found.log_predictive(x, given.y)]
    if likelihood.task == "regression":
        asked.append(lambda x: found.quantiles(x, [0.5]))
    for ask in asked:
        with pytest.raises(
            InputError,
            match=r"overflow float32 on .* of 12 rows, first on row 6: .*Correct or drop",
        ):
            ask(x)


def test_row_that_does_not_count_adds_nothing_even_if_impossible():
    """0 times minus infinity is 0 here: the row is not there."""
    weight = torch.ones(12)
    weight[4] = 0
    given = target(Gaussian(0.1), torch.float32, weight=weight)
    impossible = replace(given, y=torch.where(weight > 0, given.y, 1e30))
    theta = torch.randn(5, given.dim, generator=torch.Generator().manual_seed(0))
    assert torch.equal(impossible.log_density(theta), given.log_density(theta))
    assert torch.equal(impossible.value_and_score(theta).score, given.value_and_score(theta).score)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e2, 1e10, 1e37])
def test_huge_logits(size, dtype):
    logits = size * torch.tensor(
        [[[1.0, -1.0, 0.5], [-1.0, 1.0, 1.0], [0.0, -1.0, -1.0]]], dtype=dtype
    )
    label = torch.tensor([1, 0, 2])
    for likelihood, output, y in (
        (Categorical(3), logits, label.to(dtype)),
        (Bernoulli(), logits[..., :1], torch.tensor([0, 1, 1], dtype=dtype)),
    ):
        log_prob, gradient, _ = likelihood.gradients(output, y, NONE)
        probability = likelihood.mean(output, NONE)
        assert log_prob.isfinite().all()
        assert torch.equal(log_prob, likelihood.log_prob(output, y, NONE))
        assert gradient.isfinite().all()
        assert probability.isfinite().all()
        assert torch.allclose(probability.sum(-1), torch.ones(1, 3, dtype=dtype))
        assert metrics.brier(probability, y.long()).isfinite().all()
        assert metrics.ece(probability, y.long()).isfinite().all()


@pytest.mark.parametrize("likelihood", [Bernoulli(), Categorical(3)])
def test_likelihood_of_a_class_held_impossible_is_finite(likelihood):
    """The averaged probability underflows to 0; its logarithm, from logits of 1e10, does not."""
    given = target(likelihood, torch.float32)
    theta = 1e5 * torch.randn(1, given.dim, generator=torch.Generator().manual_seed(0))
    found = posterior(given, theta)
    assert (found.predict(given.x).mean == 0).any()
    wrong = (given.y + 1) % max(2, likelihood.n_outputs)
    nll = -found.log_predictive(given.x, wrong)
    assert nll.isfinite().all()
    assert nll.max() > 1e6


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1.0, 1e10, 1e25])
def test_quantiles_of_narrow_components_far_apart(size, dtype):
    """Components far narrower than the mixture: each level is met, quantiles are in order."""
    mean = torch.tensor([[-1.0], [0.5], [1.0]], dtype=dtype) * size
    deviation = torch.tensor([[1e-5], [1e-3], [1e-4]], dtype=dtype) * size
    weight, standard = torch.tensor([0.02, 0.96, 0.02], dtype=dtype), Gaussian(1.0)
    levels = [1e-6, 0.01, 0.025, 0.3, 0.975, 0.99]
    found = [
        float(mixture_quantile(mean, deviation, weight, p, z, standard))
        for p, z in zip(levels, standard_quantiles(levels, standard), strict=True)
    ]
    assert found == sorted(found)
    for level, q in zip(levels, found, strict=True):
        below = (
            stats.norm.cdf((q - mean[:, 0].double()) / deviation[:, 0].double())
            @ weight.double().numpy()
        )
        assert below == pytest.approx(level, rel=0.05)


@pytest.mark.parametrize("sigma", [1e-50, 1e39, 1e300])
def test_proposals_that_single_precision_has_no_number_for_are_refused(sigma):
    loc = torch.zeros(3, 2)
    for algorithm in ais.VARIANTS.values():
        with pytest.raises(
            InputError,
            match=r"sigma must be a positive finite standard deviation, in torch.float32",
        ):
            algorithm.init(loc, sigma=sigma, seed=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("curvature", [1e-300, 1e-30, 1e30])
def test_targets_of_any_width_are_finite(curvature, dtype):
    wide = ais.FunctionTarget(lambda x: -0.5 * curvature * x.double().square().sum(-1), 2)
    for name in ("pmcnet", "pmcnet-light", "sl-pmc"):
        algorithm = replace(ais.VARIANTS[name], n_draws=8, keep="all")
        result = ais.run(
            algorithm,
            wide,
            algorithm.init(torch.ones(3, 2, dtype=dtype), seed=0),
            n_steps=3,
        )
        assert result.samples.theta.isfinite().all()
        assert result.samples.log_weight.isfinite().all()
        assert not any(
            math.isnan(value) for info in result.history for value in info.line().values()
        )


def test_prior_whose_networks_overflow_is_refused_with_a_remedy():
    with pytest.raises(TargetError, match="use a narrower prior or scale the data"):
        ais.AnnealedPMC(n_particles=8).run(
            target(Categorical(3), torch.float32, sigma=1e20), seed=0
        )
    with pytest.raises(DegenerateWeightsError, match="a prior that gives the data a chance"):
        ais.AnnealedPMC(n_particles=8).run(target(Gaussian(0.1), torch.float32, sigma=1e12), seed=0)


def test_annealing_without_moves_has_no_acceptance_to_tell():
    result = ais.AnnealedPMC(n_particles=8, n_moves=0).run(target(Bernoulli()), seed=0)
    assert all(record.acceptance == 0 for record in result.history)
    assert "no particle was moved" in result.verdict.reason or result.verdict.status == "degenerate"


@pytest.mark.parametrize("make", [Gaussian, GeneralisedGaussian])
@pytest.mark.parametrize("scale", [1e-300, 1e200, math.inf, math.nan])
def test_noise_whose_square_is_no_number_is_refused(make, scale):
    with pytest.raises(
        InputError,
        match=r"must be a positive finite number from 1e-100 to 1e\+100.*Scale the response",
    ):
        make(scale)


def test_choice_that_diverges_is_the_worst():
    def loss(choice):
        if choice["rate"] > 1:
            raise DivergedError("the fit diverged.")
        return choice["rate"]

    found = tune.grid_search([{"rate": 2.0}, {"rate": 0.5}, {"rate": 0.1}], loss)
    assert found.best == {"rate": 0.1}
    assert found.trials[0][1] == math.inf


def test_prior_that_diverges_is_the_worst():
    given = target(Gaussian(0.1))
    seen = []

    def fit(tried):
        if tried.prior.sigma < 0.5:
            raise DivergedError("the fit diverged.")
        return posterior(given, tried.prior.sigma * torch.ones(1, given.dim, dtype=torch.float64))

    found = validation_prior(
        given, fit, (given.x, given.y), progress=lambda sigma, loss: seen.append((sigma, loss))
    )
    assert found.best >= 0.5
    assert math.isfinite(found.loss)
    assert all((loss == math.inf) == (sigma < 0.5) for sigma, loss in seen)

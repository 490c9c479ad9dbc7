import builtins
import math

import pytest
import torch

from pmcnet.ais import Verdict, WeightedSamples
from pmcnet.bnn import (
    MLP,
    Bernoulli,
    Categorical,
    Gaussian,
    LearnedGaussian,
    ParticlePosterior,
    Population,
)
from pmcnet.errors import InputError

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(9, 3, generator=GENERATOR, dtype=torch.float64)


def posterior(likelihood, sizes=(3, 4, 1), n=12, memory=1 << 30) -> ParticlePosterior:
    network = MLP(sizes)
    generator = torch.Generator().manual_seed(1)
    theta = torch.randn(
        3, n // 3, network.layout.dim + likelihood.n_extra, generator=generator, dtype=torch.float64
    )
    log_weight = torch.randn(3, n // 3, generator=generator, dtype=torch.float64) - 500
    log_weight[0, 0] = -math.inf
    return ParticlePosterior(network, likelihood, WeightedSamples(theta, log_weight), memory)


def by_hand(p: ParticlePosterior):
    weight = p.samples.weight.flatten()
    n_parameters = p.network.layout.dim
    output = p.network(p.theta[:, :n_parameters], X)
    means = p.likelihood.mean(output, p.theta[:, n_parameters:])  # (J, N, C)
    return weight, means


@pytest.mark.parametrize(
    ("likelihood", "sizes"), [(Bernoulli(), (3, 4, 1)), (Categorical(3), (3, 4, 3))]
)
def test_class_prediction_is_the_weighted_average_with_its_entropies(likelihood, sizes):
    p = posterior(likelihood, sizes)
    weight, means = by_hand(p)
    average = (weight[:, None, None] * means).sum(0)
    got = p.predict(X)
    torch.testing.assert_close(got.mean, average)
    total = -(average * average.log()).sum(-1)
    aleatoric = (weight[:, None] * -(means * means.log()).sum(-1)).sum(0)
    torch.testing.assert_close(got.total, total)
    torch.testing.assert_close(got.aleatoric, aleatoric)
    torch.testing.assert_close(got.epistemic, total - aleatoric)
    assert (got.epistemic >= 0).all()


def test_regression_prediction_obeys_the_law_of_total_variance():
    p = posterior(LearnedGaussian())
    weight, means = by_hand(p)
    noise = p.theta[:, -1].exp().square()
    average = (weight[:, None] * means[..., 0]).sum(0)
    variance = (weight[:, None] * (means[..., 0] - average).square()).sum(0)
    got = p.predict(X)
    torch.testing.assert_close(got.mean[:, 0], average)
    torch.testing.assert_close(got.epistemic, variance)
    torch.testing.assert_close(got.aleatoric, (weight * noise).sum().expand(9))
    torch.testing.assert_close(got.total, got.aleatoric + got.epistemic)


@pytest.mark.parametrize("memory", [1, 3000, 20_000])
@pytest.mark.parametrize("likelihood", [Bernoulli(), LearnedGaussian()])
def test_predictions_do_not_depend_on_memory(likelihood, memory):
    whole, small = posterior(likelihood), posterior(likelihood, memory=memory)
    torch.testing.assert_close(small.predict(X), whole.predict(X))
    torch.testing.assert_close(
        small.draws(X, n_passes=20, seed=0), whole.draws(X, n_passes=20, seed=0)
    )
    y = torch.ones(9, dtype=torch.float64)
    torch.testing.assert_close(small.log_predictive(X, y), whole.log_predictive(X, y))


def test_draws_are_predictions_of_resampled_networks():
    p = posterior(Bernoulli())
    networks = p.resample(50, seed=3)
    expected = p.likelihood.mean(p.network(networks, X), networks[:, :0])
    torch.testing.assert_close(p.draws(X, n_passes=50, seed=3), expected)


def test_average_of_many_draws_approaches_the_prediction():
    p = posterior(Bernoulli())
    draws = p.draws(X, n_passes=20_000, seed=0)
    error = draws.std(0) / 20_000**0.5
    assert ((draws.mean(0) - p.predict(X).mean).abs() < 5 * error + 1e-12).all()


def test_log_predictive_is_the_log_of_the_averaged_density():
    p = posterior(Gaussian(0.5))
    weight, means = by_hand(p)
    y = torch.linspace(-1, 1, 9, dtype=torch.float64)
    density = torch.distributions.Normal(means[..., 0], 0.5).log_prob(y).exp()
    torch.testing.assert_close(p.log_predictive(X, y), (weight[:, None] * density).sum(0).log())


def test_equal_weights_count_each_network_once():
    p = posterior(Bernoulli())
    _, means = by_hand(p)
    equal = p.equally_weighted()
    torch.testing.assert_close(equal.predict(X).mean, means.mean(0))
    torch.testing.assert_close(equal.theta, p.theta)


def test_equal_weights_are_never_called_trustworthy():
    """Five thousand equal weights would have a perfect ESS; set equal, it means nothing."""
    network = MLP((3, 1))
    theta = torch.randn(5000, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    samples = WeightedSamples(theta, 50 * theta[:, 0])
    p = ParticlePosterior(network, Bernoulli(), samples)
    assert p.verdict.status == "degenerate"
    assert p.equally_weighted().verdict.status == "doubtful"
    assert "an ensemble, not the posterior" in p.equally_weighted().verdict.reason


def test_posterior_carries_the_diagnostics_of_its_weights():
    p = posterior(Bernoulli())
    assert (p.ess, p.khat, p.log_evidence) == (
        p.samples.ess,
        p.samples.khat,
        p.samples.log_evidence,
    )
    assert p.verdict == p.samples.verdict


def test_at_least_one_pass_is_needed():
    with pytest.raises(InputError, match="n_passes must be at least 1"):
        posterior(Bernoulli()).draws(X, n_passes=0)


def test_thinned_population_counts_each_of_its_networks_once():
    whole = posterior(Gaussian(0.5))
    verdict = Verdict("doubtful", "of their own")
    population = Population(
        whole.network, whole.likelihood, whole.samples, whole.memory, recorded_verdict=verdict
    )
    thin = population.thinned(5, seed=3)
    assert isinstance(thin, Population)
    assert thin.verdict == verdict
    assert thin.samples.weight.tolist() == [0.2] * 5
    assert torch.equal(thin.theta, whole.resample(5, seed=3))
    assert {tuple(row) for row in thin.theta.tolist()} <= {
        tuple(row) for row in whole.theta[1:].tolist()
    }


def test_log_weights_are_those_of_the_networks_in_order():
    whole = posterior(Gaussian(0.5))
    assert whole.log_weight.shape == whole.theta.shape[:1]
    torch.testing.assert_close(whole.log_weight.softmax(0), whole.samples.weight.flatten())


def test_export_without_noise_of_its_own_has_the_parameters_only():
    pytest.importorskip("arviz_base")
    found = posterior(Gaussian(0.5)).to_arviz(7, seed=1)["posterior"]
    assert set(found.data_vars) == {p.name for p in MLP((3, 4, 1)).layout}
    assert found.sizes["draw"] == 7


def test_export_without_arviz_names_the_extra(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("arviz_base"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match=r"pip install 'pmcnet\[arviz\]'"):
        posterior(Gaussian(0.5)).to_arviz()


def test_rows_on_which_networks_overflow_are_named():
    found = posterior(Gaussian(0.5))
    linear = MLP((3, 1))
    theta = torch.full((2, linear.layout.dim), 1e300, dtype=torch.float64)
    wide = ParticlePosterior(
        linear, Gaussian(0.5), WeightedSamples(theta, torch.zeros(2, dtype=torch.float64))
    )
    rows = torch.tensor([[0.0, 0, 0], [1e10, 1e10, 1e10], [1e10, 0, 0]], dtype=torch.float64)
    with pytest.raises(
        InputError,
        match=r"overflow float64 on 2 of 3 rows, first on row 2: .* Correct or drop them",
    ):
        wide.draws(rows, n_passes=2)
    assert found.draws(rows, n_passes=2).isfinite().all()


def test_prediction_of_an_unseen_row_is_that_of_the_posterior_without_it():
    """Bayesian linear regression, whose posteriors with and without a row are known."""
    network, sigma, n = MLP((3, 1)), 0.7, 20_000
    generator = torch.Generator().manual_seed(2)
    x = 3 * torch.rand(40, 3, generator=generator, dtype=torch.float64) - 1.5
    y = x.sum(1) + 0.3 * torch.randn(40, generator=generator, dtype=torch.float64)
    design = torch.cat([x, torch.ones(40, 1, dtype=torch.float64)], 1)
    assert [p.name for p in network.layout] == ["0.weight", "0.bias"]

    def moments(rows):
        precision = torch.eye(4, dtype=torch.float64) + design[rows].T @ design[rows] / sigma**2
        covariance = torch.linalg.inv(precision)
        return covariance @ design[rows].T @ y[rows] / sigma**2, covariance

    mean, covariance = moments(list(range(40)))
    noise = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    theta = mean + noise @ torch.linalg.cholesky(covariance).T
    samples = WeightedSamples(theta[None], torch.zeros(1, n, dtype=torch.float64))
    p = ParticlePosterior(network, Gaussian(sigma), samples)
    found, seen = p.predict_unseen(x, y), p.predict(x)
    error = 5 * (2 / n) ** 0.5  # of a variance
    for i in range(40):
        mean, covariance = moments([row for row in range(40) if row != i])
        variance = float(design[i] @ covariance @ design[i])
        assert float(found.epistemic[i]) == pytest.approx(variance, rel=2 * error)
        close = 5 * (2 * variance / n) ** 0.5  # weights leave half of the draws at least
        assert float(found.mean[i, 0]) == pytest.approx(float(design[i] @ mean), abs=close)
    assert float((found.epistemic / seen.epistemic).max()) > 1 + 3 * error
    torch.testing.assert_close(found.total, found.epistemic + sigma**2)


@pytest.mark.parametrize(
    ("likelihood", "sizes"), [(Bernoulli(), (3, 4, 1)), (Categorical(3), (3, 4, 3))]
)
def test_unseen_rows_of_classes_are_those_of_truncated_weights(likelihood, sizes):
    p = posterior(likelihood, sizes)
    y = torch.arange(9) % 2
    weight, means = by_hand(p)  # (J,), (J, N, C)
    ratio = 1 / means[:, torch.arange(9), y]
    limit = (weight[:, None] * ratio).sum(0) * (weight > 0).sum().sqrt()
    w = weight[:, None] * torch.minimum(ratio, limit)
    average = ((w / w.sum(0))[..., None] * means).sum(0)
    found = p.predict_unseen(X, y.double())
    torch.testing.assert_close(found.mean, average)
    torch.testing.assert_close(found.total, -(average * average.log()).sum(-1))
    in_pieces = posterior(likelihood, sizes, memory=2000).predict_unseen(X, y.double())
    torch.testing.assert_close(in_pieces.epistemic, found.epistemic)

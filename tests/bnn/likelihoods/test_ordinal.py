"""Classes in an order: probabilities, gradients, draws, the prior of the cuts and estimators."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from scipy.integrate import simpson

from pmcnet import PMCNetClassifier, ais
from pmcnet.ais.verdict import max_chain_drift
from pmcnet.bnn import MLP, BayesianTarget, Bernoulli, Ordinal
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.response import Response
from pmcnet.errors import InputError
from pmcnet.io.schema import by_kind
from pmcnet.rng import stream

FIVE = max_chain_drift(8) * 1.5
"""Standard errors from eight islands that a mean exceeds once in 50 000."""
MEMBERS = [Ordinal(2), Ordinal(3), Ordinal(6), Ordinal(4, 2.5)]
SIZES = ["low", "middle", "high"]


def drawn(likelihood, n_networks=5, n_rows=24, seed=0, spread=1.0):
    """Outputs, classes and own parameters from the prior."""
    source = torch.Generator().manual_seed(seed)
    output = spread * torch.randn(n_networks, n_rows, 1, generator=source, dtype=torch.float64)
    noise = torch.randn(n_networks, likelihood.n_extra, generator=source, dtype=torch.float64)
    y = torch.arange(n_rows).remainder(likelihood.n_classes).double()
    return output, y, likelihood.from_normal(noise)


def edges(likelihood, output, y, extra):
    """Lower and upper end of each row's class on the scale of the logistic noise."""
    gaps = extra[:, 1:].exp()
    cuts = torch.cat([extra[:, :1], gaps], 1).cumsum(1)
    infinite = cuts.new_full((len(cuts), 1), math.inf)
    cuts = torch.cat([-infinite, cuts, infinite], 1)
    shift = likelihood.scale * output[..., 0]
    return (cuts[:, y.long() + 1 - below].numpy() - shift.numpy() for below in (1, 0))


@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_probability_is_that_of_logistic_noise_between_two_cuts(likelihood, spread):
    output, y, extra = drawn(likelihood, spread=spread)
    lower, upper = edges(likelihood, output, y, extra)
    logistic = stats.logistic
    between = np.where(
        lower > 0,  # in the upper tail
        logistic.sf(lower) - logistic.sf(upper),
        logistic.cdf(upper) - logistic.cdf(lower),
    )
    found = likelihood.log_prob(output, y, extra).numpy()
    assert np.allclose(found, np.log(between), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_probabilities_of_all_classes_sum_to_one(likelihood):
    output, _, extra = drawn(likelihood)
    mean = likelihood.mean(output, extra)
    torch.testing.assert_close(mean.sum(-1), torch.ones_like(output[..., 0]))
    for code in range(likelihood.n_classes):
        log_prob = likelihood.log_prob(output, torch.full((24,), float(code)), extra)
        torch.testing.assert_close(mean[..., code], log_prob.exp())


def test_larger_outputs_mean_higher_classes():
    likelihood = Ordinal(5)
    _, _, extra = drawn(likelihood, n_networks=1)
    output = torch.linspace(-4, 4, 30, dtype=torch.float64)[None, :, None]
    below = likelihood.mean(output, extra).cumsum(-1)[0, :, :-1]
    assert (below.diff(dim=0) < 0).all()


def test_two_classes_are_bernoulli_with_an_intercept():
    output, y, extra = drawn(Ordinal(2))
    shifted = output - extra[:, None]
    none = extra[:, :0]
    torch.testing.assert_close(
        Ordinal(2).log_prob(output, y, extra), Bernoulli().log_prob(shifted, y, none)
    )
    torch.testing.assert_close(
        Ordinal(2).gradients(output, y, extra).output,
        Bernoulli().gradients(shifted, y, none).output,
    )


@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_gradients_are_those_of_automatic_differentiation(likelihood, spread):
    output, y, extra = drawn(likelihood, spread=spread)
    leaves = [part.clone().requires_grad_() for part in (output, extra)]
    log_prob = likelihood.log_prob(leaves[0], y, leaves[1])
    by_output, by_extra = torch.autograd.grad(log_prob.sum(), leaves)
    found = likelihood.gradients(output, y, extra)
    torch.testing.assert_close(found.log_prob, log_prob.detach())
    torch.testing.assert_close(found.output, by_output)
    torch.testing.assert_close(found.extra.sum(1), by_extra)
    single = likelihood.gradients(output.float(), y.float(), extra.float())
    for one, other in zip(single, found, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)


def test_a_narrow_class_far_in_the_tail_keeps_its_digits_in_single_precision():
    """Both sigmoids are 1 there, and their difference is lost."""
    likelihood, y = Ordinal(3), torch.ones(2)
    output, extra = torch.tensor([[[-60.0], [60.0]]]), torch.tensor([[0.0, -9.0]])
    exact = likelihood.log_prob(output.double(), y, extra.double())
    found = likelihood.gradients(output, y, extra)
    torch.testing.assert_close(found.log_prob.double(), exact, rtol=1e-6, atol=0)
    torch.testing.assert_close(found.log_prob[0], torch.tensor([-69.0, -69.0]), rtol=1e-5, atol=0)
    torch.testing.assert_close(found.output[0, :, 0], torch.tensor([1.0, -1.0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_diverged_networks_have_no_nan_and_finite_gradients(dtype):
    far = torch.tensor([-math.inf, -1e38, -1e4, 0.0, 1e4, 1e38, math.inf], dtype=dtype)
    gaps = torch.tensor([-1e30, -100.0, -79.0, 0.0, 39.0, 100.0, 1e30], dtype=dtype)
    extra = torch.stack([far.clamp(-1e38, 1e38), gaps, gaps.flip(0)], 1)
    likelihood, output = Ordinal(4), far[None, :, None].expand(7, 7, 1)
    for code in range(4):
        found = likelihood.gradients(output, torch.full((7,), float(code), dtype=dtype), extra)
        assert not found.log_prob.isnan().any()
        assert (found.log_prob <= 0).all()
        assert found.output.isfinite().all()
        assert found.extra.isfinite().all()
    assert not likelihood.mean(output, extra).isnan().any()


def test_cuts_that_are_not_finite_cannot_be_used():
    extra = torch.tensor([[0.0, 1.0], [math.inf, 0.0], [0.0, math.nan]])
    assert Ordinal(3).usable(extra).tolist() == [True, False, False]


@pytest.mark.parametrize("n_classes", [2, 3, 5, 10])
def test_prior_spreads_the_probabilities_around_equal_ones(n_classes):
    """About as a uniform distribution on the simplex does."""
    likelihood = Ordinal(n_classes)
    noise = torch.randn(20_000, n_classes - 1, generator=torch.Generator().manual_seed(0))
    extra = likelihood.from_normal(noise.double())
    middle = likelihood.from_normal(torch.zeros(1, n_classes - 1, dtype=torch.float64))
    equal = likelihood.mean(torch.zeros(1, 1, 1).double(), middle)
    torch.testing.assert_close(equal, torch.full_like(equal, 1 / n_classes))
    found = likelihood.mean(torch.zeros(len(extra), 1, 1).double(), extra)[:, 0]
    uniform = math.sqrt((n_classes - 1) / (n_classes**2 * (n_classes + 1)))
    assert ((found.mean(0) * n_classes).log().abs() < math.log(2)).all()
    assert ((found.std(0) / uniform).log().abs() < math.log(2)).all()


def test_log_prior_is_that_of_its_draws():
    likelihood = Ordinal(4)
    extra = drawn(likelihood)[2]
    mean, std = np.array(likelihood.extra_prior).T
    expected = stats.norm.logpdf(extra.numpy(), mean, std).sum(1)
    assert np.allclose(likelihood.log_prior(extra).numpy(), expected)
    assert len(likelihood.extra_names) == likelihood.n_extra == 3
    assert likelihood.extra_names == ("first_cut", "log_gap_1", "log_gap_2")


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_draws_come_by_their_probabilities(likelihood):
    n = 20_000
    output, _, extra = drawn(likelihood, n_networks=1, n_rows=1)
    draws = likelihood.sample(output.expand(1, n, 1), extra, stream(0, 0, 0))
    share = torch.bincount(draws.long().flatten(), minlength=likelihood.n_classes) / n
    p = likelihood.mean(output, extra)[0, 0]
    assert ((share - p).abs() < 5 * (p * (1 - p) / n).sqrt()).all()


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_likelihood_comes_back_from_its_stored_form(likelihood):
    plain = json.loads(json.dumps(likelihood.to_plain()))
    by_kind("likelihood", registry.stored_forms("classification"))(plain, "it")
    assert registry.from_plain(plain) == likelihood


def test_family_has_as_many_classes_as_the_response():
    members = registry.family("ordinal", "classification")
    response = Response(np.arange(4.0), np.ones(4), n_classes=4)
    assert members.for_response(response, members.units(response)) == Ordinal(4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ordinal(1), "of 2 to 1000 classes; got 1"),
        (lambda: Ordinal(5000), "got 5000. For more use PMCNetRegressor"),
        (lambda: Ordinal(3, 0.0), "scale must lie between"),
        (lambda: Ordinal(3).quantiles(*4 * (torch.zeros(1),)), "quantiles are of a regression"),
    ],
)
def test_bad_likelihoods_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def table(n=80, n_classes=3, seed=0):
    """Features, and classes by the first one with noise."""
    source = np.random.default_rng(seed)
    x = source.normal(size=(n, 2))
    noisy = x[:, 0] + 0.3 * source.normal(size=n)
    return x, np.searchsorted(np.quantile(noisy, np.arange(1, n_classes) / n_classes), noisy)


def fitted(x, y, weight=None, likelihood="ordinal"):
    model = PMCNetClassifier(
        (2,),
        method="annealed",
        likelihood=likelihood,
        device="cpu",
        method_options={"n_islands": 4, "n_particles": 16},
        prior_std=1.0,
        random_state=0,
    )
    return model.fit(x, y, sample_weight=weight)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_estimator_predicts_numbers_in_their_order_and_comes_back(n_classes, tmp_path):
    x, y = table(n_classes=n_classes)
    model = fitted(x, 10 * y - 10)
    assert model.posterior_.likelihood == Ordinal(n_classes)
    assert model.classes_.tolist() == list(range(-10, 10 * n_classes - 10, 10))
    probability = model.predict_proba(x)
    assert probability.shape == (80, n_classes)
    assert np.allclose(probability.sum(1), 1)
    assert model.score(x, 10 * y - 10) > 0.6
    assert np.corrcoef(model.predict(x), y)[0, 1] > 0.7
    assert np.allclose(np.exp(model.predict_log_proba(x)), probability, atol=1e-5)
    draws = model.posterior_.sample(model.encoded(x).inputs, 4000, seed=1)
    share = np.stack([(draws == code).double().mean(0).numpy() for code in range(n_classes)], 1)
    error = np.sqrt(probability * (1 - probability) / 4000)
    assert (np.abs(share - probability) < 5 * error + 1e-3).all()
    loaded = PMCNetClassifier.load(model.save(tmp_path / "m"))
    assert loaded.likelihood == "ordinal"
    assert loaded.posterior_.likelihood == model.posterior_.likelihood
    assert (loaded.predict_proba(x) == probability).all()


@pytest.mark.parametrize("wrap", [lambda y: y, pd.Series], ids=["categorical", "series"])
def test_order_of_a_categorical_counts_and_is_kept_in_a_file(wrap, tmp_path):
    x, y = table()
    labels = pd.Categorical(
        np.array(SIZES)[y], categories=["none", *SIZES], ordered=True
    )  # "none" is never seen
    model = fitted(x, wrap(labels))
    assert model.classes_.tolist() == SIZES
    numbered = fitted(x, y)
    assert (model.predict_proba(x) == numbered.predict_proba(x)).all()
    assert (model.predict(x) == np.array(SIZES)[numbered.predict(x)]).all()
    assert model.score(x, np.array(SIZES)[y]) == numbered.score(x, y)
    loaded = PMCNetClassifier.load(model.save(tmp_path / "m"))
    assert loaded.classes_.tolist() == SIZES
    assert (loaded.predict(x) == model.predict(x)).all()


def test_rows_without_weight_need_no_class_of_their_own():
    x, y = table()
    labels = pd.Categorical(np.array(SIZES)[y], categories=SIZES, ordered=True)
    model = fitted(x, labels, (y != 0).astype(float))
    assert model.classes_.tolist() == SIZES[1:]


@pytest.mark.parametrize(
    "wrap",
    [list, np.array, pd.Series, pd.Categorical, lambda y: np.array(y, dtype=object)],
    ids=["list", "array", "series", "categorical", "objects"],
)
def test_strings_without_an_order_are_refused(wrap):
    x, y = table()
    labels = wrap(np.array(SIZES)[y].tolist())
    with pytest.raises(InputError, match=r"needs an order.*'high'.*whole numbers, or an ordered"):
        fitted(x, labels)


def test_other_likelihoods_keep_sorted_classes():
    x, y = table()
    labels = pd.Categorical(np.array(SIZES)[y], categories=SIZES, ordered=True)
    assert fitted(x, labels, likelihood="categorical").classes_.tolist() == sorted(SIZES)


def test_posterior_of_cuts_is_that_of_quadrature():
    """Bias, first cut and log gap of three classes, on inputs of 0."""
    seen = np.array([9, 4, 12])
    y = torch.as_tensor(np.repeat(np.arange(3.0), seen))
    likelihood = Ordinal(3)
    grids = (np.linspace(-5, 5, 101), np.linspace(-5, 4, 101), np.linspace(-5, 4, 101))
    bias, cut, log_gap = np.meshgrid(*grids, indexing="ij")
    below, above = stats.logistic.cdf(cut - bias), stats.logistic.sf(cut + np.exp(log_gap) - bias)
    between = stats.logistic.cdf(cut + np.exp(log_gap) - bias) - below
    log_density = sum(n * np.log(p) for n, p in zip(seen, (below, between, above), strict=True))
    moments = ((0.0, 1.0), *likelihood.extra_prior)
    for value, (mean, std) in zip((bias, cut, log_gap), moments, strict=True):
        log_density = log_density + stats.norm.logpdf(value, mean, std)

    def integral(values):
        for grid in reversed(grids):
            values = simpson(values, x=grid)
        return values

    top = log_density.max()
    density = np.exp(log_density - top)
    total = integral(density)
    x = torch.zeros(len(y), 1, dtype=torch.float64)
    result = ais.Islands().run(BayesianTarget(MLP((1, 1)), likelihood, x, y), seed=0)
    for coordinate, value in ((1, bias), (2, cut), (3, log_gap)):
        mean = integral(value * density) / total
        variance = integral((value - mean) ** 2 * density) / total
        draws = result.islands[..., coordinate]
        for statistic, exact in ((draws, mean), ((draws - mean).square(), variance)):
            each = statistic.mean(1)
            assert abs(float(each.mean()) - exact) < FIVE * float(each.std()) / math.sqrt(8)
    log_z = math.log(total) + top
    assert abs(result.log_evidence - log_z) < 5 * result.log_evidence_error

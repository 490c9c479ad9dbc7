"""No NaN or infinity leaves the estimators: a finite answer, or a sentence that says what to do."""

import numpy as np
import pytest

from faults.finite import METHODS, check, estimator
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import DegenerateWeightsError, DivergedError, InputError, PMCNetError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(24, 2))
SLOPE = X[:, 0] - X[:, 1]
Y = SLOPE + 0.1 * RANDOM.normal(size=24)
CLASS = (SLOPE > 0).astype(int)
LINE = np.linspace(-3, 3, 24)[:, None]
WIDE = RANDOM.normal(size=(6, 12))
TINY = 5e-324


def replaced(value, row=0):
    changed = X.copy()
    changed[row, 0] = value
    return changed


TABLES = {
    "plain": (X, Y, CLASS),
    "a column without variance": (np.column_stack([X[:, 0], np.full(24, 3.3)]), Y, CLASS),
    "no column with variance": (np.full((24, 2), 7.1), Y, CLASS),
    "two rows": (X[:2], Y[:2], [0, 1]),
    "more columns than rows": (WIDE, Y[:6], [0, 1, 0, 1, 1, 0]),
    "separable": (LINE, LINE[:, 0], (LINE[:, 0] > 0).astype(int)),
    "three rows, eight times each": (X[:3].repeat(8, 0), Y[:3].repeat(8), np.repeat([0, 1, 1], 8)),
    "one x, many y": (X[:1].repeat(24, 0), Y, CLASS),
    "x of 1e-12": (1e-12 * X, Y, CLASS),
    "x of 1e12": (1e12 * X, 1e12 * Y, CLASS),
    "x of 1e-12 and of 1e12": (X * [1e-12, 1e12], 1e-12 * Y, CLASS),
    "x and y on an offset": (X + 1e12, 1e-12 * Y + 1e12, CLASS),
    "an outlier of 1e200": (replaced(1e200), np.where(np.arange(24) == 0, 1e90, Y), CLASS),
    "half precision at its end": (
        replaced(65504).astype(np.float16),
        (20000 * Y).astype(np.float16),
        CLASS,
    ),
    "denormals": (X * 20 * TINY, Y * 1e-90, CLASS),
    "a denormal column": (np.column_stack([X[:, 0], TINY * CLASS]), Y, CLASS),
    "denormals of half precision": (
        (1e-7 * X).astype(np.float16),
        (1e-7 * Y).astype(np.float16),
        CLASS,
    ),
    "the ends of integers": (
        np.clip(100 * X, -128, 127).astype(np.int8),
        np.where(CLASS, np.iinfo(np.int64).max, np.iinfo(np.int64).min),
        np.where(CLASS, np.uint64(2**64 - 1), np.uint64(2**64 - 2)),
    ),
}


def far(x):
    """Rows a thousand and a million million ranges away."""
    x = np.asarray(x, dtype=np.float64)
    centre, span = x.mean(0), np.ptp(x, axis=0) + (np.ptp(x, axis=0) == 0)
    with np.errstate(over="ignore"):
        return np.stack([centre + 1e3 * span, centre - 1e12 * span])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("table", TABLES)
def test_regression_is_finite(table, method):
    x, y, _ = TABLES[table]
    check(estimator(PMCNetRegressor, method).fit(x, y), x, y, far(x))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("table", TABLES)
def test_classification_is_finite(table, method):
    x, _, classes = TABLES[table]
    check(estimator(PMCNetClassifier, method).fit(x, classes), x, classes, far(x))


@pytest.mark.parametrize("method", METHODS)
def test_three_classes_are_finite(method):
    classes = np.digitize(SLOPE, [-0.7, 0.7])
    check(estimator(PMCNetClassifier, method).fit(X, classes), X, classes, far(X))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [0.1, -5.0, 1e-320, 1e300])
def test_constant_y_is_predicted(value, method):
    y = np.full(24, value)
    model = estimator(PMCNetRegressor, method).fit(X, y)
    check(model, X, y, far(X))
    assert model.y_mean_ == value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_unbounded_units_are_finite_far_away(activation, method):
    """Squares of outputs there leave single precision."""
    model = estimator(PMCNetRegressor, method, activation=activation, prior_std=100.0).fit(X, Y)
    check(model, X, Y, 1e14 * X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-12, 1e6, 1e12])
def test_inputs_as_they_are(scale, method):
    """Networks on inputs that were not scaled may diverge, which is then said."""
    for kind, y in ((PMCNetRegressor, Y), (PMCNetClassifier, CLASS)):
        model = estimator(kind, method, feature_scaling="none", activation="relu")
        finite_or_refused(model, scale * X, y, expected=DivergedError)


def finite_or_refused(model, x, y, weight=None, expected=PMCNetError):
    try:
        model.fit(x, y, sample_weight=weight)
    except expected as error:
        told = str(error)
    else:
        check(model, x, y)
        return
    assert ". " in told, "an error ends with what to do"


@pytest.mark.parametrize("method", ["annealed", "pmcnet", "adam-map"])
def test_one_row_is_refused(method):
    with pytest.raises(InputError, match=r"at least 2 different rows.*Give more rows"):
        estimator(PMCNetRegressor, method).fit(X[:1], Y[:1])
    with pytest.raises(InputError, match=r"one class only \(1\).*Give rows of another class"):
        estimator(PMCNetClassifier, method).fit(X[:1], [1])


@pytest.mark.parametrize("label", [3, "a", True])
def test_one_class_is_refused(label):
    with pytest.raises(InputError, match=rf"one class only \({label!r}\)"):
        estimator(PMCNetClassifier, "annealed").fit(X, [label] * 24)


@pytest.mark.parametrize("y", [Y * 1e-310, Y * 1e300, np.where(CLASS, 1.7e308, -1.7e308)])
def test_range_of_y_that_cannot_be_squared_is_refused(y):
    with pytest.raises(InputError, match=r"y goes from .* double precision. Give y in other units"):
        estimator(PMCNetRegressor, "annealed").fit(X, y)


@pytest.mark.parametrize("huge", [10**400, np.longdouble("1e4000")])
def test_numbers_beyond_double_precision_are_refused(huge):
    table, y = X.astype(object), Y.astype(object)
    table[0, 0] = y[0] = huge
    with pytest.raises(InputError, match=r"too large for double precision|infinity"):
        estimator(PMCNetRegressor, "adam-map").fit(table, Y)
    with pytest.raises(ValueError, match=r"too large for d(ouble precision|type)"):
        estimator(PMCNetRegressor, "adam-map").fit(X, y)


def test_whole_numbers_beyond_64_bits_are_no_classes():
    with pytest.raises(InputError, match=r"Give classes as strings or whole numbers"):
        estimator(PMCNetClassifier, "adam-map").fit(X, [10**30 if c else 1 for c in CLASS])


def test_ends_of_double_precision_are_refused():
    x = np.where(CLASS[:, None] == [0, 1], 1.7e308, -1.7e308)
    with pytest.raises(InputError, match=r"too large for the network. Correct it"):
        estimator(PMCNetRegressor, "adam-map").fit(x, Y)
    model = estimator(PMCNetRegressor, "adam-map").fit(X, Y)
    for rows in (replaced(1e308), replaced(-1.7e308)):
        with pytest.raises(InputError, match=r"row 1, after scaling beyond 1e\+15"):
            model.predict(rows)


WEIGHTS = {
    "1e-12 to 1e12": np.logspace(-12, 12, 24),
    "1e12": np.full(24, 1e12),
    "1e-12": np.full(24, 1e-12),
    "1e-300": np.full(24, 1e-300),
    "nearly all on one row": np.where(np.arange(24) == 3, 1e12, 1.0),
    "a denormal": np.where(np.arange(24) == 3, 1e-320, 1.0),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_extreme_weights(weights, method):
    """Gradients as large as the weights: steps may carry the noise away, all else is finite."""
    options = {"n_moves": 0} if method == "annealed" else {}
    expected = DivergedError if method in ("sgld", "pmcnet", "pmcnet-light") else ()
    for kind, y in ((PMCNetRegressor, Y), (PMCNetClassifier, CLASS)):
        finite_or_refused(estimator(kind, method, options), X, y, WEIGHTS[weights], expected)


def test_weight_of_one_row_only_is_refused():
    weight = (np.arange(24) == 3).astype(float)
    with pytest.raises(InputError, match="at least 2 different rows"):
        estimator(PMCNetRegressor, "annealed").fit(X, Y, sample_weight=weight)
    with pytest.raises(InputError, match="one class only"):
        estimator(PMCNetClassifier, "annealed").fit(X, CLASS, sample_weight=weight)


@pytest.mark.parametrize("weight", [np.full(24, 1e30), np.full(24, 1.7e308), [10**400] * 24])
def test_weights_beyond_single_precision_are_refused(weight):
    with pytest.raises(InputError, match=r"sample_weight.*(Divide all weights|Scale the weights)"):
        estimator(PMCNetRegressor, "adam-map").fit(X, Y, sample_weight=weight)


def test_y_that_nearly_no_weight_tells_of_is_refused():
    y, weight = (np.arange(24) == 3).astype(float), np.where(np.arange(24) == 3, 1e-40, 1.0)
    with pytest.raises(InputError, match=r"y is 1 in a row of weight 1e-40.*Drop that row"):
        estimator(PMCNetRegressor, "annealed").fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("rate", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("method", [name for name in METHODS if name != "annealed"])
def test_rates_that_diverge(method, rate):
    options = {"learning_rate": rate} | ({"next_learning_rate": rate} if method == "sae" else {})
    for kind, y in ((PMCNetRegressor, Y), (PMCNetClassifier, CLASS)):
        for activation in ("tanh", "relu"):
            finite_or_refused(
                estimator(kind, method, options, activation=activation),
                X,
                y,
                expected=DivergedError,
            )


@pytest.mark.parametrize(
    ("method", "rate"), [("sgld", 1.0), ("adam-map", 1e3), ("pmcnet", 1e3), ("bbp", 1e3)]
)
def test_divergence_names_the_rate(method, rate):
    with pytest.raises(DivergedError, match=r"diverged.*Use a smaller learning_rate"):
        estimator(PMCNetRegressor, method, {"learning_rate": rate}).fit(X, Y)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "annealed"])
def test_rates_that_no_network_survives_are_refused(method):
    with pytest.raises(
        InputError, match=r"learning_rate must be positive and at most 1e\+06; got 1e\+38"
    ):
        estimator(PMCNetRegressor, method, {"learning_rate": 1e38}).fit(X, Y)


def test_search_of_the_prior_survives_trials_that_diverge():
    """Langevin steps are unstable under narrow priors: those trials lose."""
    options = {"learning_rate": 0.05, "n_epochs": 20}
    model = estimator(PMCNetClassifier, "sgld", options, prior_std="validation").fit(X, CLASS)
    check(model, X, CLASS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("prior", ["gaussian", "layer", "laplace"])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_extreme_priors(scale, prior, method):
    if prior == "laplace" and method == "sae":
        pytest.skip("anchors walk under a Gaussian prior")
    options = {"n_moves": 0} if method == "annealed" else {}
    expected = DivergedError if method in ("sgld", "pmcnet-light") else ()
    for kind, y in ((PMCNetRegressor, Y), (PMCNetClassifier, CLASS)):
        model = estimator(kind, method, options, prior=prior, prior_std=scale, activation="relu")
        finite_or_refused(model, X, y, expected=expected)


@pytest.mark.parametrize("scale", [1e-40, 1e-9, 1e9, 1e300])
def test_priors_beyond_single_precision_are_refused(scale):
    with pytest.raises(InputError, match=r"prior_std must be a positive number.*begin with 1"):
        estimator(PMCNetClassifier, "annealed", prior_std=scale).fit(X, CLASS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("noise", [1e-7, 1e7])
def test_extreme_noise(noise, method):
    expected = (DegenerateWeightsError, DivergedError)
    finite_or_refused(estimator(PMCNetRegressor, method, noise=noise), X, Y, expected=expected)


@pytest.mark.parametrize("noise", [1e-300, 1e-12, 1e12, 1e300])
def test_noise_in_other_units_than_y_is_refused(noise):
    with pytest.raises(
        InputError, match=r"noise must lie between 1e-08 and 1e\+08 times.*Give it in units of y"
    ):
        estimator(PMCNetRegressor, "annealed", noise=noise).fit(X, Y)


def test_density_of_y_is_finite_a_million_million_deviations_away():
    model = estimator(PMCNetRegressor, "adam-map").fit(X, Y)
    found = model.log_predictive(X, np.where(CLASS, 1e40, -1e40))
    assert np.isfinite(found).all()
    assert (found < -1e70).all()

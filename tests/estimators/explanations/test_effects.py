"""Effects: closed forms of known functions, grids of every kind of column, and scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.inspection import partial_dependence, permutation_importance

from estimators.explanations.test_shapley import N_NETWORKS, mixed_table
from estimators.tables import QUICK, classes, numbers
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.ais.samples import WeightedSamples
from pmcnet.errors import InputError
from pmcnet.estimators.columns.number import NumberColumn
from pmcnet.estimators.explanations.column_effects import ColumnRows, accumulated, dependence
from pmcnet.estimators.explanations.effect_grids import grid_of
from pmcnet.estimators.explanations.effects import ALE, PARTIAL
from pmcnet.estimators.explanations.interactions import Axis, interaction


@pytest.fixture(scope="module")
def model():
    return PMCNetRegressor(**QUICK, likelihood="gaussian", noise="learn").fit(*mixed_table())


def of_function(function):
    """A prediction by one network without error."""
    return lambda x: function(*x.double().numpy().T)[None, :, None]


def rows_of(inputs, points, column=0):
    own = torch.arange(inputs.shape[1]) == column
    grid = torch.zeros(len(points), inputs.shape[1])
    grid[:, column] = torch.as_tensor(points)
    return ColumnRows(torch.as_tensor(inputs).float(), own, grid)


def accumulated_within(predict, inputs, points):
    inside = inputs[np.abs(inputs[:, 0]) <= points[-1]]
    return accumulated(predict, rows_of(inside, points), points, inside[:, 0])[0, :, 0]


def linear_model():
    """A network without hidden units, of 8 known draws of its weights."""
    x, y = numbers()
    found = PMCNetRegressor(
        **QUICK | {"hidden_layer_sizes": ()}, likelihood="gaussian", noise="learn"
    )
    found.fit(x, y)
    draws = torch.as_tensor(np.random.default_rng(0).normal(size=(8, 5)), dtype=torch.float32)
    samples = WeightedSamples(draws, torch.zeros(8, dtype=torch.float64))
    found.posterior_ = found.posterior_.__class__(
        **{**vars(found.posterior_), "samples": samples, "n_islands": 4}
    )
    return found, x, draws.double().numpy()


def test_partial_dependence_of_a_linear_model_has_its_closed_form_by_draw():
    """b + w_0 g + sum_j w_j mean x_j, by each draw of the weights, back in units of y."""
    model, x, draws = linear_model()
    found = model.effects(x, ["column 0"], n_networks=8).columns[0]
    scaled = (x - x.mean(0)) / x.std(0)
    at = (found.grid.numbers - x[:, 0].mean()) / x[:, 0].std()
    rest = draws[:, 3] + draws[:, 1:3] @ scaled[:, 1:].mean(0)
    expected = model.y_mean_ + model.y_std_ * (rest[:, None] + draws[:, :1] * at)
    assert np.allclose(found.partial[..., 0], expected, atol=1e-5)


def test_effects_agree_where_columns_are_independent_and_differ_where_they_are_not():
    """Of f = x_0 x_1 with x_1 = x_0: ALE is x^2 / 2, partial dependence is flat."""
    source = np.random.default_rng(1)
    x0 = source.normal(size=4000)
    points = np.linspace(-1.5, 1.5, 31)
    same, apart = np.column_stack([x0, x0]), np.column_stack([x0, source.normal(size=4000)])
    product = of_function(lambda a, b: a * b)
    local = accumulated_within(product, same, points)
    assert np.abs(local - local[15] - points**2 / 2).max() < 0.02
    assert np.abs(dependence(product, rows_of(same, points))[0]).max() < 0.05
    whole = of_function(lambda a, b: np.sin(a) + a * b)
    local = accumulated_within(whole, apart, points)
    plain = dependence(whole, rows_of(apart, points))[0][0, :, 0]
    assert np.abs(local - local.mean() - plain + plain.mean()).max() < 0.1


def test_accumulated_effects_average_to_zero_over_rows():
    source = np.random.default_rng(2)
    x = source.normal(size=(200, 2))
    points = np.quantile(x[:, 0], np.linspace(0, 1, 12))  # all rows are inside
    found = accumulated(of_function(lambda a, b: 3 * a + b), rows_of(x, points), points, x[:, 0])
    assert np.allclose(np.diff(found[0, :, 0]), 3 * np.diff(points), atol=1e-4)
    inside = np.clip(np.searchsorted(points, x[:, 0]), 1, 11)
    middle = (found[0, 1:, 0] + found[0, :-1, 0]) / 2
    assert abs(middle[inside - 1].mean()) < 1e-6


def test_intervals_without_rows_are_joined():
    x = np.column_stack([[0.0, 0.1, 0.9, 1.0], np.zeros(4)])
    points = np.linspace(0, 1, 6)
    found = accumulated(of_function(lambda a, b: 2 * a), rows_of(x, points), points, x[:, 0])
    assert np.allclose(np.diff(found[0, :, 0]), 0.4, atol=1e-5)


def axis_of(name, values, column):
    grid = grid_of_numbers(values)
    rows = rows_of(np.zeros((1, 3)), grid.numbers, column)
    return Axis(name, grid, rows.own, rows.points)


def grid_of_numbers(values):
    return grid_of(NumberColumn(name="any"), values[:, None], 8)


def test_interaction_is_zero_for_sums_and_all_for_products():
    source = np.random.default_rng(3)
    x = source.normal(size=(300, 3))
    first, second = axis_of("a", x[:, 0], 0), axis_of("b", x[:, 1], 1)
    inputs = torch.as_tensor(x).float()
    total = interaction(of_function(lambda a, b, c: a + b**2 + a * c), inputs, first, second)
    assert total.share[0] < 1e-9
    product = interaction(of_function(lambda a, b, c: 2 * a * b + c), inputs, first, second)
    assert product.share[0] == pytest.approx(1, abs=0.05)
    spread = [weighted_std(grid.numbers, grid.share) for grid in product.grids]
    assert product.strength[0] == pytest.approx(2 * spread[0] * spread[1], rel=1e-4)


def weighted_std(values, weight):
    return np.sqrt(weight @ np.square(values - weight @ values))


def test_strongest_pair_is_found(model):
    source = np.random.default_rng(4)
    x = source.normal(size=(150, 4))
    y = x[:, 0] + 2 * x[:, 1] * x[:, 2] + 0.5 * source.normal(size=150)
    settings = QUICK | {"hidden_layer_sizes": (5,)}
    found = PMCNetRegressor(**settings, likelihood="gaussian", noise="learn").fit(x, y).effects(x)
    assert set(found.pairs[0].features) == {"column 1", "column 2"}
    table = found.pairs_frame
    assert table["strength"].iloc[0] > 3 * table["strength"].iloc[1]


def test_grids_suit_the_kinds_of_columns(model):
    x = mixed_table()[0]
    found = {each.feature: each.grid for each in model.effects(x, n_networks=4).columns}
    assert {name: grid.scale for name, grid in found.items()} == {
        "size": "number",
        "age": "number",
        "town": "level",
        "day": "date",
        "income": "number",
    }
    assert found["town"].labels == ("Bonn", "Oslo", "Rome", "missing")
    assert np.isclose(found["town"].share.sum(), 1)
    assert isinstance(found["day"].values[0], pd.Timestamp)
    assert found["age"].counts.sum() <= x["age"].notna().sum()


def test_effect_of_levels_is_that_of_predictions_with_the_level_set(model):
    x = mixed_table(30, seed=7)[0]
    found = model.effects(x, ["town"], n_networks=N_NETWORKS).columns[0]
    networks = model.thinned(N_NETWORKS)
    for i, level in enumerate(("Bonn", "Oslo", "Rome", None)):
        expected = networks.predict(x.assign(town=level)).mean()
        assert found.partial[:, i, 0].mean() == pytest.approx(expected, abs=1e-5)


def test_frames_are_tidy(model):
    found = model.effects(mixed_table()[0], ["size", "town"], n_networks=4, n_points=6)
    frame = found.frame
    assert frame.groupby(["feature", "kind"]).size().to_dict() == {
        ("size", PARTIAL): 6,
        ("size", ALE): 6,
        ("town", PARTIAL): 4,
    }
    ends = frame[["low95", "low80", "high80", "high95"]].to_numpy()
    assert (np.diff(ends, axis=1) >= 0).all()
    assert len(found.individual_frame) == 10 * (6 + 4)
    assert set(found.individual_frame["row"]) == set(found.individual)


def test_probabilities_have_effects_by_class():
    x, y = classes(n_classes=3)
    found = PMCNetClassifier(**QUICK).fit(x, y).effects(x, ["column 0"], n_networks=4)
    total = found.frame[found.frame["kind"] == PARTIAL].groupby("value")["effect"].sum()
    assert np.allclose(total, 1, atol=1e-6)
    found.plot(class_name="b")
    with pytest.raises(InputError, match="class_name must be one of a, b, c"):
        found.plot(class_name="d")


def test_plot_has_a_panel_for_each_column(model):
    found = model.effects(mixed_table()[0], n_networks=4)
    assert len(found.plot().axes) == 5
    assert len(found.plot(["town", "day"]).axes) == 2


def test_questions_about_no_table_are_refused(model):
    x = mixed_table()[0]
    with pytest.raises(InputError, match="has no column 'weight'"):
        model.effects(x, ["weight"])
    with pytest.raises(InputError, match="encoded rows were given"):
        model.effects(model.encoded(x))


def test_inspection_of_scikit_learn_works():
    x, y = numbers()
    model = PMCNetRegressor(**QUICK, likelihood="gaussian", noise="learn").fit(x, y)
    theirs = partial_dependence(model, x, [0], grid_resolution=5)
    points = theirs["grid_values"][0]
    expected = []
    for point in points:
        moved = x.copy()
        moved[:, 0] = point
        expected.append(model.predict(moved).mean())
    assert np.allclose(theirs["average"][0], expected, atol=1e-6)
    found = permutation_importance(model, x, y, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 0


def test_grid_of_a_column_that_hardly_varies_goes_from_end_to_end():
    values = np.concatenate([np.zeros(2000), np.arange(1.0, 12.0)])
    assert grid_of_numbers(values).numbers.tolist() == [0.0, 11.0]

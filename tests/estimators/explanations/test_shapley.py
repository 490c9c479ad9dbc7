"""Shapley values: against a loop over all orders, closed forms, and their stated error."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import torch

from estimators.tables import QUICK, classes, numbers
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import InputError
from pmcnet.estimators.explanations.players import Players
from pmcnet.estimators.explanations.shapley import all_sets, exact, paired_orders, sampled

N_NETWORKS = 12


def mixed_table(n=60, seed=0):
    """Columns of five kinds, some cells missing, and a response with an interaction."""
    source = np.random.default_rng(seed)
    size, age = source.normal(size=n), source.normal(size=n)
    town = np.array(["Rome", "Oslo", "Bonn"])[source.integers(0, 3, n)]
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(source.integers(0, 400, n), unit="D")
    income = np.exp(source.normal(size=n))
    y = 2 * size + age * (town == "Oslo") + np.log(income) + 0.1 * source.normal(size=n)
    table = pd.DataFrame({"size": size, "age": age, "town": town, "day": day, "income": income})
    table.loc[table.index[::7], "age"] = np.nan
    table.loc[table.index[::9], "town"] = None
    return table, y


@pytest.fixture(scope="module")
def model():
    return PMCNetRegressor(**QUICK, likelihood="gaussian", noise="learn").fit(*mixed_table())


def by_all_orders(predict, row, background):
    """The definition: columns join in every order; rows are mixed as tables."""
    names = list(background.columns)
    value = {}

    def average(kept):
        if kept not in value:
            rows = background.copy()
            for name in kept:
                rows[name] = row[name].iloc[0]
            value[kept] = predict(rows).mean()
        return value[kept]

    found = dict.fromkeys(names, 0.0)
    orders = list(permutations(names))
    for order in orders:
        for i, name in enumerate(order):
            joined = average(frozenset(order[: i + 1])) - average(frozenset(order[:i]))
            found[name] += joined / len(orders)
    return np.array([found[name] for name in names])


def test_exact_values_equal_a_loop_over_all_orders_of_tables(model):
    x, background = mixed_table(14, seed=1)[0].iloc[:2], mixed_table(30, seed=2)[0]
    found = model.explain(x, background, n_networks=N_NETWORKS)
    assert found.is_exact
    networks = model.thinned(N_NETWORKS)
    for i in range(2):
        expected = by_all_orders(networks.predict, x.iloc[[i]], background)
        assert np.abs(found.mean[i, :, 0] - expected).max() < 1e-6


def test_contributions_sum_to_the_prediction_less_the_base(model):
    x, background = mixed_table(5, seed=3)[0], mixed_table(30, seed=2)[0]
    networks = model.thinned(N_NETWORKS)
    for n_orders in (None, 4):
        found = model.explain(x, background, n_networks=N_NETWORKS, n_orders=n_orders)
        total = found.base.mean() + found.mean[..., 0].sum(1)
        assert np.abs(total - networks.predict(x)).max() < 1e-5
        assert found.base.mean() == pytest.approx(networks.predict(background).mean(), abs=1e-5)


def test_sampled_values_are_within_five_stated_errors_of_exact_ones(model):
    x, background = mixed_table(8, seed=3)[0], mixed_table(30, seed=2)[0]
    whole = model.explain(x, background, n_networks=N_NETWORKS)
    some = model.explain(x, background, n_networks=N_NETWORKS, n_orders=4)
    off = np.abs(some.mean - whole.mean) / some.error
    assert (some.error > 0).all()
    assert off.max() < 5
    assert np.sqrt(np.mean(off**2)) > 0.5  # the stated error is no exaggeration


def test_linear_prediction_has_its_closed_form_by_network():
    """Of f = w x: w_j (x_j - mean z_j), whatever the order."""
    source = np.random.default_rng(0)
    weight, row = source.normal(size=(2, 4)), source.normal(size=4)
    others = source.normal(size=(7, 4))
    players = Players(("a", "b", "c", "d"), torch.arange(4))
    args = (
        lambda x: (x.numpy() @ weight.T).T[..., None],
        players,
        torch.as_tensor(row),
        torch.as_tensor(others),
    )
    expected = weight * (row - others.mean(0))
    assert np.allclose(exact(*args).each[..., 0], expected)
    assert np.allclose(sampled(*args, paired_orders(source, 7, 2, 4)).each[..., 0], expected)


def test_inputs_of_a_column_join_together():
    """A product of two inputs of one column is that column's own."""
    players = Players(("pair", "other"), torch.tensor([0, 1, 0]))
    row, others = torch.tensor([2.0, 5.0, 3.0]), torch.zeros(4, 3)
    found = exact(
        lambda x: (x[:, 0] * x[:, 2] + x[:, 1]).numpy()[None, :, None], players, row, others
    )
    assert found.each.ravel().tolist() == [6.0, 5.0]


def test_mixed_inputs_are_the_inputs_of_mixed_rows(model):
    table = mixed_table(40, seed=4)[0]
    row, others = table.iloc[:1], table.iloc[1:]
    players = Players.of(model.encoder_, "explain")
    inputs = [model.encoded(part).inputs for part in (row, others)]
    for own in all_sets(5):
        rows = others.copy()
        for name, keeps in zip(table.columns, own, strict=True):
            if keeps:
                rows[name] = row[name].iloc[0]
        found = players.mixed(inputs[0][0], inputs[1], torch.as_tensor(own))
        assert torch.equal(found, model.encoded(rows).inputs)


def test_orders_come_with_their_reverse():
    places = paired_orders(np.random.default_rng(0), 3, 2, 5)
    assert (places[:, ::2] + places[:, 1::2] == 4).all()
    assert (np.sort(places, axis=-1) == np.arange(5)).all()


def test_two_classes_are_explained_by_the_second():
    x, y = classes()
    model = PMCNetClassifier(**QUICK).fit(x, y)
    found = model.explain(x[:3], x, n_networks=N_NETWORKS)
    assert found.classes == ("b",)
    assert set(found.frame["class"]) == {"b"}
    probability = model.thinned(N_NETWORKS).predict_proba(x[:3])[:, 1]
    assert np.allclose(found.prediction.mean(0)[:, 0], probability, atol=1e-6)


def test_contributions_to_all_classes_cancel():
    x, y = classes(n_classes=3)
    model = PMCNetClassifier(**QUICK).fit(x, y)
    found = model.explain(x[:3], n_networks=N_NETWORKS)
    assert found.classes == ("a", "b", "c")
    assert np.abs(found.each.sum(-1)).max() < 1e-6


def test_frame_has_a_line_for_each_row_and_column(model):
    x = mixed_table(6, seed=5)[0]
    frame = model.explain(x.iloc[2:4], x, n_networks=N_NETWORKS).frame
    assert frame["row"].tolist() == [0] * 5 + [1] * 5
    assert frame["feature"].tolist() == list(x.columns) * 2
    assert frame["value"].tolist()[2] == x["town"].iloc[2]
    ends = frame[["low95", "low80", "high80", "high95"]].to_numpy()
    assert (np.diff(ends, axis=1) >= 0).all()


def test_plot_has_a_bar_for_each_column_and_one_for_the_rest():
    x, y = numbers(d=14)
    model = PMCNetRegressor(**QUICK, likelihood="gaussian", noise="learn").fit(x, y)
    found = model.explain(x[:2], x[:5], n_networks=4)
    figure = found.plot(1)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(names) == 13
    assert names[0].startswith("column 0 = ")
    assert names[-1] == "2 other columns"


def test_background_is_the_training_rows_that_the_model_holds(model):
    x = mixed_table(3, seed=6)[0]
    with_held = model.explain(x, n_networks=N_NETWORKS)
    with_given = model.explain(x, mixed_table()[0], n_networks=N_NETWORKS)
    assert np.allclose(with_held.mean, with_given.mean, atol=1e-5)


def test_questions_that_have_no_answer_are_refused(model):
    x = mixed_table(3)[0]
    with pytest.raises(InputError, match="n_networks must be a whole number of at least 2"):
        model.explain(x, n_networks=1)
    with pytest.raises(InputError, match="even number of at least 4"):
        model.explain(x, n_orders=3)
    lonely = model.thinned(8)
    lonely.training_rows_ = lonely.reference_rows_ = None
    with pytest.raises(InputError, match="cannot be compared with itself"):
        lonely.explain(x.iloc[:1])


def test_exposures_are_refused():
    x, _ = numbers()
    y = np.random.default_rng(0).poisson(3, len(x))
    model = PMCNetRegressor(**QUICK, likelihood="poisson").fit(x, y, exposure=np.full(len(x), 2.0))
    with pytest.raises(InputError, match="exposure of 1"):
        model.explain(model.encoded(x, exposure=2.0))

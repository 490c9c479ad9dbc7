"""What the page gets to predict by itself: few networks, honest ones, and never too many bytes."""

import base64
import json

import numpy as np
import pandas as pd
import pytest
import torch

from pmcnet import PMCNetClassifier
from pmcnet.bnn import MLP, HierarchicalMLP
from pmcnet.bnn.likelihoods.gaussian import LearnedGaussian
from pmcnet.estimators.columns.many_levels import ManyLevelsColumn
from pmcnet.estimators.columns.number import NumberColumn
from pmcnet.estimators.evaluation.column_controls import (
    MOST_LEVELS,
    NEW_LEVEL,
    ColumnControl,
    slider,
    typical,
)
from pmcnet.estimators.evaluation.network_export import (
    LEAST_NETWORKS,
    exported_networks,
    plain_weights,
)
from pmcnet.estimators.evaluation.second_column import SecondColumn
from pmcnet.estimators.evaluation.start_rows import KnownRows
from pmcnet.estimators.evaluation.what_if_record import MOST_BYTES, what_if_record
from reports import mixed_table


@pytest.fixture(scope="module")
def frame():
    return mixed_table.table()


@pytest.fixture(scope="module")
def fitted(frame):
    return mixed_table.regressor(frame)


@pytest.fixture(scope="module")
def record(fitted, frame):
    return what_if_record(fitted[0], mixed_table.known(fitted[1], frame))


def drawn(model, sizes, n, seed=0):
    """The model with `n` networks of other sizes."""
    network, likelihood = MLP(sizes), LearnedGaussian()
    source = torch.Generator().manual_seed(seed)
    theta = torch.randn(n, network.layout.dim + 1, generator=source)
    return mixed_table.with_networks(model, network, likelihood, theta)


def floats(networks):
    found = np.frombuffer(base64.urlsafe_b64decode(networks["numbers"]), "<f4")
    return found.reshape(networks["n"], -1)


@pytest.mark.parametrize("per_output", [False, True])
def test_plain_weights_give_the_outputs_of_a_hierarchical_network(per_output):
    network = HierarchicalMLP((5, 4, 3, 2), "silu", per_input=True, per_output=per_output, base=0.7)
    source = torch.Generator().manual_seed(0)
    theta = torch.randn(6, network.layout.dim + 1, generator=source)
    x = torch.randn(20, 5, generator=source)
    weights = plain_weights(network, theta)
    plain = MLP(network.sizes, network.activation)
    found = plain(weights[:, :-1].float(), x)
    torch.testing.assert_close(found, network(theta[:, :-1], x), rtol=1e-5, atol=1e-5)
    assert torch.equal(weights[:, -1].float(), theta[:, -1])


def test_networks_that_were_drawn_twice_are_there_once_with_their_weight(fitted):
    model = drawn(fitted[0], (12, 3, 1), 5)
    thinned = model.thinned(60)
    found = exported_networks(thinned.posterior_)
    assert found["n"] <= 5
    assert sum(found["weight"]) == 60
    again = np.repeat(floats(found), found["weight"], axis=0)
    expected = thinned.posterior_.theta.numpy()
    np.testing.assert_array_equal(np.sort(again, axis=0), np.sort(expected, axis=0))


def test_record_holds_as_many_networks_of_every_island(fitted, record):
    found, posterior = record["networks"], fitted[0].posterior_
    n = min(100, posterior.samples.n_draws)
    assert sum(found["weight"]) == n
    islands = posterior.theta.reshape(posterior.n_islands, -1, posterior.theta.shape[1])
    kept = {row.tobytes() for row in floats(found)}
    plain = [plain_weights(posterior.network, island).float().numpy() for island in islands]
    counts = [sum(row.tobytes() in kept for row in rows) for rows in plain]
    assert counts == [n // posterior.n_islands] * posterior.n_islands


def test_record_is_json_without_nan(record):
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_record_begins_with_the_typical_row_and_rows_of_the_test(fitted, frame, record):
    first, *others = record["starts"]
    names = [column["name"] for column in record["columns"]]
    assert first["truth"] is None
    assert first["values"][names.index("rooms")] == np.quantile(frame["rooms"], 0.5, method="lower")
    place = first["values"][names.index("city")]
    city = record["columns"][names.index("city")]["levels"][place]
    assert city == frame["city"].value_counts().index[0]
    truths = [start["truth"] for start in others]
    assert truths == sorted(truths)
    assert truths == [pytest.approx(fitted[1][start["row"] - 1]) for start in others]


def test_record_orders_columns_by_how_far_they_move_the_prediction(fitted, frame):
    encoder = fitted[0].encoder_
    network = MLP((encoder.input_shape[0], 1, 1))
    names = [column.name for column in encoder.columns.columns]
    theta = torch.zeros(3, network.layout.dim + 1)
    theta[:, np.flatnonzero(encoder.input_columns == names.index("rooms"))] = 1.0
    theta[:, -3] = 1.0  # from the hidden unit to the output
    model = mixed_table.with_networks(fitted[0], network, LearnedGaussian(), theta)
    found = what_if_record(model, mixed_table.known(fitted[1], frame))
    assert names[found["order"][0]] == "rooms"
    assert names[found["order"][-1]] == "words"


@pytest.mark.parametrize(("n_hidden", "n"), [(4, 100), (80, None), (106, None)])
def test_record_keeps_to_its_bytes_with_fewer_networks(n_hidden, n, fitted, frame):
    n_inputs = fitted[0].encoder_.input_shape[0]
    model = drawn(fitted[0], (n_inputs, n_hidden, 1), 300)
    found = what_if_record(model, mixed_table.known(fitted[1], frame))
    assert len(json.dumps(found)) <= MOST_BYTES
    if "networks" in found:
        drawn_networks = sum(found["networks"]["weight"])
        assert LEAST_NETWORKS <= drawn_networks <= (n or 99)


def test_record_says_why_large_networks_are_left_out(fitted, frame):
    n_inputs = fitted[0].encoder_.input_shape[0]
    model = drawn(fitted[0], (n_inputs, 500, 1), 50)
    found = what_if_record(model, mixed_table.known(fitted[1], frame))
    assert found.keys() == {"left_out"}
    assert "weights" in found["left_out"]
    assert "Fewer hidden units" in found["left_out"]


def test_record_says_that_modules_are_left_out(fitted, frame):
    found = what_if_record(fitted[0].cached(), mixed_table.known(fitted[1], frame))
    assert "not for modules" in found["left_out"]


def test_record_without_test_rows_begins_with_the_typical_row_alone(fitted, frame):
    found = what_if_record(fitted[0], KnownRows(frame, frame[:0], np.zeros(0)))
    assert [start["row"] for start in found["starts"]] == [None]


def test_record_of_many_rows_knows_columns_of_few_values(fitted, frame):
    many = pd.concat([frame] * 150, ignore_index=True)  # 13 500 rows
    many["age"] = np.nan
    many.loc[1, "age"] = 33.0
    found = what_if_record(fitted[0], KnownRows(many, frame[:0], np.zeros(0)))
    names = [column["name"] for column in found["columns"]]
    assert found["starts"][0]["values"][names.index("age")] == 33.0


def test_record_takes_test_rows_of_every_class(frame):
    x = frame[["area"]]
    model = PMCNetClassifier(**mixed_table.QUICK).fit(x, np.arange(len(x)) % 3)
    truth = np.array([0] * 30 + [2] * 5 + [1])
    rows = KnownRows(x, x[:36], truth, rows=range(36))
    starts = what_if_record(model, rows)["starts"][1:]
    assert [start["truth"] for start in starts] == ["0", "0", "0", "1", "2", "2"]
    assert [start["row"] for start in starts] == [0, 1, 2, 35, 30, 31]


def test_record_says_that_the_truth_of_a_censored_row_is_later(fitted, frame):
    second = SecondColumn(event=np.array([1.0, 0.0]))
    rows = KnownRows(frame, frame[:2], np.array([3.0, 5.0]), second, rows=[1, 2])
    starts = what_if_record(fitted[0], rows)["starts"]
    assert [start["truth"] for start in starts] == [None, 3.0, "> 5"]


def test_control_of_many_levels_keeps_the_commonest_and_those_that_are_shown():
    names = tuple(f"street {i:03}" for i in range(600))
    column = ManyLevelsColumn(
        name="street", levels=names, effects=tuple((float(i),) for i in range(600))
    )
    codes = np.concatenate([np.arange(600), np.arange(300, 500)]).astype(float)[:, None]
    control = ColumnControl(column, True, codes, np.array([[7.0]]))
    found = control.record()
    assert found["levels"] == [names[7], *names[300:500]]
    assert [effect for (effect,) in found["effects"]] == [7.0, *range(300, 500)]
    assert (len(found["levels"]), found["n_levels"]) == (MOST_LEVELS + 1, 600)
    assert control.value(np.array([300.0])) == 1
    assert control.value(np.array([-np.inf])) == NEW_LEVEL
    assert control.value(np.array([np.nan])) is None


@pytest.mark.parametrize("scale", [1e-6, 0.37, 1.0, 4321.0, 1e9])
def test_slider_has_round_ends_that_hold_nearly_all(scale):
    values = scale * np.random.default_rng(0).normal(3, 1, 1000)
    found = slider(values, whole=False)
    low, high = np.quantile(values, (0.01, 0.99))
    assert low - found["step"] <= found["low"] <= low + 1e-9 * scale
    assert high - 1e-9 * scale <= found["high"] <= high + found["step"]
    assert 90 <= (found["high"] - found["low"]) / found["step"] <= 210


def test_slider_of_whole_numbers_has_whole_steps():
    assert slider(np.arange(10.0), whole=True) == {"low": 0.0, "high": 9.0, "step": 1.0}


def test_slider_of_a_constant_has_room():
    found = slider(np.full(9, 5.0), whole=False)
    assert found["low"] < 5 < found["high"]


def test_typical_number_is_one_of_the_column():
    column = NumberColumn(name="x")
    numbers = np.array([[1.0], [np.nan], [2.0], [9.0], [4.0]])
    assert typical(column, numbers).tolist() == [2.0]

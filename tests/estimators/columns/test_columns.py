"""What columns become: dates on circles, shrunk averages, n-grams, levels that training had not."""

import numpy as np
import pandas as pd
import pytest

from pmcnet.errors import InputError
from pmcnet.estimators.columns import COLUMN_KINDS, Columns, ColumnsAsked
from pmcnet.estimators.columns.many_levels import shrunk_effects
from pmcnet.estimators.encoding import TableEncoder, encoder_from

RNG = np.random.default_rng(0)


def encoded(frame, y=None, weight=None, **asked):
    """A fitted encoder, the table as numbers, and its inputs."""
    columns = Columns.of(frame, ColumnsAsked(**asked))
    rows = columns.matrix(frame)
    y = np.zeros(len(rows)) if y is None else np.asarray(y, dtype=float)
    weight = np.ones(len(rows)) if weight is None else weight
    types = asked.get("types", {})
    encoder = TableEncoder.fit(columns, rows, weight, y[:, None], "columns", types)
    return encoder, rows, encoder.encode(rows)


def test_december_is_beside_january():
    days = pd.to_datetime(["2020-01-01", "2020-12-31", "2020-07-01", "2021-03-01"])
    encoder, _, inputs = encoded(pd.DataFrame({"d": days}))
    (column,) = encoder.columns.columns
    assert column.parts == ("elapsed", "season", "weekday")
    season = inputs[:, 1:3]
    assert np.linalg.norm(season[0] - season[1]) < 0.05
    assert np.linalg.norm(season[0] - season[2]) > 1.9


def test_dates_have_the_parts_that_vary():
    within = pd.DataFrame({"d": pd.date_range("2020-03-02", periods=14)})
    assert encoded(within)[0].columns.columns[0].parts == ("elapsed", "weekday")
    hourly = pd.DataFrame({"d": pd.date_range("2020-03-02", periods=20, freq="h")})
    assert encoded(hourly)[0].columns.columns[0].parts == ("elapsed", "hour")
    clock = pd.DataFrame({"d": ["23:59", "00:01", "12:00"]})
    encoder, _, inputs = encoded(clock)
    assert encoder.columns.columns[0].parts == ("hour",)
    assert np.linalg.norm(inputs[0] - inputs[1]) < 0.02


def test_dates_may_come_as_strings_or_as_times():
    times = pd.Series(pd.date_range("2020-01-01", periods=30))
    for written in ("%d.%m.%Y", "%Y-%m-%d", "%d %b %Y"):
        encoder, rows, _ = encoded(pd.DataFrame({"d": times.dt.strftime(written)}))
        assert np.array_equal(encoder.rows(pd.DataFrame({"d": times})), rows)
        assert np.array_equal(encoder.rows(pd.DataFrame({"d": times.astype(str)})), rows)


CELLS = {
    "date": ["2020-01-01", "2020-01-02", "2020-01-05"],
    "duration": ["1 days 00:00:00", "2 days 00:00:00", "30:00:00"],
    "number": ["1", "2", "7.5"],
    "price": ["€ 1.200", "€ 850", "€ 99"],
}


@pytest.mark.parametrize("trained", CELLS.values(), ids=CELLS)
def test_cell_unlike_those_of_training_counts_as_missing_and_is_found(trained):
    encoder, _, _ = encoded(pd.DataFrame({"d": trained}))
    rows = encoder.rows(pd.DataFrame({"d": [trained[1], "soon", None, "n/a"]}))
    assert {name: where.tolist() for name, where in encoder.unseen(rows).items()} == {"d": [1]}
    inputs = encoder.encode(rows)
    assert np.isfinite(inputs).all()
    assert np.array_equal(inputs[1], inputs[2])
    assert np.array_equal(inputs[1], inputs[3])


@pytest.mark.parametrize("trained", CELLS.values(), ids=CELLS)
def test_column_of_which_no_cell_can_be_read_is_refused(trained):
    encoder, _, _ = encoded(pd.DataFrame({"d": trained}))
    with pytest.raises(InputError, match="can be read like those: row 2 has 'soon'"):
        encoder.rows(pd.DataFrame({"d": [None, "soon", "later"]}))


def test_effects_are_shrunk_by_how_often_a_level_is_seen():
    level = np.array([0] * 100 + [1] * 100 + [2])
    y = np.array([1.0] * 100 + [-1.0] * 100 + [5.0]) + RNG.normal(size=201)
    effects = shrunk_effects(level.astype(float), np.ones(201), y[:, None], 4)[:, 0]
    unit = y.std()
    assert effects[0] * unit == pytest.approx(y[:100].mean() - y.mean(), rel=0.05)
    assert effects[1] < 0
    alone = y[200] - y.mean()
    assert 0.2 * alone < effects[2] * unit < 0.98 * alone
    assert effects[3] == 0


def test_effects_of_noise_are_shrunk_away():
    level, y = RNG.integers(0, 100, 2000).astype(float), RNG.normal(size=(2000, 1))
    effects = shrunk_effects(level, np.ones(2000), y, 100)
    assert effects.std() < 0.1  # the averages themselves vary by 0.22


def test_effects_count_rows_by_their_weight():
    level, y = RNG.integers(0, 5, 40).astype(float), RNG.normal(size=(40, 1))
    weight = RNG.integers(1, 4, 40)
    repeated = np.repeat(np.arange(40), weight)
    np.testing.assert_allclose(
        shrunk_effects(level, weight.astype(float), y, 5),
        shrunk_effects(level[repeated], np.ones(len(repeated)), y[repeated], 5),
    )


@pytest.mark.parametrize("seed", range(20))
def test_training_rows_do_not_see_their_target_through_their_level(seed):
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({"g": [f"g{i}" for i in draw.integers(0, 200, 400)]})
    y = draw.normal(size=400)
    encoder, rows, _inputs = encoded(frame, y)
    own = encoder.encode_training(rows, np.ones(400), y[:, None])
    correlation = np.corrcoef(own[:, 0], y)[0, 1] if own[:, 0].std() > 0 else 0.0
    assert correlation < 3.5 / np.sqrt(400)


def test_many_levels_tell_the_target_of_other_rows():
    effect = RNG.normal(size=60)
    g = RNG.integers(0, 60, 1000)
    y = effect[g] + 0.5 * RNG.normal(size=1000)
    frame = pd.DataFrame({"g": [f"g{i}" for i in g]})
    encoder, rows, _ = encoded(frame[:700], y[:700])
    found = encoder.encode(encoder.rows(frame[700:]))[:, 0]
    assert np.corrcoef(found, y[700:])[0, 1] > 0.8
    trained = encoder.encode_training(rows, np.ones(700), y[:700, None])[:, 0]
    assert np.corrcoef(trained, y[:700])[0, 1] > 0.8


def test_unseen_level_counts_as_missing_and_is_found():
    frame = pd.DataFrame({"c": ["x", "y", "x", None], "n": [1.0, 2.0, 3.0, 4.0]})
    encoder, _, _ = encoded(frame)
    rows = encoder.rows(pd.DataFrame({"c": ["z", None], "n": [1.0, 1.0]}))
    inputs = encoder.encode(rows)
    assert np.array_equal(inputs[0], inputs[1])
    assert {name: where.tolist() for name, where in encoder.unseen(rows).items()} == {"c": [0]}


def test_unseen_level_counts_as_a_rare_one_where_there_are_some():
    cells = ["a"] * 300 + ["b"] * 195 + ["c"] * 3 + ["d"] * 2
    encoder, _, _ = encoded(pd.DataFrame({"c": cells}))
    inputs = encoder.encode(encoder.rows(pd.DataFrame({"c": ["e", "c", "a"]})))
    assert inputs.tolist() == [[0, 0, 1], [0, 0, 1], [1, 0, 0]]


def test_words_spelt_alike_come_out_alike():
    words = [
        f"{size} {thing} no {i}"
        for i in range(15)
        for size in ("big", "small")
        for thing in ("apple", "orange")
    ]
    encoder, _, _ = encoded(pd.DataFrame({"t": words}))
    later = pd.DataFrame({"t": ["big apples", "bigg apple", "small orange"]})
    a, b, c = encoder.encode(encoder.rows(later))
    assert np.linalg.norm(a - b) < 0.5 * np.linalg.norm(a - c)


ASKED = {"text": "text", "many": "many-levels", "tail": "log-number"}


def everything():
    """A table with a column of every kind."""
    n = 60
    return pd.DataFrame(
        {
            "number": [None, *RNG.normal(size=n - 1)],
            "tail": RNG.lognormal(0, 2, n),
            "words": ["unknown", *map(str, range(n - 1))],
            "category": [None, *RNG.choice(["a", "b", "c"], n - 1)],
            "many": [
                None,
                *(f"g{i}" for i in RNG.integers(0, 35, n - 1)),
            ][:n],
            "date": pd.date_range("2020-01-01", periods=n).strftime("%d.%m.%Y"),
            "duration": [f"{i} days 01:00:00" for i in range(n)],
            "text": [" ".join(RNG.choice(["red", "car", "big", "bus"], 5)) for _ in range(n)],
            "still": 1,
        }
    )


def test_state_of_every_kind_round_trips():
    frame = everything()
    encoder, rows, inputs = encoded(frame, RNG.normal(size=len(frame)), types=ASKED)
    assert {column.kind for column in encoder.columns.columns} == set(COLUMN_KINDS)
    again = encoder_from(encoder.state())
    assert again == encoder
    assert np.array_equal(again.rows(frame), rows, equal_nan=True)
    assert np.array_equal(again.encode(rows), inputs)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("category", {"shares": [1.0]}, "levels of column 'category' do not belong together"),
        ("category", {"levels": ["a", "a", "c"]}, "levels of column 'category' do not"),
        ("many", {"effects": [[0.0]]}, "levels of column 'many' do not belong together"),
        ("number", {"std": 0.0}, "standard deviation of column 'number' must be finite"),
        ("tail", {"std": 0.0}, "standard deviation of column 'tail' must be finite"),
        ("date", {"std": 0.0}, "parts of column 'date' do not belong together"),
        ("text", {"rarity": [1.0]}, "n-grams of column 'text' do not belong together"),
    ],
)
def test_state_whose_parts_do_not_belong_together_is_refused(name, changes, words):
    encoder, _, _ = encoded(everything(), types=ASKED)
    state = encoder.state()
    for column in state["columns"]:
        if column["name"] == name:
            column |= changes
    with pytest.raises(InputError, match=words):
        encoder_from(state)

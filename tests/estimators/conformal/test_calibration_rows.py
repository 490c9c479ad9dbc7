"""Which rows are held out, and that the fit never sees them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from estimators.conformal.tables import CHEAP, split_of, uneven
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.errors import InputError
from pmcnet.estimators.conformal import calibration_rows
from pmcnet.requirements import Library


def rows_of(part):
    """Rows in an order of their own, each as often as it counts."""
    together = np.column_stack([part.x, part.y])
    repeated = np.repeat(together, part.weight.astype(int), axis=0)
    return repeated[np.lexsort(repeated.T)]


@pytest.mark.parametrize(("n", "held_out"), [(38, 19), (95, 19), (100, 20), (500, 100)])
def test_a_fifth_is_held_out_and_no_row_is_lost(n, held_out):
    x, y = uneven(n)
    parts = split_of(x, y)
    assert len(parts.held_out.y) == held_out
    both = np.vstack([rows_of(parts.training), rows_of(parts.held_out)])
    whole = np.column_stack([x, y])
    assert (both[np.lexsort(both.T)] == whole[np.lexsort(whole.T)]).all()


def test_many_rows_hold_out_no_more_than_the_most():
    x = np.arange(20_000.0)[:, None]
    assert len(split_of(x, x[:, 0]).held_out.y) == calibration_rows.MOST


def test_every_row_is_held_out_alike_often():
    x, y = uneven(100)
    n_draws = 400
    count = sum(np.isin(y, split_of(x, y, seed).held_out.y).astype(int) for seed in range(n_draws))
    expected, error = 0.2 * n_draws, np.sqrt(n_draws * 0.2 * 0.8)
    assert np.abs(count - expected).max() < 5 * error
    assert count.sum() == 20 * n_draws


def doubled(n):
    """Weights of which some are 2, and the rows that stand for them."""
    weight = np.where(np.arange(n) < n // 3, 2.0, 1.0)
    return weight, np.repeat(np.arange(n), weight.astype(int))


def assert_same_split(first, again):
    for part, other in zip(first[:2], again[:2], strict=True):
        assert (rows_of(part) == rows_of(other)).all()


def test_split_does_not_depend_on_the_order_of_rows():
    x, y = uneven(80)
    order = np.random.default_rng(1).permutation(80)
    assert_same_split(split_of(x, y), split_of(x[order], y[order]))


def test_row_of_weight_two_is_split_like_two_rows():
    x, y = uneven(60)
    weight, twice = doubled(60)
    assert_same_split(split_of(x, y, weight=weight), split_of(x[twice], y[twice]))


def test_row_of_weight_two_calibrates_like_two_rows():
    x, y = uneven(60)
    weight, twice = doubled(60)
    model = PMCNetRegressor(**CHEAP, conformal=True, random_state=0)
    first = model.fit(x, y, sample_weight=weight).predict_interval(x, 0.9)
    assert (first == model.fit(x[twice], y[twice]).predict_interval(x, 0.9)).all()


def test_fit_is_that_of_the_rows_not_held_out():
    x, y = uneven(120)
    training = split_of(x, y).training
    model = PMCNetRegressor(**CHEAP, conformal=True, random_state=0).fit(x, y)
    plain = PMCNetRegressor(**CHEAP, random_state=0).fit(training.x, training.y)
    assert (model.posterior_.theta == plain.posterior_.theta).all()
    assert model.encoder_.state() == plain.encoder_.state()
    assert (model.y_mean_, model.y_std_) == (plain.y_mean_, plain.y_std_)


def test_targets_of_rows_held_out_change_offsets_alone():
    x, y = uneven(120)
    held_out = np.isin(y, split_of(x, y).held_out.y)
    other = np.where(held_out, y + 50, y)
    first, second = (
        PMCNetRegressor(**CHEAP, conformal=True, random_state=0).fit(x, each) for each in (y, other)
    )
    assert (first.posterior_.theta == second.posterior_.theta).all()
    assert (first.predict_quantiles(x) == second.predict_quantiles(x)).all()
    wider = np.diff(second.predict_interval(x)) - np.diff(first.predict_interval(x))
    assert wider == pytest.approx(100, rel=0.2)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_a_word_and_a_level_in_few_rows_are_calibrated(frame):
    x, y = uneven(200)
    number = [f"{value}" for value in x[:, 0]]
    number[7] = "pending"
    city = ["rome", "oslo"] * 99 + ["bern", "cork"]
    table = frame({"a": number, "city": city})
    counts = []
    for seed in range(8):
        model = PMCNetRegressor(**CHEAP, conformal=True, random_state=seed, unseen="error")
        counts.append(model.fit(table, y).calibration_.n_rows)
    assert set(counts) == {40}  # what training rows lack counts as missing


def test_table_whose_rows_held_out_cannot_be_read_is_refused():
    given = calibration_rows.GivenRows(np.arange(30.0), np.arange(30.0), np.ones(30))

    def read(x):
        if (x >= 15).any():
            raise InputError("no")

    with pytest.raises(InputError, match="only 15 of the 30 rows held out"):
        calibration_rows.readable(given, read)
    rest = calibration_rows.GivenRows(*(part[:19] for part in given))
    assert len(calibration_rows.readable(rest, lambda x: None).y) == 19


def test_class_without_training_rows_keeps_its_place():
    x, _ = uneven(60)
    y = np.array(["a", "b"] * 29 + ["c", "c"])
    for seed in range(12):
        model = PMCNetClassifier(**CHEAP, conformal=True, random_state=seed).fit(x, y)
        assert model.predict_set(x).shape == (60, 3)


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (np.full(40, 0.5), "must be whole numbers; got 0.5 in row 1"),
        (np.full(40, 1e15), "at most 9.0072e.15 together; got 4e.16"),
    ],
)
def test_weight_that_counts_no_rows_is_refused(weight, says):
    with pytest.raises(InputError, match=says):
        PMCNetRegressor(**CHEAP, conformal=True).fit(*uneven(40), sample_weight=weight)


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match=r"got 37 rows\. Give 38 rows"):
        PMCNetRegressor(**CHEAP, conformal=True).fit(*uneven(37))


@pytest.mark.parametrize("value", ["split", 0.2, None, 1])
def test_setting_that_is_no_flag_is_refused(value):
    with pytest.raises(InputError, match="conformal must be True or False"):
        PMCNetRegressor(**CHEAP, conformal=value).fit(*uneven(40))


def test_censored_times_are_refused():
    x, y = uneven(40)
    with pytest.raises(InputError, match="conformal intervals need the value of every y"):
        PMCNetRegressor(**CHEAP, likelihood="censored", conformal=True).fit(x, np.exp(y))


def test_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(calibration_rows, "MAPIE", Library("MAPIE", "no_such_module", "conformal"))
    with pytest.raises(InputError, match=r"MAPIE, .* pip install 'pmcnet\[conformal\]'"):
        PMCNetRegressor(**CHEAP, conformal=True).fit(*uneven(40))

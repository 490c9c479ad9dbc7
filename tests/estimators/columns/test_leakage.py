"""What columns learn comes from training rows: test rows change nothing, and tell nothing."""

import numpy as np
import pandas as pd
import pytest

from pmcnet.estimators.columns import ColumnsAsked
from pmcnet.estimators.training_rows import encoded_training
from pmcnet.runs.config import RunSettings
from pmcnet.runs.prepare import columns_asked, prepare

N = 300


def table(seed):
    """Heavy tails, prices, many levels, text and dates."""
    draw = np.random.default_rng(seed)
    words = draw.choice(["red", "blue", "car", "bus", "big"], (N, 4))
    return pd.DataFrame(
        {
            "tail": draw.lognormal(0, 2, N),
            "price": [f"€ {value:.2f}" for value in draw.lognormal(3, 1, N)],
            "level": [f"g{i}" for i in draw.integers(0, 60, N)],
            "text": [" ".join(row) for row in words],
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(draw.integers(0, 900, N), "D"),
            "y": draw.normal(size=N),
        }
    )


def encoder_of(frame, path):
    """What a run learns of the columns, and the test rows."""
    frame.to_csv(path, index=False)
    settings = RunSettings(data=str(path), target="y")
    rows = prepare(settings)
    weight = np.ones(len(rows.y_train))
    asked = columns_asked(settings)
    found = encoded_training(rows.x_train, rows.y_train, weight, 0, "columns", asked, None)
    return found.encoder, rows.test_rows


def test_encoder_of_a_run_does_not_change_with_its_test_rows(tmp_path):
    frame = table(0)
    encoder, test = encoder_of(frame, tmp_path / "a.csv")
    other = frame.copy()
    other.loc[test, "tail"] = 1e6
    other.loc[test, "price"] = "€ 0.01"
    other.loc[test, "level"] = "new"
    other.loc[test, "text"] = "green plane"
    other.loc[test, "day"] = pd.Timestamp("1990-05-05")
    other.loc[test, "y"] = frame.loc[test, "y"] + 1000
    again, test_again = encoder_of(other, tmp_path / "b.csv")
    assert np.array_equal(test, test_again)
    assert again.state() == encoder.state()


def test_columns_of_a_shuffled_target_tell_nothing_of_held_out_rows():
    correlations = []
    for seed in range(20):
        frame = table(seed)
        draw = np.random.default_rng(1000 + seed)
        x, y = frame.drop(columns="y"), draw.permutation(frame["tail"].to_numpy() ** 0.2)
        train, test = np.arange(200), np.arange(200, N)
        found = encoded_training(
            x.iloc[train], y[train], np.ones(200), 0, "columns", ColumnsAsked(), None
        )
        fitted = np.linalg.lstsq(found.inputs, found.rows.y - y[train].mean(), rcond=None)[0]
        later = found.encoder.encode(found.encoder.rows(x.iloc[test]))
        correlations.append(np.corrcoef(later @ fitted, y[test])[0, 1])
    error = np.std(correlations, ddof=1) / np.sqrt(len(correlations))
    assert abs(np.mean(correlations)) < 5 * error
    assert error == pytest.approx(1 / np.sqrt(100 * 20), rel=0.5)

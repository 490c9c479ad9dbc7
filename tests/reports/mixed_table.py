"""A table with a column of every kind, models of it that fit in seconds, and its rows as pages
have them."""

import warnings
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from estimators.tables import QUICK as SMALL
from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.ais.samples import WeightedSamples
from pmcnet.bnn.posterior import Population
from pmcnet.errors import UnseenLevelsWarning
from pmcnet.estimators.evaluation.start_rows import KnownRows

CITIES = ["Bergen", "Oslo", "Tromsø", "Ås", "Bodø", "Hamar"]
QUICK = SMALL | {"method_options": {"n_islands": 4, "n_particles": 8}}


def table(n=90, seed=0, streets=45):
    source = np.random.default_rng(seed)
    days = pd.to_timedelta(source.integers(0, 1500, n), unit="D")
    words = np.array(["red house by the lake", "flat in town", "old farm", "small flat"])
    frame = pd.DataFrame(
        {
            "area": source.normal(90, 30, n).round(1),
            "rooms": source.integers(1, 8, n),
            "income": np.exp(source.normal(8, 2.2, n)),
            "city": source.choice(CITIES, n, p=[0.35, 0.3, 0.2, 0.11, 0.02, 0.02]),
            "street": [f"street {i}" for i in source.integers(0, streets, n)],
            "sold": pd.Timestamp("2020-01-01") + days,
            "open": pd.to_timedelta(source.integers(600, 9000, n), unit="s"),
            "age": source.integers(0, 80, n).astype(float),
            "words": words[source.integers(0, 4, n)],
        }
    )
    for name in ("age", "city", "sold"):
        frame.loc[source.random(n) < 0.1, name] = None
    return frame


def response(frame, seed=1):
    noise = np.random.default_rng(seed).normal(size=len(frame)) * (0.5 + 0.1 * frame["rooms"])
    oslo = 1.5 * (frame["city"] == "Oslo")
    return (20 + frame["area"] / 30 - np.log(frame["income"]) / 2 + oslo + noise).to_numpy()


KINDS = {"income": "log-number", "words": "text", "street": "many-levels"}


def regressor(frame):
    y = response(frame)
    settings = QUICK | {"likelihood": "gaussian", "noise": "by-row"}
    return PMCNetRegressor(**settings, column_types=KINDS).fit(frame, y), y


def classifier(frame, n_classes):
    y = response(frame)
    names = np.array(["low", "middle", "high", "very high"])[:n_classes]
    edges = np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1])
    label = names[np.digitize(y, edges)]
    return PMCNetClassifier(**QUICK, column_types=KINDS).fit(frame, label), label


def asked_rows(frame, n=200, seed=2):
    """Rows at random: beyond training too, levels that it had not, and missing values."""
    source = np.random.default_rng(seed)
    rows = frame.iloc[source.integers(0, len(frame), n)].reset_index(drop=True)
    rows["area"] = source.normal(90, 60, n)
    rows["income"] = np.exp(source.normal(8, 3, n)) * np.where(source.random(n) < 0.1, -1, 1)
    rows["city"] = source.choice([*CITIES, "Moss", None], n)
    rows["street"] = source.choice([*frame["street"], "Elm Street"], n)
    seconds = pd.to_timedelta(source.integers(0, 2000 * 86400, n), unit="s")
    rows["sold"] = (pd.Timestamp("2019-06-01") + seconds).where(source.random(n) > 0.1)
    for name in ("area", "rooms", "age", "income", "open", "words"):
        rows[name] = rows[name].where(source.random(n) > 0.15)
    return rows


def known(y, frame):
    """The first 20 rows are those of the test."""
    return KnownRows(frame, frame[:20], y[:20], rows=range(1, 21))


def page_values(columns, rows, model):
    """Cells as the page holds them, from the table and the names of levels alone."""
    found = {c["name"]: [_value(c, cell) for cell in rows[c["name"]]] for c in columns}
    found["words"] = text_inputs(model, rows)
    return [list(row) for row in zip(*found.values(), strict=True)]


def text_inputs(model, rows):
    """What the encoder makes of the column of words, None where it is missing."""
    columns = model.encoder_.columns
    place = [column.name for column in columns.columns].index("words")
    found = model.encoder_.rows(rows)[:, columns.slices[place]]
    return [None if np.isnan(row[0]) else row.tolist() for row in found]


def _value(column, cell):
    if pd.isna(cell) or column["kind"] == "text":
        return None
    if "levels" in column:
        return column["levels"].index(cell) if cell in column["levels"] else -1
    if isinstance(cell, pd.Timestamp):
        return (cell - pd.Timestamp("1970-01-01")).total_seconds() / 86400
    return cell.total_seconds() if isinstance(cell, pd.Timedelta) else float(cell)


def in_doubles(model):
    """The same networks in double precision: quantiles of single precision are less exact."""
    other, samples = copy(model), model.posterior_.samples
    other.posterior_ = replace(
        model.posterior_, samples=samples._replace(theta=samples.theta.double())
    )
    return other


def with_networks(model, network, likelihood, theta, **fitted):
    """The model with other networks (P, D), which count once each."""
    other = copy(model)
    samples = WeightedSamples(theta, torch.zeros(len(theta), dtype=torch.float64))
    about = {"recorded_verdict": model.posterior_.verdict}
    other.posterior_ = Population(network, likelihood, samples, **about)
    for name, value in fitted.items():
        setattr(other, name, value)
    return other


def quietly(function, *arguments):
    """What it returns, new levels and all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelsWarning)
        return function(*arguments)

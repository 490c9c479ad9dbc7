"""Tables as people have them: of packages that ship data, and simulated ones.

Each is made anew; what packages ship is written to CSV as it is, or with the faults of real files:
identifiers, dates as strings, numbers among words, rare and many levels, free text, copies of
columns, gaps. `TABLES` gives for every name its target and its maker, which takes a generator.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simulated_tables import Draw, bikes, credits, flats, machines, orders, tickets, visits


class Made(NamedTuple):
    """A table to be made."""

    target: str
    make: Callable[[Draw], pd.DataFrame]


def statsmodels(name: str, n: int | None = None) -> Callable[[Draw], pd.DataFrame]:
    """A table that statsmodels ships, at most n rows of it."""

    def make(draw: Draw) -> pd.DataFrame:
        import importlib

        frame = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
        return frame if n is None else frame.sample(min(n, len(frame)), random_state=0)

    return make


def lifelines(name: str) -> Callable[[Draw], pd.DataFrame]:
    """A table that lifelines ships."""

    def make(draw: Draw) -> pd.DataFrame:
        import lifelines.datasets

        return getattr(lifelines.datasets, f"load_{name}")()

    return make


def penguins_raw(draw: Draw) -> pd.DataFrame:
    """Of palmerpenguins, as they were collected: identifiers, dates, comments."""
    from palmerpenguins import load_penguins_raw

    return load_penguins_raw()


def penguins(draw: Draw) -> pd.DataFrame:
    """Of palmerpenguins, cleaned."""
    from palmerpenguins import load_penguins

    return load_penguins()


def co2(draw: Draw) -> pd.DataFrame:
    """Weekly, by nothing but the date."""
    from statsmodels.datasets import co2 as weekly

    frame = weekly.load_pandas().data.reset_index()
    return frame.rename(columns={"index": "week"}).sample(1000, random_state=0)


def wine(draw: Draw) -> pd.DataFrame:
    """With identifiers, and words among numbers."""
    from sklearn.datasets import load_wine

    frame = load_wine(as_frame=True).frame
    frame["target"] = frame["target"].map({0: "barolo", 1: "grignolino", 2: "barbera"})
    frame["magnesium"] = frame["magnesium"].astype(object)
    frame.loc[draw.choice(len(frame), 8, replace=False), "magnesium"] = "not measured"
    return frame.assign(bottle=[f"B-{i:05d}" for i in draw.permutation(99_999)[: len(frame)]])


def breast_cancer(draw: Draw) -> pd.DataFrame:
    """With an identifier, a copy of a column in other units and a constant one."""
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame
    frame["target"] = frame["target"].map({0: "malignant", 1: "benign"})
    return frame.assign(
        id=draw.permutation(900_000)[: len(frame)],
        diameter=2 * frame["mean radius"],
        hospital="Madison",
    )


def diabetes(draw: Draw) -> pd.DataFrame:
    """With missing values, of the target too."""
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame["sex"] = frame["sex"].map({1.0: "m", 2.0: "f"})
    for name in ("bmi", "s5"):
        frame.loc[draw.random(len(frame)) < 0.1, name] = np.nan
    frame.loc[draw.random(len(frame)) < 0.05, "target"] = np.nan
    return frame


def iris(draw: Draw) -> pd.DataFrame:
    """With a date and a constant column."""
    from sklearn.datasets import load_iris

    data = load_iris(as_frame=True)
    frame = data.frame.assign(target=data.target_names[data.target])
    day = pd.Timestamp("1935-05-01") + pd.to_timedelta(draw.integers(0, 90, len(frame)), "D")
    return frame.assign(collected=day.strftime("%d.%m.%Y"), collector="Anderson")


TABLES: dict[str, Made] = {
    "fair": Made("rate_marriage", statsmodels("fair", 3000)),
    "randhie": Made("mdvis", statsmodels("randhie", 3000)),
    "star98": Made("NABOVE", statsmodels("star98")),
    "anes96": Made("vote", statsmodels("anes96")),
    "ccard": Made("AVGEXP", statsmodels("ccard")),
    "grunfeld": Made("invest", statsmodels("grunfeld")),
    "macrodata": Made("infl", statsmodels("macrodata")),
    "modechoice": Made("choice", statsmodels("modechoice")),
    "statecrime": Made("murder", statsmodels("statecrime")),
    "engel": Made("foodexp", statsmodels("engel")),
    "sunspots": Made("SUNACTIVITY", statsmodels("sunspots")),
    "co2": Made("co2", co2),
    "rossi": Made("arrest", lifelines("rossi")),
    "gbsg2": Made("cens", lifelines("gbsg2")),
    "lung": Made("status", lifelines("lung")),
    "democracies": Made("regime", lifelines("dd")),
    "senators": Made("Political Affiliation at Appointment", lifelines("canadian_senators")),
    "lupus": Made("dead", lifelines("lupus")),
    "nh4": Made("NH4.mg.per.L", lifelines("nh4")),
    "penguins": Made("species", penguins),
    "penguins raw": Made("Body Mass (g)", penguins_raw),
    "wine": Made("target", wine),
    "breast cancer": Made("target", breast_cancer),
    "diabetes": Made("target", diabetes),
    "iris": Made("target", iris),
    "orders": Made("amount", orders),
    "bikes": Made("rentals", bikes),
    "flats": Made("price", flats),
    "tickets": Made("team", tickets),
    "visits": Made("readmitted", visits),
    "credits": Made("default", credits),
    "machines": Made("temperature", machines),
}


def made(name: str) -> tuple[pd.DataFrame, str]:
    """The table of a name, always the same, and its target."""
    table: Any = TABLES[name]
    seed = list(TABLES).index(name)
    return table.make(np.random.default_rng(seed)).reset_index(drop=True), table.target

"""
A messy table, end to end
=========================

Dates as strings, a currency, words among numbers, an identifier and gaps: the columns are read as
they are, and the list of decisions says how.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from pmcnet import PMCNetRegressor
from pmcnet.data import open_table

rng = np.random.default_rng(0)
n = 150
size = rng.uniform(20, 120, n).round(1)
built = pd.to_datetime("1950-01-01") + pd.to_timedelta(rng.integers(0, 25000, n), "D")
town = rng.choice(["Aachen", "Bonn", "Celle"], n)
rent = 200 + 8 * size + 150 * (town == "Bonn") + 60 * rng.normal(size=n)
table = pd.DataFrame(
    {
        "id": [f"F-{i:05d}" for i in rng.permutation(n)],
        "size": [f"{s:.1f} m2".replace(".", ",") for s in size],
        "built": built.strftime("%d.%m.%Y"),
        "town": town,
        "floor": rng.choice(["1", "2", "3", "unknown"], n),
        "rent": [f"€ {r:,.0f}".replace(",", ".") for r in rent],
    }
)
table.loc[::17, "town"] = None
print(table.head(3).to_string())

# %%
# ``pmcnet fit flats.csv --target rent`` does all of what follows, and writes a report. In Python,
# the file is opened first; a line says what was understood.

folder = Path(tempfile.mkdtemp())
table.to_csv(folder / "flats.csv", sep=";", index=False)
print(open_table(folder / "flats.csv").described)

# %%
# The estimator reads the columns. The target is given as numbers here.

model = PMCNetRegressor(
    (6,),
    likelihood="gaussian",
    noise="learn",
    prior_std="layer",
    method_options={"n_islands": 4, "n_particles": 16},
    random_state=0,
).fit(table.drop(columns="rent")[:120], rent[:120])
print(pd.DataFrame(model.columns_).to_string())
print(model.verdict_)

# %%
# New rows may be as messy as the old ones. A town that training had not counts as missing, with a
# warning that says so.

new = table.drop(columns="rent")[120:]
low, high = model.predict_interval(new, 0.9).T
print("covered:", ((low <= rent[120:]) & (rent[120:] <= high)).mean())
print("R squared:", round(model.score(new, rent[120:]), 3))

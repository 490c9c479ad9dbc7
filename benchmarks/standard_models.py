"""Tables of `likelihood_tables.py`, and the model that its field fits to each, in one process.

    python standard_models.py tables FOLDER
    python standard_models.py fit NAME TRAIN.csv TEST.csv FOUND.json

The first writes FOLDER/NAME.csv for each table, with the response in columns that begin with "y".
The second fits by maximum likelihood, and writes the log-likelihood of each test row under the
model with all columns and under the one with none, with seconds and versions. Needs pandas, scipy,
statsmodels and lifelines, and of pmcnet nothing.

    counts     RAND Health Insurance Experiment: visits to a doctor in a year. 2000 of 20 190 rows;
               public domain, with statsmodels.
    censored   German Breast Cancer Study Group 2: days until recurrence or death of 686 women, 299
               of them observed. Schumacher et al. (1994), with lifelines.
    ordinal    Fair (1978): how 6366 women rate their marriage, 1 to 5. 2000 of them; with
               statsmodels, by permission of the author.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

N_ROWS = 2000
Array = np.ndarray


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """At most N_ROWS rows at random, in random order."""
    order = np.random.RandomState(0).permutation(len(table))
    return table.iloc[order[:N_ROWS]]


def tables() -> dict[str, pd.DataFrame]:
    """As the packages have them, with names for the response."""
    from lifelines.datasets import load_gbsg2
    from statsmodels import datasets

    visits = datasets.randhie.load_pandas().data.rename(columns={"mdvis": "y"})
    times = load_gbsg2().rename(columns={"time": "y_time", "cens": "y_event"})
    grades = datasets.fair.load_pandas().data.rename(columns={"rate_marriage": "y"})
    grades["y"] = grades["y"].astype(int)
    found = {"counts": visits, "censored": times, "ordinal": grades}
    return {name: chosen(table) for name, table in found.items()}


def split_columns(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Inputs and response."""
    response = table.columns.str.startswith("y_") | (table.columns == "y")
    return table.loc[:, ~response], table.loc[:, response]


def designs(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Inputs as numbers, standardised by the training rows; levels of strings after the first."""
    both = pd.get_dummies(pd.concat([train, test]), drop_first=True, dtype=float)
    own = both.iloc[: len(train)]
    both = (both - own.mean()) / own.std()
    return both.iloc[: len(train)], both.iloc[len(train) :]


def converged(found: Any) -> Any:
    """The same result, if the optimiser is done."""
    assert found.mle_retvals["converged"], found.mle_retvals
    return found


def counts(train: tuple[Any, Any], test: tuple[Any, Any]) -> Array:
    """Negative binomial regression with variance mu + alpha mu^2."""
    from statsmodels.api import NegativeBinomial

    (x, y), (x_test, y_test) = train, test
    x, x_test = (np.column_stack([np.ones(len(part)), part]) for part in (x, x_test))
    model = NegativeBinomial(y["y"].to_numpy(), x)
    found = converged(model.fit(method="bfgs", maxiter=5000, disp=0))
    mu, alpha = found.predict(x_test), found.params[-1]
    return stats.nbinom.logpmf(y_test["y"], 1 / alpha, 1 / (1 + alpha * mu))


def censored(train: tuple[Any, Any], test: tuple[Any, Any]) -> Array:
    """Weibull accelerated failure times; log survival of rows that are censored."""
    from lifelines import WeibullAFTFitter, WeibullFitter

    (x, y), (x_test, y_test) = train, test
    if x.shape[1]:
        model = WeibullAFTFitter()
        model.fit(pd.concat([x, y], axis=1), duration_col="y_time", event_col="y_event")
        rho = np.exp(model.params_["rho_", "Intercept"])
        scale = model.predict_median(x_test).to_numpy() / np.log(2) ** (1 / rho)
    else:
        model = WeibullFitter().fit(y["y_time"], y["y_event"])
        rho, scale = model.rho_, model.lambda_
    known = stats.weibull_min(rho, scale=scale)
    event = y_test["y_event"] == 1
    return np.where(event, known.logpdf(y_test["y_time"]), known.logsf(y_test["y_time"]))


def ordinal(train: tuple[Any, Any], test: tuple[Any, Any]) -> Array:
    """Ordered logit; without inputs the frequencies of the classes."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    (x, y), (x_test, y_test) = train, test
    classes, code = np.unique(y["y"], return_inverse=True)
    if x.shape[1]:
        model = OrderedModel(code, x.to_numpy(), distr="logit")
        found = converged(model.fit(method="bfgs", maxiter=5000, disp=0))
        probability = model.predict(found.params, exog=x_test.to_numpy())
    else:
        probability = np.tile(np.bincount(code) / len(code), (len(x_test), 1))
    own = np.searchsorted(classes, y_test["y"])
    return np.log(probability[np.arange(len(own)), own])


MODELS = {"counts": counts, "censored": censored, "ordinal": ordinal}


def fitted(name: str, train: pd.DataFrame, test: pd.DataFrame) -> dict[str, Any]:
    """Log-likelihoods of the test rows."""
    (x, y), (x_test, y_test) = split_columns(train), split_columns(test)
    x, x_test = designs(x, x_test)
    start = time.perf_counter()
    standard = MODELS[name]((x, y), (x_test, y_test))
    seconds = time.perf_counter() - start
    constant = MODELS[name]((x.iloc[:, :0], y), (x_test.iloc[:, :0], y_test))
    versions = ", ".join(
        f"{package} {version(package)}" for package in ("statsmodels", "lifelines")
    )
    found = {"standard": standard.tolist(), "constant": constant.tolist()}
    return found | {"seconds": seconds, "versions": versions}


def main() -> None:
    """Write tables, or fit."""
    match sys.argv[1:]:
        case "tables", folder:
            for name, table in tables().items():
                table.to_csv(Path(folder) / f"{name}.csv", index=False)
        case "fit", name, train, test, out:
            found = fitted(name, pd.read_csv(train), pd.read_csv(test))
            Path(out).write_text(json.dumps(found) + "\n")
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()

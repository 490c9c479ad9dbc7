"""What a record holds of checks of a model that never was, from fixed seeds."""

import numpy as np

GRID = np.linspace(-3, 3, 31)


def bell(centre, spread):
    return (np.exp(-0.5 * ((GRID - centre) / spread) ** 2) / spread / 2.5066).tolist()


def densities(spread):
    rng = np.random.default_rng(11)
    replicates = [bell(rng.normal(0, 0.2), spread * rng.uniform(0.9, 1.1)) for _ in range(8)]
    return {"grid": GRID.tolist(), "observed": bell(0, 1), "replicates": replicates}


def of_numbers():
    rng = np.random.default_rng(12)
    n = 60
    prediction, residual = rng.normal(size=n), rng.normal(size=n)
    names = {"rooms": [], "river": ["no", "yes"], "<b>age</b>": []}
    features = [
        {
            "name": name,
            "values": rng.integers(0, 2, n).tolist() if levels else rng.normal(size=n).tolist(),
            "levels": levels,
        }
        for name, levels in names.items()
    ]
    features[0]["values"][3] = None
    return {
        "posterior_predictive": {
            "n_given": 102,
            "n_rows": 102,
            "n_replicates": 200,
            "seen": False,
            "pit": {"counts": [9, 12, 10, 11, 8], "low": [5] * 5, "high": [15] * 5, "p_value": 0.6},
            "densities": densities(1.0),
            "statistics": [statistic("mean", 0.1), statistic("largest", 3.4)],
        },
        "residuals": {
            "n_given": 102,
            "seen": False,
            "n_rows": 102,
            "prediction": prediction.tolist(),
            "residual": residual.tolist(),
            "inside": 0.96,
            "features": features,
            "n_features": 13,
            "trends": [trend("rooms", 0.004, True), *(trend(x, 0.4) for x in list(names)[1:])],
        },
        "loo": loo("12.5"),
        "prior_predictive": {
            "densities": densities(2.0),
            "interval": [-4.1, 4.3],
            "data": [-2.0, 2.1],
            "share_inside": 1.0,
            "ratio": 2.05,
            "functions": {
                "feature": "rooms",
                "grid": GRID.tolist(),
                "means": [(k * GRID / 4).tolist() for k in range(-4, 5)],
            },
        },
    }


def of_classes(names):
    own = {"low": 8.0, "high": 15.0, "mean": 11.0}
    shares = {"observed": 0.4, "low": 0.0, "high": 0.9}
    return {
        "posterior_predictive": {
            "n_given": 71,
            "n_rows": 71,
            "n_replicates": 200,
            "seen": False,
            "classes": [
                own | {"class": name, "observed": 10 + 9 * (not i)} for i, name in enumerate(names)
            ],
        },
        "loo": loo(names[0]),
        "prior_predictive": {"classes": [shares | {"class": name} for name in names]},
    }


def loo(truth):
    khat = np.append(np.linspace(-0.1, 0.6, 99), 0.9)
    row = {"row": 17, "truth": truth, "khat": 0.9, "elpd": -5.2, "seen": -3.1}
    return {
        "elpd": -120.4,
        "se": 8.1,
        "p_loo": 9.7,
        "limit": 0.67,
        "n_rows": 100,
        "n_draws": 1000,
        "khat": khat.tolist(),
        "n_influential": 1,
        "influential": [row],
        "merged": False,
    }


def statistic(name, observed):
    return {"statistic": name, "observed": observed, "low": -1.0, "high": 2.0, "share_above": 0.4}


def trend(name, p_value, clear=False):
    return {"against": name, "p_mean": p_value, "p_spread": 0.5, "p_value": p_value, "clear": clear}

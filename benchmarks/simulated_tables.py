"""Simulated tables with the faults of real files: what they hold is known, and no row is real."""

import numpy as np
import pandas as pd

Draw = np.random.Generator
WEATHER = ["clear", "cloudy", "rain", "snow"]


def dates(first: str, days: np.ndarray) -> pd.DatetimeIndex:
    """Days after a first one."""
    return pd.Timestamp(first) + pd.to_timedelta(days, "D")


def orders(draw: Draw) -> pd.DataFrame:
    """Of a shop: dates, customers, cities of very different size, words of an article."""
    n = 1500
    city = np.minimum(draw.zipf(1.4, n), 250)
    kinds, sizes = ("shirt", "trousers", "jacket", "socks"), ("small", "medium", "large")
    kind, size = draw.integers(0, 4, n), draw.integers(0, 3, n)
    day = draw.integers(0, 730, n)
    colour = draw.choice(["red", "blue", "green", "black"], n)
    base = np.array([25.0, 55.0, 120.0, 8.0])[kind] * (1 + 0.1 * size)
    season = 1 + 0.2 * np.cos(2 * np.pi * day / 365)
    effect = draw.normal(0, 0.15, 251)[city]
    return pd.DataFrame(
        {
            "order_id": [f"O{i:07d}" for i in draw.permutation(10_000_000)[:n]],
            "ordered": (pd.Timestamp("2022-01-01") + pd.to_timedelta(day, "D")).strftime(
                "%m/%d/%Y"
            ),
            "city": [f"city {i}" for i in city],
            "article": [
                f"{c} {kinds[k]} {sizes[s]} no {i}"
                for i, (c, k, s) in enumerate(zip(colour, kind, size, strict=True))
            ],
            "amount": (base * season * np.exp(effect + 0.1 * draw.normal(size=n))).round(2),
            "currency": "EUR",
        }
    )


def bikes(draw: Draw) -> pd.DataFrame:
    """Rentals by hour: the time as one string."""
    n = 2000
    time = pd.Timestamp("2023-01-01") + pd.to_timedelta(np.sort(draw.integers(0, 8760, n)), "h")
    hour, work = np.asarray(time.hour), np.asarray(time.dayofweek) < 5
    warm = 12 - 10 * np.cos(2 * np.pi * np.asarray(time.dayofyear) / 365) + draw.normal(0, 3, n)
    rush = np.exp(-((hour - 8) ** 2) / 4) + np.exp(-((hour - 17) ** 2) / 6)
    noon = np.exp(-((hour - 14) ** 2) / 20)
    rate = 20 + 300 * np.where(work, rush, 0.6 * noon) * (0.4 + warm / 30).clip(0.1)
    return pd.DataFrame(
        {
            "time": time.strftime("%Y-%m-%d %H:%M:%S"),
            "temperature": warm.round(1),
            "fahrenheit": (1.8 * warm.round(1) + 32).round(2),
            "weather": draw.choice(
                ["clear", "cloudy", "rain", "snow"], n, p=[0.6, 0.3, 0.09, 0.01]
            ),
            "rentals": draw.poisson(rate),
        }
    )


def flats(draw: Draw) -> pd.DataFrame:
    """Offers of flats: postal codes, words, a few prices missing, a heavy tail."""
    n = 1200
    zone = draw.integers(0, 80, n)
    size = np.exp(draw.normal(4.2, 0.4, n))
    extras = ["balcony", "garage", "garden", "lift", "kitchen"]
    has = draw.random((n, 5)) < 0.4
    worth = np.array([0.08, 0.12, 0.1, 0.04, 0.05])
    level = draw.normal(8, 0.3, 80)[zone]
    price = np.exp(level + np.log(size) + has @ worth + 0.12 * draw.normal(size=n))
    words = [
        "bright flat with " + " and ".join(e for e, h in zip(extras, row, strict=True) if h)
        for row in has
    ]
    price = np.where(draw.random(n) < 0.04, np.nan, price.round(-2))
    return pd.DataFrame(
        {
            "postal code": [f"0{1000 + 7 * z}" for z in zone],
            "square metres": size.round(1),
            "built": np.where(
                draw.random(n) < 0.1, "unknown", draw.integers(1900, 2024, n).astype(str)
            ),
            "description": words,
            "price": price,
        }
    )


def tickets(draw: Draw) -> pd.DataFrame:
    """Messages to a help desk: mostly text, and the team that should answer."""
    words = {
        "billing": ["invoice", "refund", "charged twice", "payment failed", "credit card"],
        "technical": [
            "error on login",
            "app crashes",
            "cannot connect",
            "slow page",
            "update fails",
        ],
        "sales": ["price for teams", "new licence", "discount", "trial period", "offer"],
    }
    n, rows = 600, []
    for team in draw.choice(list(words), n, p=[0.45, 0.4, 0.15]):
        first, second = draw.choice(words[team], 2)
        greeting = draw.choice(["hello", "hi team", "good morning", "please help"])
        rows.append((f"{greeting} {first} and {second} case {draw.integers(1e6)}", team))
    frame = pd.DataFrame(rows, columns=["message", "team"])
    clock = [
        f"{h:02d}:{m:02d}"
        for h, m in zip(draw.integers(7, 20, n), draw.integers(0, 60, n), strict=True)
    ]
    return frame.assign(received=clock, answered=None)


def visits(draw: Draw) -> pd.DataFrame:
    """To a hospital: durations, codes of diagnoses, a few of them common."""
    n = 1500
    code = np.minimum(draw.zipf(1.3, n), 300)
    age = draw.integers(0, 95, n)
    stay = np.exp(draw.normal(1.0, 0.6, n) + 0.01 * age)
    effect = draw.normal(0, 0.8, 301)[code]
    odds = -2.5 + 0.03 * (age - 50) + 0.4 * np.log(stay) + effect
    again = np.where(draw.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
    return pd.DataFrame(
        {
            "patient_id": draw.permutation(n) + 10_000,
            "age": age,
            "diagnosis": [f"{'ABCDEFGH'[c % 8]}{c:03d}.{c % 10}" for c in code],
            "stay": [f"{int(s)} days {int(24 * (s % 1)):02d}:00:00" for s in stay],
            "ward": draw.choice(["A", "B", "C", "ICU"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "readmitted": again,
        }
    )


def credits(draw: Draw) -> pd.DataFrame:
    """Applications for credit: few defaults, heavy tails, words for missing numbers."""
    n = 3000
    income = np.exp(draw.normal(10, 0.7, n))
    amount = income * np.exp(draw.normal(-1, 0.8, n))
    late = draw.poisson(0.3, n)
    odds = -4 + 1.2 * np.log(amount / income) + 1.1 * late + 1.2
    default = draw.random(n) < 1 / (1 + np.exp(-odds))
    years = np.where(draw.random(n) < 0.05, "n.k.", draw.integers(0, 40, n).astype(str))
    return pd.DataFrame(
        {
            "income": income.round(2),
            "amount": amount.round(2),
            "late payments": late,
            "years employed": years,
            "purpose": draw.choice(
                ["car", "house", "education", "boat", "wedding"],
                n,
                p=[0.5, 0.3, 0.19, 0.005, 0.005],
            ),
            "applied": pd.to_datetime("2021-01-01")
            + pd.to_timedelta(draw.integers(0, 900, n), "D"),
            "default": default,
        }
    )


def machines(draw: Draw) -> pd.DataFrame:
    """Readings of sensors: ISO times, nearly equal columns, a constant one, outliers."""
    n = 1000
    load, ambient = draw.gamma(3, 10, n), draw.normal(20, 5, n)
    heat = ambient + 0.8 * load + 0.01 * load**2 + draw.normal(0, 2, n)
    noisy = load.copy()
    noisy[draw.choice(n, 5, replace=False)] = 9999.0
    times = pd.date_range("2024-03-01", periods=n, freq="7min").strftime("%Y-%m-%dT%H:%M:%S")
    return pd.DataFrame(
        {
            "Unnamed: 0": np.arange(n),
            "timestamp": times,
            "machine": draw.choice([f"M{i}" for i in range(12)], n),
            "load": noisy.round(2),
            "ambient": ambient.round(2),
            "firmware": "2.1",
            "temperature": heat.round(2),
        }
    )

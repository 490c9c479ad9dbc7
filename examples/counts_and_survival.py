"""
Counts and survival
===================

Counts have an exposure, times until an event may be censored. Both have likelihoods of their own.
"""

import matplotlib.pyplot as plt
import numpy as np

from pmcnet import PMCNetRegressor

rng = np.random.default_rng(0)
x = rng.normal(size=(120, 1))
settings = {
    "hidden_layer_sizes": (4,),
    "prior_std": "layer",
    "method_options": {"n_islands": 4, "n_particles": 16},
    "random_state": 0,
}

# %%
# **Counts.** Visits were counted over different numbers of days. The mean is proportional to the
# exposure; predictions are for an exposure of 1 unless one is given.

days = rng.uniform(1, 30, 120)
visits = rng.poisson(days * np.exp(-1 + x[:, 0]))
counts = PMCNetRegressor(likelihood="poisson", **settings).fit(x, visits, exposure=days)
print(counts.verdict_)
rows = np.array([[-1.0], [0.0], [1.0]])
print("visits per day:", counts.predict(rows).round(2), "truth:", np.exp(-1 + rows[:, 0]).round(2))
print("90 % intervals in 30 days:", counts.predict_interval(rows, 0.9, exposure=30).tolist())

# %%
# **Times.** The second column of y is 1 where the event was observed. In the other rows it comes
# later than the time that is given.

years = np.exp(1 + 0.5 * x[:, 0] + 0.3 * rng.normal(size=120))
left = rng.exponential(8, 120)
y = np.column_stack([np.minimum(years, left), years <= left])
times = PMCNetRegressor(likelihood="censored", **settings).fit(x, y)
print(f"{1 - y[:, 1].mean():.0%} of the rows are censored")
print(times.verdict_)

# %%
# Quantiles of the time, with the truth beside them. Whoever drops censored rows, or takes them for
# events, is biased towards short times.

grid = np.linspace(-2, 2, 60)[:, None]
quantiles = times.predict_quantiles(grid, [0.1, 0.5, 0.9])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.fill_between(grid[:, 0], quantiles[:, 0], quantiles[:, 2], color="#f7cfbb", label="10 to 90 %")
axes.plot(grid[:, 0], quantiles[:, 1], color="#c2410c", label="median")
axes.plot(grid[:, 0], np.exp(1 + 0.5 * grid[:, 0]), "--", color="#262626", label="true median")
seen = y[:, 1] == 1
axes.scatter(x[seen, 0], y[seen, 0], s=10, color="#262626", label="event")
axes.scatter(
    x[~seen, 0], y[~seen, 0], s=16, facecolors="none", edgecolors="#737373", label="censored"
)
axes.set(title="Quantiles of times, with events and censored rows")
axes.set(xlabel="x", ylabel="years", yscale="log")
axes.legend(frameon=False, ncols=2)

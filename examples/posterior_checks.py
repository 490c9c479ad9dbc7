"""
Is my posterior right?
======================

Three questions have three answers. Are these predictions those of the posterior? The verdict says.
Does the model suit the data? Held-out rows say. Does the sampler work on problems like mine? A
simulation says.
"""

import matplotlib.pyplot as plt
import numpy as np

from pmcnet import PMCNetRegressor

rng = np.random.default_rng(1)
x = rng.uniform(-2, 2, (100, 1))
y = np.sin(2 * x[:, 0]) + 0.2 * rng.standard_t(df=3, size=100)
settings = {
    "hidden_layer_sizes": (6,),
    "noise": "learn",
    "prior_std": "layer",
    "method_options": {"n_islands": 4, "n_particles": 16},
    "random_state": 0,
}
model = PMCNetRegressor(likelihood="gaussian", **settings).fit(x[:70], y[:70])

# %%
# **The verdict** is by the disagreement of islands, which know nothing of each other. It carries
# the limits that were applied.

print(model.verdict_)
agreement = model.posterior_.agreement
print(f"islands {model.posterior_.n_islands}, nested R-hat {agreement.rhat:.3f}")
print(f"error at the median row {agreement.median:.3f} predictive standard deviations")
print(model.verdict_.limits)

# %%
# One can look at the islands themselves: each predicts on its own.

grid = np.linspace(-2.5, 2.5, 100)[:, None]
mean, std, error = model.predict(grid, return_std=True, return_error=True)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color="#e5e5e5", label="2 std")
axes.fill_between(
    grid[:, 0], mean - 2 * error, mean + 2 * error, color="#c2410c", label="2 Monte Carlo errors"
)
axes.scatter(x[:70, 0], y[:70], s=8, color="#262626", label="training rows")
axes.set(title="Predictions with their spread and Monte Carlo error")
axes.set(xlabel="x", ylabel="y", ylim=(-3, 3))
axes.legend(frameon=False)

# %%
# Far from the rows the Monte Carlo error grows: the verdict is about training rows.
#
# **Held-out rows** judge the model. The noise was drawn with heavy tails, so Student's likelihood
# should predict better. The evidence, from training rows alone, should agree.

heavy = PMCNetRegressor(likelihood="student-t", **settings).fit(x[:70], y[:70])
for name, each in (("gaussian", model), ("student-t", heavy)):
    score = each.log_predictive(x[70:], y[70:]).mean()
    low, high = each.predict_interval(x[70:], 0.9).T
    covered = ((low <= y[70:]) & (y[70:] <= high)).mean()
    print(
        f"{name}: held-out log density {score:.3f}, coverage of 90 % intervals {covered:.2f},"
        f" log Z {each.posterior_.log_evidence:.1f} +- {each.posterior_.log_evidence_error:.1f}"
    )

# %%
# **A simulation**: rows drawn from the fitted model itself. A good sampler covers the known mean in
# about as many rows as it states. One repetition is shown; a study would make hundreds.

again = model.sample_y(x[:70], 1)[:, 0]
refit = PMCNetRegressor(likelihood="gaussian", **settings).fit(x[:70], again)
low, high = refit.predict_interval(x[70:], 0.9).T
fresh = model.sample_y(x[70:], 200)
print("coverage of simulated rows:", ((low[:, None] <= fresh) & (fresh <= high[:, None])).mean())

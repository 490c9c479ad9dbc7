"""
Classes and decisions
=====================

A probability is worth something where a decision follows from it. Here a wrong "healthy" costs ten
times as much as a wrong "ill", and a third choice is to ask a doctor.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from pmcnet import PMCNetClassifier

table = load_breast_cancer()
x_train, x_test, y_train, y_test = train_test_split(
    table.data[:, :8], table.target, test_size=0.3, random_state=0
)
model = PMCNetClassifier(
    (4,),
    likelihood="categorical",
    prior_std="layer",
    method_options={"n_islands": 4, "n_particles": 16},
    random_state=0,
).fit(x_train, y_train)
print(model.verdict_)

# %%
# Probabilities are averages over the posterior. ``return_error=True`` adds how far each may be from
# that of the exact posterior: the sampling error, not the uncertainty of the class.

probability, error = model.predict_proba(x_test, return_error=True)
print("accuracy:", (model.predict(x_test) == y_test).mean())
print("largest standard error of a probability:", error.max().round(3))

# %%
# Expected costs of three choices. Classes are 0 for malignant and 1 for benign.

cost = np.array([[0.0, 1.0], [10.0, 0.0], [0.5, 0.5]])  # of malignant, benign, ask, by the truth
expected = probability @ cost.T
choice = expected.argmin(1)
paid = cost[choice, y_test].mean()
usual = cost[(probability[:, 1] > 0.5).astype(int), y_test].mean()
for name, share in zip(
    ("malignant", "benign", "ask"), np.bincount(choice, minlength=3), strict=True
):
    print(f"{name}: {share} of {len(y_test)} rows")
print(f"mean cost {paid:.3f}; with the likelier class {usual:.3f}")

# %%
# Rows in which networks disagree (mutual information) are those to ask about.

found = model.uncertainty(x_test)
wrong = model.predict(x_test) != y_test
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.scatter(found.aleatoric[~wrong], found.epistemic[~wrong], s=12, color="#a3a3a3", label="right")
axes.scatter(found.aleatoric[wrong], found.epistemic[wrong], s=24, color="#c2410c", label="wrong")
axes.set(title="Uncertainty of test rows, right and wrong")
axes.set(xlabel="aleatoric uncertainty (nats)", ylabel="epistemic uncertainty (nats)")
axes.legend(frameon=False)

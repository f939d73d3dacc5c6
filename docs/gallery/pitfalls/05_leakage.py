"""
Leakage
=======

**Rule: a feature that explains nearly everything deserves suspicion: was it known when the prediction is due?** Here
the number of reminders is, since reminders are sent once a bill is not paid. The test rows do not reveal it, as they
have the same leak; the day of the decision does, when no reminder was sent yet.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

import clarysage as cs

rng = np.random.default_rng(0)
X = pd.DataFrame({"income": rng.normal(size=2000), "debts": rng.normal(size=2000)})
is_unpaid = rng.random(2000) < 1 / (1 + np.exp(1 + X["income"] - X["debts"]))
X["reminders"] = np.where(is_unpaid, rng.integers(1, 4, 2000), 0)
train, test, clean = slice(0, 1000), slice(1000, 2000), ["income", "debts"]

with_leak = LogisticRegression().fit(X[train], is_unpaid[train])
without = LogisticRegression().fit(X.loc[X.index[train], clean], is_unpaid[train])
data = {"y": is_unpaid[test], "check_manifold": False, "rng": 0}
figure, axes = plt.subplots(1, 2, figsize=(11, 3), layout="constrained")
cs.sage(with_leak, X[test], background=X[train], **data).plot(ax=axes[0], title="wrong: with the leak")
cs.sage(without, X[clean][test], background=X[clean][train], **data).plot(ax=axes[1], title="right: without it")

# %%
due = X[test].assign(reminders=0)  # the rows as they are on the day of the decision
for name, model, rows in [
    ("with the leak, test rows", with_leak, X[test]),
    ("with the leak, when it is due", with_leak, due),
    ("without it, when it is due", without, due[clean]),
]:
    predicted = model.predict(rows)
    accuracy, share = accuracy_score(is_unpaid[test], predicted), predicted[is_unpaid[test]].mean()
    print(f"{name:>30}: accuracy {accuracy:.2f}, unpaid bills found {share:.0%}")

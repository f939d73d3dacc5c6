"""
Several losses at once
======================

One run, with the same coalitions for every loss: the model is called once, and the differences are due to the losses
alone.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import clarysage as cs

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean radius", "mean texture", "mean smoothness", "mean concavity", "mean symmetry"]]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:300], y[:300])

losses = ["cross entropy", "brier", "zero one"]
explanations = cs.sage(model, X[300:], y[300:], background=X[:100], loss=losses, check_manifold=False, rng=0)
figure, axes = plt.subplots(1, 3, figsize=(13, 3.2), layout="constrained")
for ax, explanation in zip(axes, explanations, strict=True):
    explanation.plot(ax=ax, title=explanation.loss)

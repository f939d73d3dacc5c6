"""
Several classes
===============

Which features tell a class from the others? One run has the values of each class: of the loss of the rows that belong
to it. Weighted by the shares of the classes they add up to the values of all rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import clarysage as cs

X, y = load_wine(return_X_y=True, as_frame=True)
X = X[["proline", "color_intensity", "flavanoids", "alcohol", "ash"]]
y = y.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)

explanations = cs.sage(model, X_test, y_test, background=X_train, per_class=True, check_manifold=False, rng=0)
figure, axes = plt.subplots(1, 3, figsize=(14, 3.4), sharex=True, layout="constrained")
for ax, label, explanation in zip(axes, model.classes_, explanations, strict=True):
    explanation.plot(ax=ax, title=label)

"""
Pixels of an image
==================

Digits of 8 x 8 pixels: a map of the values of single pixels, and of squares of four pixels. A square becomes known as
a whole, so there are fewer players, and a run is shorter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import clarysage as cs

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=200, random_state=0)
model = LogisticRegression(max_iter=1000).fit(X_train, y_train)

data = {"X": X_test, "y": y_test, "background": X_train[:128], "check_manifold": False, "tolerance": 0.05, "rng": 0}
square_of = (np.arange(8)[:, None] // 2 * 4 + np.arange(8) // 2).ravel()  # 16 squares, row by row
squares = {f"square {k}": np.flatnonzero(square_of == k).tolist() for k in range(16)}

pixels, of_squares = cs.sage(model, **data), cs.sage(model, **data, groups=squares)
print(f"rows evaluated: {pixels.model_rows:,} for pixels, {of_squares.model_rows:,} for squares")

figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
axes[0].imshow(X_test.mean(axis=0).reshape(8, 8), cmap="gray_r")
axes[0].set(title="mean of all digits", xticks=[], yticks=[])
cs.plots.pixels(pixels, (8, 8), ax=axes[1], title="64 pixels")
cs.plots.pixels(of_squares, (4, 4), ax=axes[2], title="16 squares of four pixels")

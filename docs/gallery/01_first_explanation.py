"""
A first explanation
===================

How much does each measurement of a wine reduce the loss of a model that tells three grapes apart?
"""

from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import clarysage as cs

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = RandomForestClassifier(50, random_state=0).fit(X_train, y_train)

explanation = cs.sage(model, X_test, y_test, background=X_train, rng=0)
explanation.plot(title="What the wine model draws its predictive power from")

# %%
# The values add up to the reduction of the cross entropy by all features together.
print("the three largest:", *explanation.top(3))
print(f"sum of values: {explanation.values.sum():.3f}, reduction by all: {explanation.total:.3f}")

"""
In a notebook
=============

A cell that ends with a result shows it as a table with bars, notes and the way it was computed. This is what you see
below; the button at the end of the page downloads this example as a notebook. A call of more than two seconds shows a
progress bar there.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

import clarysage as cs

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = LinearRegression().fit(X_train, y_train)

explanation = cs.sage(model, X_test, y_test, background=X_train, rng=0)
explanation

# %%
# A single value is a number that knows its interval, and ``plot`` draws the picture.
low, high = explanation["bmi"].interval()
print(f"bmi: {explanation['bmi']:.0f}, between {low:.0f} and {high:.0f}")
explanation.plot(title="The same as a picture")

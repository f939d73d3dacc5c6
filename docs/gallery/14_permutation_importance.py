"""
Permutation importance beside SAGE
==================================

Two features are nearly copies, and the model uses both. SAGE values and permutation importance say how much this
model rests on each of them; dropping a column and fitting again says that neither is missed, since the other one
takes over.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

import clarysage as cs

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["one", "alone", "noise"])
X.insert(1, "its copy", X["one"] + 0.1 * rng.normal(size=600))
y = X["one"] + X["its copy"] + X["alone"] + rng.normal(size=600)
model = Ridge(alpha=10).fit(X[:300], y[:300])

measures = ["sage", "permutation importance", "drop column importance"]
importances = cs.importances(model, X[300:], y[300:], measures=measures, train=(X[:300], y[:300]), rng=0)
importances.plot()

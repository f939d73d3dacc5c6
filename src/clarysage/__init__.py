"""Explains which features give a model its predictive power, by SAGE values and other Shapley-based measures.

>>> import clarysage as cs
>>> import numpy as np
>>> X = np.random.default_rng(0).normal(size=(100, 2))
>>> cs.sage(lambda X: X[:, 0], X, X[:, 0], rng=0).top(1)
['x0']
"""

from __future__ import annotations

from typing import Any

import lazy_loader

__version__ = "0.1.0"

# public names are listed in __init__.pyi alone; each is loaded on first touch
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except AttributeError as error:
        from clarysage.synonyms import IN_PLACE_OF_NAMES, missing_attribute

        if name not in IN_PLACE_OF_NAMES:
            raise
        raise missing_attribute(__name__, name, IN_PLACE_OF_NAMES) from error

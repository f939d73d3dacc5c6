"""Predictors: fitted models of many libraries as functions f: rows -> (n, k).

``libraries`` is the table of supported libraries; each has a file of adapters.
"""

from __future__ import annotations

import lazy_loader

# names are listed in __init__.pyi and loaded at first use, so that importing the table is cheap
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

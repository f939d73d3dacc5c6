"""Anything fitted becomes a Predictor. ``libraries`` is the table of model types, with one file of adapters each."""

from __future__ import annotations

import lazy_loader

# names are listed in __init__.pyi and loaded on first touch, so that the table is light
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Importance measures: functions that return an Explanation, one file each; ``table`` lists them all.

The room itself can be called: ``clarysage.measures()`` is the table.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class Room(ModuleType):
    """A package that is called for the list of what is in it, since the public name of both is ``measures``."""

    def __call__(self) -> Any:
        from clarysage.measures.table import listed

        return listed()


sys.modules[__name__].__class__ = Room

"""A function sent to worker processes once, through a file, and not again with every task."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_held: dict[str, Callable[[Any], Any]] = {}  # what this process has received last, by the file it came in


class Shipped:
    """A function that travels as the name of a file; each process reads the file when it first needs it.

    The file lives as long as the object in the process that shipped it.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.folder = TemporaryDirectory(prefix="clarysage-")
        self.path = str(Path(self.folder.name) / "function")
        self.places = list(sys.path)
        Path(self.path).write_bytes(_dumps(function))

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "places": self.places}

    def __call__(self, task: Any) -> Any:
        if self.path not in _held:
            _held.clear()
            sys.path.extend(place for place in self.places if place not in sys.path)  # modules the function comes from
            _held[self.path] = pickle.loads(Path(self.path).read_bytes())  # written by __init__, in a folder of our own
        return _held[self.path](task)


def _dumps(function: Callable[[Any], Any]) -> bytes:
    try:
        import cloudpickle
    except ImportError:  # older joblib brings its own
        from joblib.externals import cloudpickle
    dumped: bytes = cloudpickle.dumps(function)
    return dumped

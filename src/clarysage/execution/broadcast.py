"""Broadcast of a function, with its model and data: each worker process receives it once, not with every task.

Processes of this machine read it from files that they map into memory (:class:`BroadcastFunction`); clusters have
channels of their own, and share the cache of a worker process with it (:func:`cached_function`).
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp
from threading import Lock
from typing import Any
from weakref import finalize

from clarysage._utils.atomic import has_ended
from clarysage.errors import ModelError, Set

PREFIX = "clarysage-sent-"  # folder names begin with it, followed by the process id
ALIGNMENT = 64  # arrays begin at multiples of so many bytes

_cache: dict[str, Callable[[Any], Any]] = {}  # the function that this process received last, by its key
_lock = Lock()


class BroadcastFunction:
    """A function that is pickled as the name of a folder; each process reads the folder when it first calls it.

    Arrays are mapped into memory, not read: workers share one copy of the data, and a page is copied only for the
    worker that writes to it. The folder lives as long as the object lives in the process that made it.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        _remove_stale_folders()
        self.path, self.module_paths = mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"), list(sys.path)
        finalize(self, rmtree, self.path, ignore_errors=True)
        buffers: list[pickle.PickleBuffer] = []
        pickle_bytes = pickled(function, buffers.append)
        extents = []  # where each array begins and ends in the file
        with (Path(self.path) / "arrays").open("wb") as file:
            for buffer in buffers:
                start = file.tell()
                file.write(buffer.raw())
                extents.append((start, file.tell()))
                file.write(bytes(-file.tell() % ALIGNMENT))
        (Path(self.path) / "function").write_bytes(pickle.dumps((pickle_bytes, extents)))

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "module_paths": self.module_paths}

    def __call__(self, task: Any) -> Any:
        return cached_function(self.path, self.module_paths, lambda: _read(Path(self.path)))(task)


def cached_function(
    key: str, module_paths: Sequence[str], read: Callable[[], Callable[[Any], Any]]
) -> Callable[[Any], Any]:
    """Returns the function of this key from the cache of this process; a new one is read, and replaces the last.

    ``module_paths`` are the places from which its modules are imported.
    """
    with _lock:
        if key not in _cache:
            _cache.clear()
            sys.path.extend(path for path in module_paths if path not in sys.path)
            _cache[key] = read()
        return _cache[key]


def function_if_cached(key: str) -> Callable[[Any], Any] | None:
    """Returns the function of this key, or None where this process does not have it."""
    return _cache.get(key)


def pickled(function: Any, buffer_callback: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    """Pickles a function by value, so that functions and classes of notebooks and scripts can be sent, too."""
    try:
        import cloudpickle
    except ImportError:  # older joblib brings its own
        from joblib.externals import cloudpickle
    pickle_bytes: bytes = cloudpickle.dumps(function, protocol=5, buffer_callback=buffer_callback)
    return pickle_bytes


def pickled_for_cluster(function: Any) -> bytes:
    """Pickles a function for other machines; an error where that is impossible."""
    try:
        return pickled(function)
    except Exception as error:
        raise ModelError(
            "model",
            got=f"a model that cannot be sent to other processes ({error})",
            wanted="one that can be pickled",
            hint=[Set("n_jobs", 2), ", for threads of this process"],
        ) from error


def _read(folder: Path) -> Callable[[Any], Any]:
    """Reads the function from a folder that one of our own processes wrote."""
    pickle_bytes, extents = pickle.loads((folder / "function").read_bytes())
    with (folder / "arrays").open("rb") as file:
        arrays = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if extents and extents[-1][1] else b"")
    function: Callable[[Any], Any] = pickle.loads(pickle_bytes, buffers=[arrays[start:end] for start, end in extents])
    return function


def _remove_stale_folders() -> None:
    """Removes the folders of processes that were killed before they could do so themselves."""
    for folder in Path(gettempdir()).glob(f"{PREFIX}*-*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdecimal() and has_ended(int(pid)):
            rmtree(folder, ignore_errors=True)

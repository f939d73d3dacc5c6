"""A function sent to worker processes once, and not again with every task; on this machine, through files."""

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

from clarysage._utils.atomic import is_gone
from clarysage.errors import ModelError, Set

PREFIX = "clarysage-sent-"  # of folders, followed by the number of the process
ALIGNED = 64  # bytes, at which arrays begin

_held: dict[str, Callable[[Any], Any]] = {}  # what this process has received last, by its name
_lock = Lock()


class BroadcastFunction:
    """A function that travels as the name of a folder; each process reads it when it first needs it.

    Arrays are mapped into memory, not read: workers share one copy of the data among them, and a page is copied only
    for the worker that writes to it. The folder lives as long as the object in the process that shipped it.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        _sweep()
        self.path, self.places = mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"), list(sys.path)
        finalize(self, rmtree, self.path, ignore_errors=True)
        buffers: list[pickle.PickleBuffer] = []
        head = dumped(function, buffers.append)
        layout = _write(Path(self.path) / "arrays", [buffer.raw() for buffer in buffers])
        (Path(self.path) / "function").write_bytes(pickle.dumps((head, layout)))

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "places": self.places}

    def __call__(self, task: Any) -> Any:
        return held(self.path, self.places, lambda: _read(Path(self.path)))(task)


def _sweep() -> None:
    """Removes folders of processes that were killed, and could not do it themselves."""
    for folder in Path(gettempdir()).glob(f"{PREFIX}*-*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdecimal() and is_gone(int(pid)):
            rmtree(folder, ignore_errors=True)


def held(name: str, places: Sequence[str], read: Callable[[], Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """The function of this name in this process, read when it is new; ``places`` are where its modules come from."""
    with _lock:
        if name not in _held:
            _held.clear()
            sys.path.extend(place for place in places if place not in sys.path)
            _held[name] = read()
        return _held[name]


def held_already(name: str) -> Callable[[Any], Any] | None:
    """The function of this name, where this process has it."""
    return _held.get(name)


def dumped(function: Any, buffer_callback: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    """The function as bytes, functions and classes of notebooks and scripts included."""
    try:
        import cloudpickle
    except ImportError:  # older joblib brings its own
        from joblib.externals import cloudpickle
    found: bytes = cloudpickle.dumps(function, protocol=5, buffer_callback=buffer_callback)
    return found


def packed_for_others(function: Any) -> bytes:
    """The function as bytes for other machines; an error where it cannot be sent there."""
    try:
        return dumped(function)
    except Exception as error:
        raise ModelError(
            "model",
            got=f"a model that cannot be sent to other processes ({error})",
            wanted="one that can be pickled",
            hint=[Set("n_jobs", 2), ", for threads of this process"],
        ) from error


def _write(path: Path, parts: Sequence[memoryview]) -> list[tuple[int, int]]:
    """Writes parts one after the other; where each begins and ends."""
    layout = []
    with path.open("wb") as file:
        for part in parts:
            start = file.tell()
            file.write(part)
            layout.append((start, file.tell()))
            file.write(bytes(-file.tell() % ALIGNED))
    return layout


def _read(folder: Path) -> Callable[[Any], Any]:
    """The function that __init__ has written, in a folder of our own."""
    head, layout = pickle.loads((folder / "function").read_bytes())
    with (folder / "arrays").open("rb") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if layout and layout[-1][1] else b"")
    function: Callable[[Any], Any] = pickle.loads(head, buffers=[whole[start:end] for start, end in layout])
    return function

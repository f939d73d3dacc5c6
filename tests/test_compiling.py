"""Kernels that are compiled when they are first called: where, by whom, and what the user hears of it."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor

import clarysage as cs
from clarysage.models import as_predictor
from clarysage.structure.kernels import compiled
from clarysage.structure.trees import LeafTables, TreeEvaluator

PACKAGE = Path(cs.__file__).parent

ROWS = np.random.default_rng(2).normal(size=(300, 4))
LABELS = ROWS[:, 0] * ROWS[:, 1] + ROWS[:, 2]

# what a process of its own does, from a tree to values
EXPLAINED = """
import numpy as np
from sklearn.tree import DecisionTreeRegressor
import clarysage as cs

X = np.random.default_rng(2).normal(size=(60, 4))
y = X[:, 0] * X[:, 1] + X[:, 2]
model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
told = cs.sage(model, X, y, background=X[:8], method="exact", rng=0)
assert not any("row by row" in note for note in told.notes)
print(told.values.tobytes().hex())
"""


def said(script: str, *, folder: Path | None = None, **variables: str) -> str:
    """The last line that a process of its own prints; the package is taken from the folder, if there is one."""
    known = {**os.environ, "PYTHONPATH": str(folder or PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=known, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout.strip().splitlines()[-1]


@cache
def as_usual() -> str:
    return said(EXPLAINED)


def nowhere(folder: Path) -> dict[str, str]:
    """Variables for a process that can keep compiled code in no place: nobody can make a folder below a file."""
    (folder / "file").write_text("")
    return dict.fromkeys(("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"), str(folder / "file" / "below"))


def unkept(folder: Path) -> Path:
    """A copy of the package beside whose source nothing can be kept either."""
    shutil.copytree(PACKAGE, folder / "copy" / "clarysage", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "copy" / "clarysage" / "structure" / "kernels" / "__pycache__").write_text("")
    return folder / "copy"


@pytest.mark.subprocess
def test_kernels_work_where_compiled_code_can_be_kept_nowhere(tmp_path):
    script = EXPLAINED + (
        "from clarysage.structure.kernels import trees\n"
        "from numba.core.caching import NullCache\n"
        "fast = next(cell.cell_contents for cell in trees.row_margins.__closure__"
        " if hasattr(cell.cell_contents, 'signatures'))\n"
        "assert fast.signatures and isinstance(fast._cache, NullCache), fast._cache\n"
        "print(told.values.tobytes().hex())\n"
    )
    assert said(script, folder=unkept(tmp_path), **nowhere(tmp_path)) == as_usual()
    assert (tmp_path / "copy" / "clarysage" / "structure" / "kernels" / "__pycache__").is_file()


@pytest.mark.subprocess
def test_kernels_work_where_the_chosen_place_for_compiled_code_cannot_be_made(tmp_path):
    assert said(EXPLAINED, NUMBA_CACHE_DIR=nowhere(tmp_path)["NUMBA_CACHE_DIR"]) == as_usual()


@pytest.mark.parametrize("is_lost", [True, False])
def test_kernels_work_where_kept_code_is_lost_or_spoilt(is_lost, tmp_path):
    """As where a disk is full, or a process was ended while it wrote."""
    place, room = tmp_path / "place", compiled.numba.core.config
    kept, room.CACHE_DIR = room.CACHE_DIR, str(place)
    try:
        kernels = [compiled.compiled(twice) for _ in range(2)]
    finally:
        room.CACHE_DIR = kept
    if is_lost:
        shutil.rmtree(place)
        place.write_text("")
    else:
        assert kernels[0](np.arange(3.0)) == 6
        (index,) = place.rglob("*.nbi")
        index.write_bytes(index.read_bytes()[:40])
    assert [kernel(np.arange(3.0)) for kernel in kernels] == [6, 6]


def twice(x: np.ndarray) -> float:
    return 2 * x.sum()


# ------------------------------------------------------------------------------------------------- what the user hears


def made(source: str) -> Callable[..., Any]:
    """A function that has no file, beside which compiled code could be kept."""
    room: dict[str, Any] = {}
    exec(source, room)
    return room["function"]


@pytest.fixture
def kernel() -> Callable[..., Any]:
    """A kernel that was not called yet, in a process that has not told of compiling."""
    compiled._warn_once.cache_clear()
    return compiled.compiled(made("def function(x):\n    return x.cumsum().sum() + (x * x).mean()\n"))


def test_user_is_told_when_compiling_takes_long(kernel, caplog, monkeypatch):
    monkeypatch.setattr(compiled, "SLOW", 1e-3)
    with caplog.at_level(logging.WARNING, "clarysage"):
        assert kernel(np.arange(3.0)) == 4 + 5 / 3
    assert [record.name for record in caplog.records] == ["clarysage"]
    assert "compiling" in caplog.text


def test_user_is_told_once_by_timers_that_end_at_the_same_time(kernel, monkeypatch):
    told = []

    def slowly(word):
        time.sleep(0.05)
        told.append(word)

    monkeypatch.setattr(compiled._log, "warning", slowly)
    threads = [threading.Thread(target=compiled._warn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [compiled.MESSAGE]


def test_user_is_told_of_compiling_once(kernel, caplog, monkeypatch):
    monkeypatch.setattr(compiled, "SLOW", 1e-3)
    kernel(np.arange(3.0))
    caplog.clear()
    for _ in range(20):
        kernel(np.arange(1e5))
    assert not caplog.records


def test_user_is_told_once_in_a_process_whatever_the_number_of_kernels(kernel, caplog, monkeypatch):
    monkeypatch.setattr(compiled, "SLOW", 1e-3)
    kernel(np.arange(3.0))
    compiled.compiled(made("def function(x):\n    return (x + x).cumsum().sum()\n"))(np.arange(3.0))
    assert [record.getMessage() for record in caplog.records] == [compiled.MESSAGE]


def test_user_is_not_told_of_code_that_is_loaded_nor_of_work_that_takes_long(caplog, monkeypatch, tmp_path):
    room = compiled.numba.core.config
    kept, room.CACHE_DIR = room.CACHE_DIR, str(tmp_path)
    try:
        first, again = (compiled.compiled(long) for _ in range(2))
    finally:
        room.CACHE_DIR = kept
    first(1)
    monkeypatch.setattr(compiled, "SLOW", 1e-6)
    compiled._warn_once.cache_clear()
    again(10**7)
    assert not caplog.records


def long(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += np.sin(i)
    return total


def test_user_is_not_told_of_compiling_that_is_quick(kernel, caplog, monkeypatch):
    monkeypatch.setattr(compiled, "SLOW", 600.0)
    kernel(np.arange(3.0))
    assert not caplog.records


def test_errors_of_kernels_end_the_waiting(kernel, caplog, monkeypatch):
    monkeypatch.setattr(compiled, "SLOW", 600.0)
    before = compiled.threading.active_count()
    with pytest.raises(Exception, match=r"NoneType|none"):
        kernel(None)
    assert compiled.threading.active_count() <= before + 1  # a timer that was cancelled may take a moment to end
    assert not caplog.records


# ------------------------------------------------------------------------------------------------ who waits for numba

WITHOUT = {
    "import": "import clarysage as cs, numpy as np",
    "callable": "cs.sage(lambda Z: Z[:, 0] + Z[:, 1], X, y, rng=0)",
    "callable, walks": "cs.sage(lambda Z: Z[:, 0] + Z[:, 1], X, y, rng=0, method='paired walks')",
    "line": "from sklearn.linear_model import *; cs.sage(LinearRegression().fit(X, y), X, y, rng=0, method='exact')",
    "line, absolute": "cs.sage(LinearRegression().fit(X, y), X, y, rng=0, loss='absolute error')",
    "line, walks": "cs.sage(LinearRegression().fit(X, y), X, y, rng=0, method='paired walks')",
    "logistic": "cs.sage(LogisticRegression().fit(X, y > 0), X, y > 0, rng=0)",
    "pipeline": (
        "from sklearn.preprocessing import *; from sklearn.pipeline import *; "
        "cs.sage(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y, rng=0)"
    ),
}


@pytest.mark.subprocess
def test_nobody_waits_for_numba_who_has_no_trees():
    lines = ["import sys"]
    for name, line in WITHOUT.items():
        lines += [line, f"assert 'numba' not in sys.modules, {name!r}"]
        if name == "import":
            lines.append("X = np.random.default_rng(0).normal(size=(200, 12)); y = X[:, 0] + X[:, 1] * X[:, 2]")
    assert said("\n".join([*lines, "print('none')"])) == "none"


# ----------------------------------------------------------------------------------------------------- several threads


def ways(seed: int) -> dict[str, Callable[[], np.ndarray]]:
    """Each kernel that does most of the work, with much to do."""
    rng = np.random.default_rng(seed)
    forest = RandomForestRegressor(20, max_depth=5, random_state=0).fit(ROWS, LABELS)
    trees = as_predictor(forest).structure().representation
    x, b, mass = trees.encode(ROWS), trees.encode(ROWS[:100]), rng.dirichlet(np.ones(100))
    arrivals, picks = np.argsort(rng.random((300, 4)), axis=1) + 1, rng.integers(100, size=(300, 4))
    boosted = GradientBoostingClassifier(n_estimators=10).fit(ROWS, LABELS > 0)
    f_S = cs.Marginal(ROWS[:60]).restrict(as_predictor(boosted), ROWS)
    power = cs.PredictivePower.of(f_S, "cross entropy", ROWS, LABELS > 0)
    assert power.closed_form is not None
    solve = power.closed_form.solve
    by_rows, by_tables = TreeEvaluator(trees, b, mass, "identity"), LeafTables.of(trees, b, mass)
    return {
        "alone": lambda: trees.margins(x),
        "along": lambda: trees.prefix_margins(x, b, picks, arrivals, 4),
        "walks": lambda: by_rows.walk(x, arrivals, 4),
        "tables": lambda: by_tables.walk(x, arrivals, 4),
        "lattice": lambda: solve(np.arange(40)).parts,
    }


def test_several_threads_give_the_same_bits_as_one(seed):
    for name, way in ways(seed).items():
        alone = way()
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(lambda _, way=way: way(), range(6)))
        assert all(np.array_equal(one, alone) for one in found), name


@pytest.mark.subprocess
def test_threads_that_are_the_first_to_compile_give_the_same_bits(tmp_path):
    """Threads begin together in a process that has no compiled code, and again in one that has."""
    script = """
import threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from sklearn.tree import DecisionTreeRegressor
from clarysage.models import as_predictor

rng = np.random.default_rng(2)
X = rng.normal(size=(60, 4))
tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X[:, 0] * X[:, 1])
trees = as_predictor(tree).structure().representation
arrivals, picks = np.argsort(rng.random((60, 4)), axis=1) + 1, rng.integers(60, size=(60, 3))
together = threading.Barrier(3)

def way(_):
    together.wait()
    seen = trees.encode(X)
    return trees.margins(seen).tobytes() + trees.prefix_margins(seen, seen, picks, arrivals, 4).tobytes()

with ThreadPoolExecutor(3) as threads:
    found = list(threads.map(way, range(3)))
assert len(set(found)) == 1
print(found[0].hex())
"""
    first, again = (said(script, NUMBA_CACHE_DIR=str(tmp_path / "fresh")) for _ in range(2))
    assert first == again
    assert list((tmp_path / "fresh").rglob("*.nbc"))

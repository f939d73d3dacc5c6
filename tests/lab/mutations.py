r"""A mutation check: faults are planted in copies of the source, one at a time, and the tests have to notice.

::

    python -m tests.lab.mutations --list          # the table of faults, and whether each fits the source
    python -m tests.lab.mutations --map           # which tests execute which lines; once, and when tests or source move
    python -m tests.lab.mutations                 # the check; --resume goes on with one that was broken off
    python -m tests.lab.mutations --only kernel   # faults whose name, kind or file has this word
    python -m tests.lab.mutations --base COMMIT   # whether the tests of a commit notice what ours do not

The map comes from coverage's dynamic contexts. Of a fault, tests that execute its lines are run until one fails: some
of the fast lane, some of the other lanes, and then all the rest. A fault is killed by ``fast`` or by ``all``, or has
``survived``. A time-out counts as killed. What fails is run again without the fault, so that a test that fails by
itself, or an environment that is broken, kills nothing. The exit code is 1 where a fault survives, or where the fast
lane kills less than four fifths of the killed.

The work tree is read and never written, but for the cache folder ``.mutations``.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

from clarysage._utils.atomic import write_atomically
from conftest import OTHER_LANES
from tests.lab.faults_in_src import FAULTS, SOURCE, Fault, problems

CACHE = Path(".mutations")
KERNELS = "structure/kernels/"
LEAST_SHARE_OF_FAST = 0.8  # of the killed faults, that the fast lane has to kill
SHARE_OF_LIMIT = 1 / 3  # of the time limit that tests may take by the map, so that slow machines cause no time-outs
UNKNOWN_SECONDS = 1.0  # of a test whose duration is not known
PASSED, NO_TESTS, USAGE_ERROR = 0, 5, 4  # exit codes of pytest
LANES = FAST, ALL = "fast", "all"
SURVIVED = "survived"


def say(text: str) -> None:
    """Writes a line to stdout at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


# copies of the tree


@dataclass(frozen=True)
class ScratchTree:
    """A copy of the repository in a folder of its own, in which faults are planted and tests run.

    Compiled kernels are cached in the copy, never beside another tree's: numba would take those for its own.
    """

    root: Path

    @classmethod
    def of_work_tree(cls, repository: Path, root: Path) -> ScratchTree:
        """Copies the work tree: its commit, changes that are not committed, and files that git does not know."""
        _run_git(repository, "clone", "--quiet", "--shared", "--no-tags", str(repository), str(root))
        for path in _listed(repository, "--deleted"):
            (root / path).unlink(missing_ok=True)
        for path in _listed(repository, "--cached", "--others", "--exclude-standard"):
            if (repository / path).is_file() and path.parts[0] != CACHE.name:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(repository / path, root / path)
        return cls(root)

    @classmethod
    def of_commit(cls, repository: Path, root: Path, commit: str) -> ScratchTree:
        """Clones the repository and checks a commit out."""
        _run_git(repository, "clone", "--quiet", "--shared", "--no-checkout", str(repository), str(root))
        _run_git(root, "checkout", "--quiet", "--detach", commit)
        return cls(root)

    def environment(self, kernels: Path | None = None) -> dict[str, str]:
        """Variables by which the copy's source is imported, and nothing compiled from another source is."""
        paths = [str(self.root / "src"), str(self.root)]
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("COV_CORE")},
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(kernels or self.root / ".numba"),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.root / ".hypothesis"),
        }

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[Path | None]:
        """The tree with a fault in it, and the folder for kernels compiled from it; as it was afterwards.

        The file gets its time of change back, too, by which numba tells whether a cache is of another source.
        """
        path = fault.path(self.root)
        before, stat = path.read_bytes(), path.stat()
        has_own_kernels = KERNELS in path.as_posix()
        kernels = Path(tempfile.mkdtemp(prefix="kernels-", dir=self.root.parent)) if has_own_kernels else None
        try:
            fault.plant(self.root)
            yield kernels
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)
            if kernels is not None:
                shutil.rmtree(kernels, ignore_errors=True)


def _run_git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def _listed(repository: Path, *options: str) -> list[Path]:
    listing = _run_git(repository, "ls-files", "-z", *options)
    return [Path(name) for name in listing.split("\0") if name]


# The map


@dataclass(frozen=True)
class TestMap:
    """A map from lines of the source to the tests that execute them, with the durations of the tests.

    Attributes
    ----------
    tests : ids of the tests that passed without a fault
    seconds : of each
    groups : distinct sets of tests, by their indices in ``tests``
    lines : by file, relative to ``src/clarysage``, and line: the index in ``groups`` of the tests that execute it
    hashes : of the files when the map was made
    """

    __test__ = False  # pytest collects classes by their names

    tests: list[str]
    seconds: list[float]
    groups: list[list[int]]
    lines: dict[str, dict[int, int]]
    hashes: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> TestMap:
        """Reads a map from a file."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        lines = {
            file: {int(number): group for number, group in by_line.items()} for file, by_line in stored["lines"].items()
        }
        return cls(**{**stored, "lines": lines})

    def write(self, path: Path) -> None:
        """Writes the map to a file atomically."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(json.dumps(asdict(self), separators=(",", ":")), path)

    def executing(self, file: str, numbers: Iterable[int]) -> set[str]:
        """Returns the ids of the tests that execute any of the lines of a file."""
        groups = {self.lines.get(file, {}).get(number) for number in numbers} - {None}
        return {self.tests[index] for group in groups for index in self.groups[group]}  # type: ignore[index]

    @cached_property
    def index(self) -> dict[str, int]:
        """Maps each test to its index in ``tests``."""
        return {test: number for number, test in enumerate(self.tests)}

    def seconds_of(self, test: str) -> float:
        return self.seconds[self.index[test]] if test in self.index else UNKNOWN_SECONDS


def record_map(repository: Path, cache: Path, marks: str, tests: Sequence[str], jobs: int) -> TestMap:
    """Runs the suite once under coverage, in a copy of the tree, and stores which tests execute which lines."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree = ScratchTree.of_work_tree(repository, Path(folder) / "tree")
        environment = {**tree.environment(), "COVERAGE_FILE": str(Path(folder) / "coverage")}
        collected = _collected(tree, environment, marks, tests)
        report = Path(folder) / "junit.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-n",
            str(jobs),
            "-m",
            marks,
            "--cov=clarysage",
            "--cov-context=test",
            "--cov-report=",
            f"--junitxml={report}",
            *tests,
        ]
        subprocess.run(command, cwd=tree.root, env=environment, check=False)
        durations = _durations(report, collected)
        recorded = _map_of(Path(folder) / "coverage", tree.root, durations)
    recorded.write(cache / "map.json")
    left_out = [test for test in collected if test not in durations]
    say(f"{len(recorded.tests)} tests passed and are in {cache / 'map.json'}; {len(left_out)} failed or were skipped")
    for test in left_out[:20]:
        say(f"  left out: {test}")
    return recorded


def lanes_of(tree: ScratchTree, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the lane of each test of a tree by its current marks; tests of the slow lane are left out."""
    lane: dict[str, str] = {}
    for name, expression in lane_expressions(tree.root).items():
        lane |= dict.fromkeys(_collected(tree, environment, expression, ()), name)
    say(f"{len(lane)} tests: {', '.join(f'{count} {name}' for name, count in Counter(lane.values()).items())}")
    return lane


def lane_expressions(root: Path) -> dict[str, str]:
    """Marker expressions of the lanes, the wider first, of the markers that a tree has: pytest refuses unknown ones."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    registered = {re.split(r"[:(]", marker)[0].strip() for marker in settings.get("markers", ())}
    marks = [mark for mark in OTHER_LANES if mark in registered]
    return {ALL: "not slow" if "slow" in marks else "", FAST: f"not ({' or '.join(marks)})" if marks else ""}


def _collected(tree: ScratchTree, environment: Mapping[str, str], marks: str, tests: Sequence[str]) -> list[str]:
    """Returns the ids of the tests that a marker expression selects."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", marks, *tests]
    listing = subprocess.run(command, cwd=tree.root, env=environment, check=False, capture_output=True, text=True)
    if listing.returncode not in (PASSED, NO_TESTS):
        raise SystemExit(
            f"tests cannot be collected with -m {marks!r}:\n{listing.stdout[-2000:]}{listing.stderr[-2000:]}"
        )
    return [line for line in listing.stdout.splitlines() if "::" in line and not line.startswith(("ERROR", " "))]


def _durations(report: Path, tests: Iterable[str]) -> dict[str, float]:
    """Returns the durations of the tests that passed, from a JUnit report."""
    ids = {_junit_address(test): test for test in tests}
    seconds: dict[str, float] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        test = ids.get((case.get("classname", ""), case.get("name", "")))
        if test is not None and not any(child.tag in ("failure", "error", "skipped") for child in case):
            seconds[test] = float(case.get("time", "0"))
    return seconds


def _junit_address(test: str) -> tuple[str, str]:
    """Returns the class and the name of a test in a JUnit report."""
    address, bracket, parameters = test.partition("[")
    file, *names = address.split("::")
    module = re.sub(r"\.py$", "", file.replace("/", "."))
    return ".".join([module, *names[:-1]]), names[-1] + bracket + parameters


def _map_of(data_file: Path, root: Path, durations: Mapping[str, float]) -> TestMap:
    from coverage import CoverageData

    tests = sorted(durations)
    index = {test: number for number, test in enumerate(tests)}
    data = CoverageData(str(data_file))
    data.read()
    groups: dict[tuple[int, ...], int] = {}
    lines: dict[str, dict[int, int]] = {}
    hashes: dict[str, str] = {}
    source = (root / SOURCE).resolve()
    for measured in sorted(data.measured_files()):
        path = Path(measured)
        if not path.is_relative_to(source):
            continue
        file = path.relative_to(source).as_posix()
        hashes[file] = _hash(path)
        lines[file] = {}
        for number, contexts in data.contexts_by_lineno(measured).items():
            executing = {index[test] for test in (context.rpartition("|")[0] for context in contexts) if test in index}
            if executing:
                key = tuple(sorted(executing))
                lines[file][number] = groups.setdefault(key, len(groups))
    seconds = [round(durations[test], 3) for test in tests]
    return TestMap(tests, seconds, [list(group) for group in groups], lines, hashes)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


# The selection of tests


@dataclass(frozen=True)
class Selection:
    """The tests selected for a fault, by lane: those to run first, all others, and a remark on the selection."""

    first: Sequence[tuple[str, list[str]]]
    others: Sequence[tuple[str, list[str]]]
    remark: str = ""

    def count(self, lane: str) -> int:
        """Returns the number of tests of a lane."""
        return sum(len(tests) for name, tests in (*self.first, *self.others) if name == lane)


def selection(
    fault: Fault, root: Path, test_map: TestMap, lane_of: Mapping[str, str], most: int, limit: float
) -> Selection:
    """Selects the tests that execute the lines of a fault: some of each lane first, then all others of each lane.

    The first ones are at most ``most`` of a lane, and none that would exceed the time limit.
    """
    tests, remark = tests_of(fault, root, test_map)
    by_lane = {lane: [test for test in tests if lane_of.get(test) == lane] for lane in LANES}
    preferred = importers(fault.path(root), root)
    first = {lane: chosen(by_lane[lane], test_map, most, limit * SHARE_OF_LIMIT, preferred) for lane in LANES}
    others = {lane: sorted(set(by_lane[lane]) - set(first[lane])) for lane in LANES}
    return Selection([(lane, first[lane]) for lane in LANES], [(lane, others[lane]) for lane in LANES], remark)


def tests_of(fault: Fault, root: Path, test_map: TestMap) -> tuple[set[str], str]:
    """Returns all tests for a fault, and a remark if they are not the tests that execute its lines."""
    path, changed = fault.lines(root)
    file = path.relative_to(root / SOURCE).as_posix()
    if file.startswith(KERNELS):
        return _tests_of_importers(path, changed, root, test_map), "tests of what calls the kernel"
    if test_map.hashes.get(file) != _hash(path):
        return test_map.executing(file, test_map.lines.get(file, {})), "the file has changed since the map was made"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    function = _function_at(tree, changed[0])
    if function is None or _is_remembered(function):
        tests = test_map.executing(file, _function_lines(tree))
        return tests or _tests_of_importers(path, changed, root, test_map), "the line is executed once in a process"
    tests = test_map.executing(file, _statement_lines(tree, changed))
    if tests:
        return tests, ""
    return test_map.executing(file, range(function.lineno, (function.end_lineno or 0) + 1)), "the lines around it"


def chosen(
    tests: Iterable[str], test_map: TestMap, most: int, seconds: float, preferred: Collection[str] = ()
) -> list[str]:
    """Returns at most ``most`` tests within a time: those of preferred files, then of all files in turn, fastest first.

    They are sorted by file, so that the fixtures of a file are set up once.
    """
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: (test_map.seconds_of(test), test)):
        by_file[test.partition("::")[0]].append(test)
    files = sorted(by_file, key=lambda file: (file not in preferred, test_map.seconds_of(by_file[file][0])))
    favourites = [test for file in files if file in preferred for test in by_file[file]]
    by_turns = zip_longest(*(by_file[file] for file in files if file not in preferred))
    taken: list[str] = []
    spent = 0.0
    for test in [*favourites, *(test for turn in by_turns for test in turn if test is not None)]:
        is_short = not taken or spent + test_map.seconds_of(test) <= seconds
        if is_short and len(taken) < most:
            taken.append(test)
            spent += test_map.seconds_of(test)
    position = {file: number for number, file in enumerate(files)}
    return sorted(taken, key=lambda test: position[test.partition("::")[0]])


def importers(path: Path, root: Path) -> set[str]:
    """Files of tests that import a module of the source, and the module itself for the examples in its docstrings."""
    *room, name = path.relative_to(root / "src").with_suffix("").parts
    module = ".".join([*room, name])
    files = {path.relative_to(root).as_posix()}
    for file in sorted((root / "tests").glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
            else:
                continue
            if module in names:
                files.add(file.relative_to(root).as_posix())
    return files


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def _function_at(tree: ast.AST, number: int) -> Function | None:
    """Returns the innermost function whose body contains a line; None outside of function bodies."""
    around = [node for node in _functions(tree) if node.body[0].lineno <= number <= (node.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno, default=None)


def _is_remembered(function: Function) -> bool:
    """Tells whether a function is cached, so that only its first caller executes its lines."""
    return any("cache" in ast.unparse(decorator) for decorator in function.decorator_list)


def _function_lines(tree: ast.AST) -> set[int]:
    """Returns the lines of function bodies, which are executed at calls."""
    return {number for node in _functions(tree) for number in range(node.body[0].lineno, (node.end_lineno or 0) + 1)}


def _statement_lines(tree: ast.AST, numbers: Collection[int]) -> set[int]:
    """Returns the lines of the statements that contain the given lines; of a block, only its head."""
    lines = set(numbers)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if isinstance(body, list) and body else (node.end_lineno or node.lineno)
            span = range(node.lineno, max(end, node.lineno) + 1)
            if any(number in span for number in numbers):
                lines.update(span)
    return lines


def _tests_of_importers(path: Path, changed: Sequence[int], root: Path, test_map: TestMap) -> set[str]:
    """Returns tests that execute importers of a module: functions that import it, or all functions of such modules.

    If the changed function is imported by name anywhere, only the code that imports it counts.
    """
    parts = path.relative_to(root / "src").with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    function = _function_at(ast.parse(path.read_text(encoding="utf-8")), changed[0])
    importing: list[tuple[str, set[int], set[str]]] = []  # file, lines, imported names
    for other in sorted((root / SOURCE).rglob("*.py")):
        tree = ast.parse(other.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == module:
                around = _function_at(tree, node.lineno)
                lines = set(range(node.lineno, (around.end_lineno or 0) + 1)) if around else _function_lines(tree)
                names = {alias.name for alias in node.names}
                importing.append((other.relative_to(root / SOURCE).as_posix(), lines, names))
    name = "" if function is None else function.name
    by_name = [entry for entry in importing if name in entry[2]]
    return set().union(*(test_map.executing(file, lines) for file, lines, _ in by_name or importing))


# The check


@dataclass
class FaultOutcome:
    """The outcome of a planted fault.

    ``verdict`` is "fast", "all" or "survived": the lane that killed it, or none. ``killer`` is the first test that
    failed, or another error; ``tests`` counts the selected tests by lane.
    """

    name: str
    kind: str
    file: str
    verdict: str
    killer: str = ""
    seconds: float = 0.0
    tests: dict[str, int] = field(default_factory=dict)
    remark: str = ""


@dataclass(frozen=True)
class Finished:
    """A finished run of pytest: its exit code (None after a time-out) and its output."""

    code: int | None
    output: str


class Checker:
    """Plants faults in copies of the tree, one per worker, and runs the selected tests of each.

    Parameters
    ----------
    test_map : which tests execute which lines
    lane_of : the lane of each test; tests without a lane are not run
    most : number of tests of a lane that are run first
    limit : time limit of these tests in seconds
    is_quick : whether only these tests are run
    mapped : the tree of the map, if faults are planted in copies of another commit
    """

    def __init__(
        self,
        test_map: TestMap,
        lane_of: Mapping[str, str],
        most: int,
        limit: float,
        *,
        is_quick: bool = False,
        mapped: ScratchTree | None = None,
    ) -> None:
        self.test_map, self.lane_of, self.most, self.limit = test_map, lane_of, most, limit
        self.is_quick, self.mapped = is_quick, mapped
        self._trusted: dict[str, bool] = {}  # true if a test that failed passes without the fault
        self._lock = threading.Lock()

    def check(self, fault: Fault, tree: ScratchTree) -> FaultOutcome:
        """Plants a fault, runs its tests and returns the outcome."""
        begun = time.monotonic()
        chosen_tests = selection(fault, (self.mapped or tree).root, self.test_map, self.lane_of, self.most, self.limit)
        counts = {lane: chosen_tests.count(lane) for lane in LANES}
        file = fault.path(tree.root).relative_to(tree.root / SOURCE).as_posix()
        outcome = FaultOutcome(fault.name, fault.kind, file, SURVIVED, tests=counts, remark=chosen_tests.remark)
        if not any(counts.values()):
            outcome.remark = "no test of the map executes it"
        for lane, tests in (*chosen_tests.first, *(() if self.is_quick else chosen_tests.others)):
            killer = self._killer(fault, tree, tests)
            if killer:
                outcome.verdict, outcome.killer = lane, killer
                break
        outcome.seconds = round(time.monotonic() - begun, 1)
        return outcome

    def _killer(self, fault: Fault, tree: ScratchTree, tests: Sequence[str]) -> str:
        """Returns the first test that fails only with the fault, "hang" for a time-out, or an empty string."""
        left = [test for test in tests if self._trusted.get(test, True)]
        limit = max(self.limit, sum(map(self.test_map.seconds_of, left)) / SHARE_OF_LIMIT)
        while left:
            with tree.planted(fault) as kernels:
                finished, left = self._run_existing(tree, left, limit, kernels)
            if finished.code in (PASSED, NO_TESTS):
                return ""
            failed = None if finished.code is None else _first_failed(finished.output, left)
            if failed is None:  # a time-out, or tests that could not be run: is it the fault?
                is_healthy = run_tests(tree, left, limit).code in (PASSED, NO_TESTS)
                cause = "hang" if finished.code is None else _last_error(finished.output)
                return cause if is_healthy else ""
            if self._is_trusted(failed, tree):
                return failed
            left = [test for test in left if test != failed]
        return ""

    def _is_trusted(self, test: str, tree: ScratchTree) -> bool:
        """Tells whether a test passes without any fault."""
        if test not in self._trusted:
            finished = run_tests(tree, [test], self.limit)
            with self._lock:
                self._trusted[test] = finished.code == PASSED
        return self._trusted[test]

    def _run_existing(
        self, tree: ScratchTree, tests: list[str], limit: float, kernels: Path | None
    ) -> tuple[Finished, list[str]]:
        """Runs the tests without missing ones; in another commit their files replace missing tests."""
        while True:
            finished = run_tests(tree, tests, limit, kernels)
            missing = _not_found(finished.output, tests) if finished.code == USAGE_ERROR else []
            if not missing:
                return finished, tests
            existing = [test for test in tests if test not in missing]
            if self.mapped is not None:
                files = dict.fromkeys(test.partition("::")[0] for test in missing if "::" in test)
                existing += [file for file in files if (tree.root / file).is_file() and file not in existing]
            tests = existing
            if not tests:
                return Finished(NO_TESTS, ""), tests


class Processes:
    """The running processes of pytest, so that they can be ended when the check is interrupted."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self._running: set[subprocess.Popen[Any]] = set()
        self._lock = threading.Lock()

    @contextmanager
    def keeping(self, process: subprocess.Popen[Any]) -> Iterator[None]:
        """Registers a process, and ends it and its children at the end of the block."""
        with self._lock:
            self._running.add(process)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)
            _end_group(process)

    def end(self) -> None:
        """Ends all processes and prevents new ones."""
        self.is_over.set()
        with self._lock:
            for process in self._running:
                _end_group(process)


PROCESSES = Processes()


def run_tests(tree: ScratchTree, tests: Sequence[str], limit: float, kernels: Path | None = None) -> Finished:
    """Runs tests in one process until the first failure, and ends all of its children afterwards."""
    if PROCESSES.is_over.is_set():
        return Finished(NO_TESTS, "")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-rfE", "-m", "", *tests]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command,
            cwd=tree.root,
            env=tree.environment(kernels),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with PROCESSES.keeping(process):
            try:
                code: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
        output.seek(0)
        return Finished(code, output.read())


def _end_group(process: subprocess.Popen[Any]) -> None:
    """Ends a process and its children; it has its own session, so that no other process is in the group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _first_failed(output: str, tests: Collection[str]) -> str | None:
    """Returns the first failed test in the summary of pytest."""
    for line in output.splitlines():
        head, _, rest = line.partition(" ")
        if head in ("FAILED", "ERROR") and "::" in rest:
            matches = [test for test in tests if rest == test or rest.startswith(f"{test} - ")]
            return max(matches, key=len) if matches else rest.partition(" - ")[0]
    return None


def _last_error(output: str) -> str:
    """Returns the message of pytest if it could not run the tests, as after an error at import."""
    lines = [line.strip() for line in output.splitlines() if re.match(r"(E  |ERROR|\w+Error)", line)]
    return f"at collection: {lines[0][:160]}" if lines else "pytest failed"


def _not_found(output: str, tests: Iterable[str]) -> list[str]:
    """Returns the tests that pytest does not find although it could import their files."""
    lines = [line.rstrip() for line in output.splitlines() if re.match("ERROR: (not found|file or directory)", line)]
    return [test for test in tests if any(line.endswith((f"/{test}", f": {test}")) for line in lines)]


def check_all(faults: Sequence[Fault], checker: Checker, trees: Sequence[ScratchTree], results: Results) -> None:
    """Checks faults, as many at a time as there are copies of the tree, and stores each outcome at once."""
    free: queue.Queue[ScratchTree] = queue.Queue()
    for tree in trees:
        free.put(tree)

    def check_next(fault: Fault) -> None:
        tree = free.get()
        try:
            try:
                outcome = checker.check(fault, tree)
            except LookupError as error:
                outcome = FaultOutcome(
                    fault.name, fault.kind, fault.file, SURVIVED, remark=f"cannot be planted: {error}"
                )
            if not PROCESSES.is_over.is_set():
                results.add(outcome)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        try:
            list(pool.map(check_next, faults))
        except BaseException:
            PROCESSES.end()
            raise


# results


class Results:
    """Outcomes by the names of faults, in a file that is rewritten with each new one."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path = path
        stored = self.read(path) if resume and path.is_file() else {}
        self.outcomes = {name: outcome for name, outcome in stored.items() if outcome.verdict != SURVIVED}
        self._lock = threading.Lock()

    @staticmethod
    def read(path: Path) -> dict[str, FaultOutcome]:
        """Reads the outcomes from a file."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {entry["name"]: FaultOutcome(**entry) for entry in stored}

    def add(self, outcome: FaultOutcome) -> None:
        with self._lock:
            self.outcomes[outcome.name] = outcome
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(json.dumps([asdict(outcome) for outcome in self.outcomes.values()], indent=1), self.path)
            why = outcome.killer or outcome.remark
            say(f"{outcome.verdict:<9} {outcome.name:<32} {outcome.seconds:6.1f} s  {why}")


def as_markdown(outcomes: Sequence[FaultOutcome]) -> str:
    """Returns a table of the outcomes, survivors first."""
    order = {SURVIVED: 0, ALL: 1, FAST: 2}
    rows = [
        f"| {outcome.name} | {outcome.kind} | `{outcome.file}` | {outcome.verdict} | {_cell(outcome)} | "
        f"{outcome.tests.get(FAST, 0)} + {outcome.tests.get(ALL, 0)} | {outcome.seconds:.0f} |"
        for outcome in sorted(outcomes, key=lambda outcome: (order[outcome.verdict], outcome.file, outcome.name))
    ]
    head = [
        "| fault | kind | file | killed by | first failing test | tests selected | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows])


def _cell(outcome: FaultOutcome) -> str:
    text = outcome.killer if outcome.verdict != SURVIVED else outcome.remark
    return text.replace("|", "\\|")


def summary(outcomes: Collection[FaultOutcome]) -> tuple[str, bool]:
    """Returns the last line, and whether no fault survives and the fast lane kills four fifths of them."""
    count = Counter(outcome.verdict for outcome in outcomes)
    killed = count[FAST] + count[ALL]
    share = count[FAST] / killed if killed else 0.0
    survivors = sorted(outcome.name for outcome in outcomes if outcome.verdict == SURVIVED)
    text = (
        f"{len(outcomes)} faults: {count[FAST]} killed by the fast lane ({100 * share:.0f} % of the killed), "
        f"{count[ALL]} by the other tests alone, {len(survivors)} survived"
    )
    is_well = not survivors and share >= LEAST_SHARE_OF_FAST
    return f"{text}: {', '.join(survivors)}" if survivors else text, is_well


# the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that processes and copies do not stay
    repository = Path.cwd()
    if not (repository / SOURCE).is_dir():
        say(f"there is no {SOURCE} here: run this from the root of the repository")
        return 2
    faults = [fault for fault in FAULTS if _is_meant(fault, options.only)]
    if options.list:
        return list_faults(repository, faults)
    if options.map:
        if importlib.util.find_spec("pytest_cov") is None:
            say("the map needs pytest-cov: pip install --editable '.[dev]'")
            return 2
        record_map(repository, options.cache, options.marks, options.tests, options.jobs)
        return 0
    if not (options.cache / "map.json").is_file():
        say(f"there is no {options.cache / 'map.json'}: run python -m tests.lab.mutations --map first")
        return 2
    wrong = problems(repository, tuple(faults))
    if wrong and options.base is None:
        say("\n".join(wrong))
        return 2
    return check_base(repository, faults, options) if options.base else check_here(repository, faults, options)


def list_faults(repository: Path, faults: Sequence[Fault]) -> int:
    """Prints the table of faults and its problems."""
    for fault in faults:
        say(f"{fault.name:<32} {fault.kind:<36} {fault.file}")
    for title, count in (
        ("rooms", Counter(fault.room for fault in faults)),
        ("kinds", Counter(fault.kind for fault in faults)),
    ):
        say(f"{title}: {', '.join(f'{name} {number}' for name, number in count.most_common())}")
    wrong = problems(repository, tuple(faults))
    moved = [
        f"{fault.name}: moved to {fault.path(repository).relative_to(repository / SOURCE)}"
        for fault in faults
        if not wrong and fault.path(repository) != repository / SOURCE / fault.file
    ]
    say("\n".join([*wrong, *moved, f"{len(faults)} faults, {len(wrong)} of which do not fit the source"]))
    return 1 if wrong else 0


def check_here(repository: Path, faults: Sequence[Fault], options: argparse.Namespace) -> int:
    """Checks the work tree with its own tests."""
    results = Results(options.cache / "results.json", resume=options.resume)
    left = [fault for fault in faults if fault.name not in results.outcomes]
    test_map = TestMap.read(options.cache / "map.json")
    with _copies(options.jobs, lambda root: ScratchTree.of_work_tree(repository, root)) as trees:
        lane_of = lanes_of(trees[0], trees[0].environment())
        check_all(left, Checker(test_map, lane_of, options.most, options.limit, is_quick=options.quick), trees, results)
    return _finish(results, faults, options.cache / "results.md")


def check_base(repository: Path, faults: Sequence[Fault], options: argparse.Namespace) -> int:
    """Checks whether the tests of another commit kill the faults that survive here, or the selected ones."""
    stored = options.cache / "results.json"
    if not options.only and stored.is_file():
        survivors = {name for name, outcome in Results.read(stored).items() if outcome.verdict == SURVIVED}
        faults = [fault for fault in faults if fault.name in survivors]
    commit = _run_git(repository, "rev-parse", "--short", f"{options.base}^{{commit}}").strip()
    results = Results(options.cache / f"results-{commit}.json", resume=options.resume)
    left = [fault for fault in faults if fault.name not in results.outcomes]
    test_map = TestMap.read(options.cache / "map.json")
    with (
        _copies(1, lambda root: ScratchTree.of_work_tree(repository, root)) as (here,),
        _copies(options.jobs, lambda root: ScratchTree.of_commit(repository, root, commit)) as trees,
    ):
        lane_of = lanes_of(here, here.environment())
        check_all(left, Checker(test_map, lane_of, options.most, options.limit, mapped=here), trees, results)
    _finish(results, faults, options.cache / f"results-{commit}.md")
    return 0


def _finish(results: Results, faults: Sequence[Fault], page: Path) -> int:
    outcomes = [results.outcomes[fault.name] for fault in faults if fault.name in results.outcomes]
    line, is_well = summary(outcomes)
    table = as_markdown(outcomes)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"{table}\n\n{line}\n", encoding="utf-8")
    say(f"\n{table}\n\n{line}")
    return 0 if is_well else 1


@contextmanager
def _copies(count: int, make: Callable[[Path], ScratchTree]) -> Iterator[list[ScratchTree]]:
    """Makes copies of a tree in separate temporary folders."""
    with tempfile.TemporaryDirectory(prefix="mutations-", ignore_cleanup_errors=True) as folder:
        trees = []
        for number in range(count):
            copy = Path(folder) / str(number)
            copy.mkdir()
            trees.append(make(copy / "tree"))
        yield trees


def _is_meant(fault: Fault, word: str | None) -> bool:
    """Tells whether a word occurs in the name, the kind or the file of a fault."""
    return word is None or any(word in text for text in (fault.name, fault.kind, fault.file))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab.mutations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--list", action="store_true", help="print the table of faults, and whether each fits the source")
    add("--map", action="store_true", help="record which tests execute which lines")
    add("--marks", default="", metavar="EXPR", help="with --map: the tests to record, as for pytest -m; default all")
    add("--tests", nargs="+", default=[], metavar="FILE", help="with --map: files of tests to record; default all")
    add("--only", metavar="WORD", help="faults whose name, kind or file has the word")
    add("--base", metavar="COMMIT", help="check the survivors, or those of --only, with the tests of a commit")
    add("--most", type=int, default=150, metavar="N", help="tests of each lane that are tried first (%(default)s)")
    add(
        "--limit",
        type=float,
        default=240.0,
        metavar="SECONDS",
        help="that the tests tried first may take (%(default)s)",
    )
    add("--jobs", type=int, default=2, metavar="N", help="faults at a time, or workers of --map (%(default)s)")
    add(
        "--quick",
        action="store_true",
        help="run the tests tried first alone; what they do not notice may not survive all tests",
    )
    add("--resume", action="store_true", help="keep the faults that an earlier check killed, and go on")
    add("--cache", type=Path, default=CACHE, metavar="FOLDER", help="where the map and the results are")
    options = parser.parse_args(arguments)
    options.cache = options.cache.absolute()
    return options


if __name__ == "__main__":
    sys.exit(main())

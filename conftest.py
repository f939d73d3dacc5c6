"""Fixtures shared by all tests, the rule for tests that need an optional library, and the rules of the lanes.

A test is of the fast lane, which ``make test`` runs, unless it has one of the marks in ``OTHER_LANES``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # before OpenMP is loaded: threads of several workers block each other
    for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_variable, "1")

ROOT = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = [  # Chromium without a network of its own
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OTHER_LANES = ("statistical", "cluster", "browser", "subprocess", "experiments", "slow")
NEEDS = re.compile(r"\bNeeds `(\w+)`\.")  # in a docstring whose examples use an optional library
LANE_OF = {"distributed": "cluster", "ray": "cluster", "browser": "browser"}  # required library -> mark of the lane
PROGRAMS = re.compile(r"(.*/)?(python[\d.]*|bash|sh|clarysage)")  # programs that a test of the fast lane must not start
STARTS = ("subprocess.Popen", "os.system", "os.posix_spawn")  # names of audit events

_started: list[str] = []  # programs since the current test began


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C work: a shell that starts the suite in the background ignores SIGINT, and children inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.addaudithook(_notice_program)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add marks that follow from where a test is and what it needs, before tests are selected by their marks."""
    for item in items:
        if item.path.is_relative_to(ROOT / "experiments"):
            item.add_marker(pytest.mark.experiments)
        if isinstance(item, pytest.DoctestItem):
            for library in NEEDS.findall(item.dtest.docstring or ""):
                item.add_marker(pytest.mark.needs(library))
        for library in {library for mark in item.iter_markers("needs") for library in mark.args} & set(LANE_OF):
            item.add_marker(LANE_OF[library])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked ``needs("library")`` where the library is absent, with the reason.

    With CLARYSAGE_REQUIRE_ALL set, as in continuous integration, the test runs and fails instead.
    """
    _started.clear()
    for mark in item.iter_markers("needs"):
        for library in mark.args:
            if not _is_present(library) and not os.environ.get("CLARYSAGE_REQUIRE_ALL"):
                pytest.skip(f"{library} is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test of the fast lane that starts an interpreter or a shell, which takes seconds: it lacks a mark.

    Pools of worker processes are not noticed.
    """
    yield
    if _started and not any(item.get_closest_marker(mark) for mark in OTHER_LANES):
        pytest.fail(f"the test starts {_started[0]}: mark it as one of {', '.join(OTHER_LANES)}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CLARYSAGE_REQUIRE_ALL set a skipped test fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CLARYSAGE_REQUIRE_ALL") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many tests were skipped for which reason."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    if reasons:
        terminalreporter.section("skipped, by reason")
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count:6}  {reason}")


def _reason(report: Any) -> str:
    """Return why a test was skipped, in one line."""
    text = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    reason = text.removeprefix("Skipped: ").partition("\n")[0]
    library = re.match(r"could not import '([\w.]+)'", reason)
    if library:
        return f"{library[1]} is not installed"
    return re.sub(r"PosixPath\('(.*?)'\)", lambda path: os.path.relpath(path[1], ROOT), reason)


def _notice_program(event: str, arguments: tuple[Any, ...]) -> None:
    """Record the names of started interpreters and shells."""
    if event in STARTS:
        program = "sh" if event == "os.system" else os.fsdecode(arguments[0] or "")
        if PROGRAMS.fullmatch(program):
            _started.append(Path(program).name)


def _is_present(library: str) -> bool:
    if library == "browser":
        return any(shutil.which(name) for name in BROWSERS)
    return importlib.util.find_spec(library) is not None


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close the figures that a test or an example leaves open, so that the next test finds none."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window; tests that use it need "playwright" and "browser"."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of a statistical test: 0, or the value of CLARYSAGE_TEST_SEED; tests must pass for any seed."""
    return int(os.environ.get("CLARYSAGE_TEST_SEED", "0"))


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """MLflow with a temporary file store, without telemetry; runs are ended after the test."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # required by newer releases
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.delenv("MLFLOW_RUN_ID", raising=False)
    import mlflow

    yield mlflow
    while mlflow.active_run():
        mlflow.end_run()

"""Fixtures shared by all tests, and the rule for tests that need an optional library."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked ``needs("library")`` where the library is absent, with the reason.

    With CLARYSAGE_REQUIRE_ALL set, as in continuous integration, the test runs and fails instead.
    """
    for mark in item.iter_markers("needs"):
        for library in mark.args:
            if not _is_present(library) and not os.environ.get("CLARYSAGE_REQUIRE_ALL"):
                pytest.skip(f"{library} is not installed")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CLARYSAGE_REQUIRE_ALL set a skipped test fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CLARYSAGE_REQUIRE_ALL") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _is_present(library: str) -> bool:
    if library == "browser":
        return any(shutil.which(name) for name in BROWSERS)
    return importlib.util.find_spec(library) is not None


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of a statistical test: 0, or whatever CLARYSAGE_TEST_SEED says; tests pass for any."""
    return int(os.environ.get("CLARYSAGE_TEST_SEED", "0"))


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """MLflow with a file store of the test's own; nothing is sent anywhere, and no run stays active."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # which later releases ask for
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.delenv("MLFLOW_RUN_ID", raising=False)
    import mlflow

    yield mlflow
    while mlflow.active_run():
        mlflow.end_run()

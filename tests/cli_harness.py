"""Helpers to run the command line in tests, in this process or in another one.

``run``, ``printed_json`` and ``error_of`` call the app of the console script in this process. ``run_process`` and
``run_main`` start an interpreter, so tests that use them are marked ``subprocess``.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clarysage.cli.app import app

# before click 8.2 the default is to mix stderr into stdout
SEPARATE_STREAMS = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def run(*arguments: str, **environment: str) -> Any:
    """Run a command line in this process; the result has ``exit_code``, ``stdout`` and ``stderr``.

    An exception that would end the program with a traceback is raised. Deprecations within other libraries are hidden,
    as an interpreter hides them and pytest does not; those that our own calls cause are not.
    """
    with warnings.catch_warnings():
        for category in (DeprecationWarning, PendingDeprecationWarning):
            warnings.filterwarnings("ignore", category=category, module=r"(?!clarysage)")
        return CliRunner(**SEPARATE_STREAMS).invoke(
            app, list(arguments), env=environment, prog_name="clarysage", catch_exceptions=False
        )


def printed_json(*arguments: str, code: int = 0) -> dict[str, Any]:
    """Run a command line with ``--json -`` and parse its stdout."""
    result = run(*arguments, "--json", "-")
    assert result.exit_code == code, result.stderr
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def error_of(*arguments: str, code: int = 1) -> str:
    """Run a command line that fails, and return its single line of error."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return str(line)


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch, module: str = "plain") -> None:
    """Make a folder the current one for a test, in which its module is imported again and leaves no ``__pycache__``."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setitem(sys.modules, module, None)  # removes whatever the test imports under this name
    del sys.modules[module]


def run_process(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command line as a shell does, in a folder and a process of its own."""
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-m", "clarysage", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env=variables)


def run_main(*arguments: str, after: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a successful command line in a separate process, and lines of Python after it in the same process."""
    script = (
        f"import sys\nsys.argv = {['clarysage', *arguments]!r}\nfrom clarysage.cli import main\n"
        f"try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n{after}"
    )
    variables = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=variables)

"""The command line as its tests run it: in this process, through the app that the console script calls, or in another.

``run`` and what is made of it start no process. ``run_process`` and ``run_main`` start an interpreter, for what only a
process shows, so tests that use them are marked ``subprocess``.
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

# before click 8.2 a runner mixes stderr into stdout unless it is asked not to
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def run(*arguments: str, **environment: str) -> Any:
    """Run a command line in this process; the result has ``exit_code``, ``stdout`` and ``stderr``.

    An exception that would end the program with a traceback is raised. Deprecations within other libraries are hidden,
    as an interpreter hides them and pytest does not; those that our own calls cause are not.
    """
    with warnings.catch_warnings():
        for category in (DeprecationWarning, PendingDeprecationWarning):
            warnings.filterwarnings("ignore", category=category, module=r"(?!clarysage)")
        return CliRunner(**APART).invoke(
            app, list(arguments), env=environment, prog_name="clarysage", catch_exceptions=False
        )


def printed_json(*arguments: str, code: int = 0) -> dict[str, Any]:
    """Run a command line with ``--json -`` and parse its stdout."""
    result = run(*arguments, "--json", "-")
    assert result.exit_code == code, result.stderr
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def error_of(*arguments: str, code: int = 1) -> str:
    """Run a command line that fails, and return the single line that it complains with."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return str(line)


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch, module: str = "plain") -> None:
    """Make a folder the current one for a test, in which its module is imported anew and leaves no ``__pycache__``."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setitem(sys.modules, module, None)  # is undone after the test, whatever is imported meanwhile
    del sys.modules[module]


def run_process(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command line as a shell does, in a folder and a process of its own."""
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-m", "clarysage", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env=variables)


def run_main(*arguments: str, after: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command line that ends well in a process of its own, and lines of Python after it in the same process."""
    script = (
        f"import sys\nsys.argv = {['clarysage', *arguments]!r}\nfrom clarysage.cli import main\n"
        f"try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n{after}"
    )
    variables = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=variables)

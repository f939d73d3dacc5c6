"""Every command: exit codes, JSON alone on stdout, the rest on stderr, and only files asked for.

What only a process shows, such as encodings and a terminal, is tested as a shell runs it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from tests.cli_harness import enter, error_of, printed_json, run, run_process

MODULE = """
def load(rows):
    print("chatter of the model")
    return 2 * rows["heat"] + rows["wind"]
"""
EXPLAIN = ["plain:load", "then.csv", "--target", "load", "--background", "train.csv"]
QUICK = ["--target", "load", "--background-rows", "16"]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, a module and saved explanations."""
    path, rng = tmp_path_factory.mktemp("originals"), np.random.default_rng(0)
    tables = {}
    for name, n in (("then", 120), ("now", 120), ("train", 16)):
        X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["heat", "wind"]).round(6)
        tables[name] = X.assign(load=2 * X["heat"] + X["wind"]).round(6)
        tables[name].to_csv(path / f"{name}.csv", index=False)
    tables["now"].assign(wind=lambda table: 60 * table["wind"]).to_csv(path / "broken.csv", index=False)
    (path / "plain.py").write_text(MODULE)
    X, y = tables["then"][["heat", "wind"]], tables["then"]["load"]
    for name, slope in (("a", 2.0), ("b", 1.0)):
        explanation = cs.sage(lambda rows, slope=slope: slope * rows["heat"], X, y, background=X[:16], rng=0)
        explanation.save(path / f"{name}.json", rows=True)
    return path


@pytest.fixture
def folder(originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the originals, which is the current folder; commands leave in it what they are asked for."""
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    enter(tmp_path, monkeypatch)
    return tmp_path


@contextmanager
def writing(folder: Path, *names: str) -> Iterator[None]:
    """Check that what runs meanwhile writes these files into the folder, and nothing else."""
    before = {path.name for path in folder.iterdir()}
    yield
    assert {path.name for path in folder.iterdir()} - before == set(names)


@pytest.mark.parametrize(
    ("arguments", "code", "key"),
    [
        (["explain", *EXPLAIN], 0, "values"),
        (["measures", *EXPLAIN, "--only", "sage"], 0, "explanations"),
        (["compare", "a.json", "b.json"], 0, "differences"),
        (["monitor", "plain:load", "then.csv", "broken.csv", *QUICK], 4, "flagged"),
        (["doctor"], 0, "needed"),
    ],
)
def test_json_on_stdout_parses_and_nothing_is_written(folder: Path, arguments: list[str], code: int, key: str) -> None:
    with writing(folder):
        result = run(*arguments, "--json", "-")
    assert result.exit_code == code, result.stderr
    assert key in json.loads(result.stdout)
    assert ("chatter of the model" in result.stderr) == ("plain:load" in arguments)


@pytest.mark.subprocess
def test_process_prints_json_alone_and_exits_with_the_code_of_the_command(folder: Path) -> None:
    arguments = ["monitor", "plain:load", "then.csv", "broken.csv", *QUICK]
    with writing(folder):
        done = run_process(folder, *arguments, "--json", "-")
    assert done.returncode == 4, done.stderr
    assert json.loads(done.stdout) == printed_json(*arguments, code=4)
    assert "chatter of the model" in done.stderr


@pytest.mark.subprocess
@pytest.mark.parametrize(
    "arguments", [["compare", "greek.json", "greek.json", "--json"], ["report", "greek.json", "-o"]]
)
def test_data_on_stdout_keep_their_names_in_any_encoding(folder: Path, arguments: list[str]) -> None:
    name = "ύψος"
    replace(cs.load(folder / "a.json"), feature_names=(name, "wind")).save(folder / "greek.json")
    with writing(folder):
        done = run_process(folder, *arguments, "-", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert name in done.stdout


def test_files_that_are_asked_for_are_written(folder: Path) -> None:
    files = ["--json", "sage.json", "--plot", "sage.png", "--html", "sage.html"]
    with writing(folder, "sage.json", "sage.png", "sage.html"):
        result = run("explain", *EXPLAIN, *files)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("SAGE values")
    assert "note: wrote sage.html" in result.stderr
    with writing(folder, "page.html"):
        assert run("report", "sage.json", "-o", "page.html").exit_code == 0
    assert "<html" in (folder / "page.html").read_text()


def test_comparison_page_is_written_and_made_again_of_the_file(folder: Path) -> None:
    with writing(folder, "c.json", "c.html"):
        result = run("compare", "a.json", "b.json", "--json", "c.json", "--html", "c.html")
    assert result.exit_code == 0, result.stderr
    assert "the same rows, compared row by row" in result.stdout
    with writing(folder):
        again = run("report", "c.json", "-o", "-")
    assert again.exit_code == 0, again.stderr
    assert "heat" in again.stdout
    assert again.stdout.lower().startswith("<!doctype html>")


@pytest.mark.subprocess
@pytest.mark.parametrize(("options", "code"), [([], 0), (["--method", "permutation", "--budget", "2000"], 3)])
def test_a_table_goes_to_stdout_and_whether_it_converged_to_the_exit_code(
    folder: Path, options: list[str], code: int
) -> None:
    with writing(folder):
        done = run_process(folder, "explain", *EXPLAIN, *options)
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith("SAGE values")
    assert ("not converged" in done.stderr) == (code == 3)


@pytest.mark.subprocess
def test_demo_writes_its_folder(folder: Path) -> None:
    with writing(folder, "clarysage-demo"):
        done = run_process(folder, "demo", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in (folder / "clarysage-demo").iterdir()} == {"sage.json", "sage.png", "report.html"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["explain", "plain:load", "nwo.csv"], 1, "Try 'now.csv'"),
        (["explain", "plain:load"], 2, "Missing argument 'DATA'"),
        (["measures", "plain:load", "now.csv", "--only", "saeg"], 2, "Try 'sage'"),
        (["compare", "a.json", "c.josn"], 1, "FILE: got c.josn, which does not exist"),
        (["compare", "a.json"], 2, "FILE: got 1 file"),
        (["monitor", "plain:load", "then.csv", "nwo.csv"], 1, "CURRENT: got nwo.csv"),
        (["report", "a.jsno"], 1, "FILE: got a.jsno"),
        (["report", "."], 1, "FILE: got ., which is not a readable file"),
        (["compare", ".", "a.json"], 1, "FILE: got ., which is not a readable file"),
        (["compare", "a.json", "b.json", "--config", f"{'long' * 80}.toml"], 2, "--config: got longlong"),
        (["doctor", "--json", "nowhere/d.json"], 1, "--json: got nowhere/d.json"),
        (["demo", "--folder", "then.csv"], 1, "--folder: got then.csv"),
        (["comapre"], 2, "No such command 'comapre'"),
    ],
)
def test_failure_is_one_line_and_writes_nothing(folder: Path, arguments: list[str], code: int, message: str) -> None:
    with writing(folder):
        assert message in error_of(*arguments, code=code)


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["explain", "plain:load", "nwo.csv"], 1, "Try 'now.csv'"),
        (["comapre"], 2, "No such command 'comapre'"),
    ],
)
def test_process_that_fails_prints_one_line(folder: Path, arguments: list[str], code: int, message: str) -> None:
    with writing(folder):
        done = run_process(folder, *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.subprocess
def test_progress_goes_to_the_terminal_while_json_goes_to_stdout(folder: Path) -> None:
    termios = pytest.importorskip("termios", reason="terminals can be made on Unix alone")
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    arguments = [sys.executable, "-m", "clarysage", "explain", *EXPLAIN, "--progress", "--json", "-"]
    with subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b"")).decode(errors="replace")
        printed, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0, shown
    assert json.loads(printed)["converged"]
    assert "explaining" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # nobody writes to it any more
        return b""

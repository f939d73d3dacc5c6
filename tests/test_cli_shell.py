"""Every command as a shell runs it: exit codes, JSON alone on stdout, the rest on stderr, and only files asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clarysage as cs

MODULE = """
def load(rows):
    print("chatter of the model")
    return 2 * rows["heat"] + rows["wind"]
"""
EXPLAIN = ["plain:load", "then.csv", "--target", "load", "--background", "train.csv"]
QUICK = ["--target", "load", "--background-rows", "16"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, a module and saved explanations; commands leave in it what they are asked for."""
    path, rng = tmp_path_factory.mktemp("shell"), np.random.default_rng(0)
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


def shell(folder: Path, *arguments: str, code: int, wrote: Collection[str] = (), **variables: str) -> Any:
    """A command, run in the folder; it exits and writes as it should. ``variables`` are of its environment."""
    before = {path.name for path in folder.iterdir()}
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    done = subprocess.run(
        [sys.executable, "-m", "clarysage", *arguments], cwd=folder, capture_output=True, encoding="utf-8",
        env=environment,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert {path.name for path in folder.iterdir()} - before == set(wrote)
    return done


@pytest.mark.parametrize(
    ("arguments", "code", "key"),
    [
        (["explain", *EXPLAIN], 0, "values"),
        (["measures", *EXPLAIN, "--only", "sage"], 0, "measures"),
        (["compare", "a.json", "b.json"], 0, "differences"),
        (["monitor", "plain:load", "then.csv", "broken.csv", *QUICK], 4, "flagged"),
        (["doctor"], 0, "needed"),
    ],
)
def test_json_on_stdout_parses_and_nothing_is_written(folder: Path, arguments: list[str], code: int, key: str) -> None:
    done = shell(folder, *arguments, "--json", "-", code=code)
    assert key in json.loads(done.stdout)
    assert ("chatter of the model" in done.stderr) == ("plain:load" in arguments)


@pytest.mark.parametrize(
    "arguments", [["compare", "greek.json", "greek.json", "--json"], ["report", "greek.json", "-o"]]
)
def test_data_on_stdout_keep_their_names_in_any_encoding(folder: Path, arguments: list[str]) -> None:
    name, file = "ύψος", folder / "greek.json"
    replace(cs.load(folder / "a.json"), feature_names=(name, "wind")).save(file)
    done = shell(folder, *arguments, "-", code=0, PYTHONIOENCODING="ascii")
    file.unlink()
    assert name in done.stdout


def test_files_that_are_asked_for_are_written(folder: Path) -> None:
    done = shell(
        folder, "explain", *EXPLAIN, "--json", "sage.json", "--plot", "sage.png", "--html", "sage.html", code=0,
        wrote={"sage.json", "sage.png", "sage.html"},
    )  # fmt: skip
    assert done.stdout.startswith("SAGE values")
    assert "note: wrote sage.html" in done.stderr
    shell(folder, "report", "sage.json", "-o", "page.html", code=0, wrote={"page.html"})
    assert "<html" in (folder / "page.html").read_text()


def test_comparison_page_is_written_and_made_again_of_the_file(folder: Path) -> None:
    files = ["--json", "c.json", "--html", "c.html"]
    done = shell(folder, "compare", "a.json", "b.json", *files, code=0, wrote={"c.json", "c.html"})
    assert "the same rows, one by one" in done.stdout
    again = shell(folder, "report", "c.json", "-o", "-", code=0).stdout
    assert "heat" in again
    assert again.lower().startswith("<!doctype html>")


def test_demo_writes_its_folder(folder: Path) -> None:
    done = shell(folder, "demo", "-q", code=0, wrote={"clarysage-demo"})
    assert {path.name for path in (folder / "clarysage-demo").iterdir()} == {"sage.json", "sage.png", "report.html"}
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["explain", "plain:load", "nwo.csv"], 1, "Try 'now.csv'"),
        (["explain", "plain:load"], 2, "Missing argument 'DATA'"),
        (["measures", "plain:load", "now.csv", "--only", "saeg"], 2, "Try 'sage'"),
        (["compare", "a.json", "c.josn"], 1, "FILE: got c.josn, which does not exist"),
        (["compare", "a.json"], 2, "FILE: got 1 file"),
        (["monitor", "plain:load", "then.csv", "nwo.csv"], 1, "CURRENT: got nwo.csv"),
        (["report", "a.jsno"], 1, "FILE: got a.jsno"),
        (["report", "."], 1, "FILE: got ., which is no file"),
        (["compare", ".", "a.json"], 1, "FILE: got ., which is no file"),
        (["compare", "a.json", "b.json", "--config", f"{'long' * 80}.toml"], 2, "--config: got longlong"),
        (["doctor", "--json", "nowhere/d.json"], 1, "--json: got nowhere/d.json"),
        (["demo", "--output", "then.csv"], 1, "--output: got then.csv"),
        (["comapre"], 2, "No such command 'comapre'"),
    ],
)
def test_failure_is_one_line_and_writes_nothing(folder: Path, arguments: list[str], code: int, said: str) -> None:
    done = shell(folder, *arguments, code=code)
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_progress_goes_to_the_terminal_while_json_goes_to_stdout(folder: Path) -> None:
    termios = pytest.importorskip("termios", reason="terminals can be made on Unix alone")
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    arguments = [sys.executable, "-m", "clarysage", "explain", *EXPLAIN, "--method", "permutation", "--json", "-"]
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

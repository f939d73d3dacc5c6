"""The tools of the laboratory can fail: they tell faults that tests notice from others, and changed bits from none."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import OTHER_LANES
from tests.lab.faults_in_src import FAULTS, Fault, problems
from tests.lab.mutations import (
    Checker,
    Results,
    ScratchTree,
    check_all,
    lanes_of,
    record_map,
    summary,
)

ROOT = Path(__file__).parent.parent
SOURCE = """
def total(a, b):
    return a + b

def double(a):
    return a * 2

def third(a):
    return a / 3

def nobody(a):
    return a
"""
TESTS = """
import pytest
from clarysage import sums

def test_total():
    assert sums.total(1, 2) == 3

def test_double_runs():
    sums.double(1)

@pytest.mark.statistical
def test_third():
    assert sums.third(6) == 2
"""
SETTINGS = (
    '[tool.pytest.ini_options]\nmarkers = ["statistical", "slow"]\naddopts = "-m \'not (statistical or slow)\'"\n'
)
PLANTED = (
    Fault("sign", "wrong sign", "sums.py", "a + b", "a - b"),
    Fault("factor", "wrong weight", "sums.py", "a * 2", "a * 3"),
    Fault("divisor", "wrong weight", "sums.py", "a / 3", "a / 4"),
    Fault("unused", "wrong sign", "sums.py", "return a\n", "return -a\n"),
)


def test_the_table_of_faults_fits_the_source_and_has_many_kinds() -> None:
    assert problems(ROOT) == []
    assert len(FAULTS) >= 60
    assert len(Counter(fault.kind for fault in FAULTS)) >= 20
    assert {fault.room for fault in FAULTS} >= {"inference", "estimators", "games", "losses", "removal", "cli"}


def test_a_fault_that_does_not_fit_is_named() -> None:
    stale = Fault("stale", "wrong sign", "inference/estimate.py", "no such text anywhere in the source", "-")
    unparsable = Fault(
        "unparsable", "wrong sign", "errors.py", "class ClarysageWarning", "class class ClarysageWarning"
    )
    same = Fault("same", "wrong sign", "errors.py", "class ClarysageWarning", "class ClarysageWarning")
    complaints = problems(ROOT, (stale, unparsable, same, same))
    assert [complaint.partition(":")[0] for complaint in complaints] == ["same", "stale", "unparsable", "same", "same"]


def made_repository(folder: Path) -> Path:
    """A repository of one module, two tests of the fast lane and a statistical one."""
    files = {
        "pyproject.toml": SETTINGS,
        "src/clarysage/__init__.py": "",
        "src/clarysage/sums.py": SOURCE,
        "tests/test_sums.py": TESTS,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def test_lanes_are_the_same_wherever_they_are_named() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    registered = [re.split(r"[:(]", marker)[0] for marker in settings["markers"]]
    left_out = re.search(r"-m 'not \((.*?)\)'", settings["addopts"])
    assert left_out is not None
    assert set(left_out[1].split(" or ")) == set(OTHER_LANES) == {*registered} - {"needs"}


LANES = """
import subprocess, sys
import pytest

@pytest.fixture
def started():
    subprocess.run([sys.executable, "-c", ""])

def test_starts():
    subprocess.run([sys.executable, "-c", ""])

def test_starts_by_a_fixture(started): ...

@pytest.mark.subprocess
def test_may_start(started): ...

@pytest.mark.needs("no_such_library")
def test_needs(): ...

def test_plain(): ...
"""


@pytest.mark.subprocess
def test_rules_of_the_lanes_are_kept(tmp_path: Path) -> None:
    (tmp_path / "test_lanes.py").write_text(LANES)
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "conftest", "-p", "no:cacheprovider", "test_lanes.py"]

    def outcome(*options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "CLARYSAGE_REQUIRE_ALL": "", "PYTHONPATH": str(ROOT), **variables}
        return subprocess.run([*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True)

    done = outcome()
    assert "2 failed, 2 passed, 1 skipped" in done.stdout
    assert done.stdout.count("mark it as one of statistical, cluster") >= 2
    assert "     1  no_such_library is not installed" in done.stdout
    sound = ["-k", "plain or needs"]
    assert outcome(*sound).returncode == 0
    assert outcome(*sound, CLARYSAGE_REQUIRE_ALL="1").returncode == 0  # the test runs, and needs nothing in truth
    (tmp_path / "test_lanes.py").write_text("import pytest\n\ndef test():\n    pytest.skip('by hand')\n")
    assert outcome().returncode == 0
    assert outcome(CLARYSAGE_REQUIRE_ALL="1").returncode == 1


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a script of the folder benchmarks by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def test_numbers_of_a_result_are_told_by_their_bits(benchmark: Callable[[str], Any]) -> None:
    same_bits = benchmark("same_bits")
    assert doctest.testmod(same_bits).failed == 0
    runs = [
        same_bits.Run({"case": {"fields": same_bits.flatten({"values": [0.1, value]})}}, "")
        for value in (0.3, 0.1 + 0.2)
    ]
    assert same_bits.judged(runs[0], runs[0], "case") == ("same", "same")
    assert same_bits.judged(*runs, "case")[0] == "differ"


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        ("MissingLibraryError: trees need xgboost", "skipped"),
        ("TypeError: sage() got an unexpected keyword argument 'sede'", "failed in work tree"),
    ],
)
def test_a_case_that_fails_in_both_trees_is_a_failure_unless_a_library_is_missing(
    benchmark: Callable[[str], Any], error: str, verdict: str
) -> None:
    same_bits = benchmark("same_bits")
    run = same_bits.Run({"case": {"error": error}}, "")
    assert same_bits.judged(run, run, "case")[0] == verdict
    ended = same_bits.Run({}, "the process ended with exit code 9")
    assert same_bits.judged(ended, ended, "case")[0] == "failed in work tree"


@pytest.mark.subprocess
@pytest.mark.needs("pytest_cov")
def test_each_fault_is_killed_by_the_lane_whose_test_notices_it(tmp_path: Path) -> None:
    repository, cache = made_repository(tmp_path / "repository"), tmp_path / "cache"
    known = record_map(repository, cache, "", [], jobs=1)
    trees = [ScratchTree.of_work_tree(repository, tmp_path / "copy")]
    results = Results(cache / "results.json", resume=False)
    lane_of = lanes_of(trees[0], trees[0].environment())
    check_all(PLANTED, Checker(known, lane_of, most=10, limit=60.0), trees, results)
    outcomes: dict[str, Any] = {name: outcome.verdict for name, outcome in results.outcomes.items()}
    assert outcomes == {"sign": "fast", "factor": "survived", "divisor": "all", "unused": "survived"}
    assert results.outcomes["sign"].killer.endswith("test_total")
    assert results.outcomes["unused"].remark == "no test of the map executes it"
    line, is_well = summary(list(results.outcomes.values()))
    assert not is_well
    assert line.endswith("2 survived: factor, unused")


@pytest.mark.subprocess
@pytest.mark.parametrize(("change", "code", "shown"), [("", 0, "0 differ"), (" * (1 + 1e-15)", 1, "1 differ")])
def test_a_last_bit_that_changed_is_told_from_none(tmp_path: Path, change: str, code: int, shown: str) -> None:
    tree = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(tree)], check=True)
    script = ROOT / "benchmarks" / "same_bits.py"
    (tree / "benchmarks" / "same_bits.py").write_bytes(script.read_bytes())
    path, line = (
        tree / "src" / "clarysage" / "games" / "tabular.py",
        "return np.asarray(self.payoffs[examples, codes(coalitions)][:, None]",
    )
    text = path.read_text()
    assert text.count(line) == 1
    path.write_text(text.replace(line, f"{line}{change}"))
    command = [sys.executable, "benchmarks/same_bits.py", "--base", "HEAD", "--only", "a game given as a table"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert shown in done.stdout

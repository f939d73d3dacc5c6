"""The tools of the laboratory can fail: they tell faults that tests notice from others, and changed bits from none."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.lab.faults_in_src import FAULTS, Fault, problems
from tests.lab.mutations import Checker, Results, ScratchTree, check_all, lanes_of, record_map, summary

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
    stale = Fault("stale", "wrong sign", "estimate.py", "no such text anywhere in the source", "-")
    unparsable = Fault(
        "unparsable", "wrong sign", "errors.py", "class ClarysageWarning", "class class ClarysageWarning"
    )
    same = Fault("same", "wrong sign", "errors.py", "class ClarysageWarning", "class ClarysageWarning")
    complaints = problems(ROOT, (stale, unparsable, same, same))
    assert [complaint.partition(":")[0] for complaint in complaints] == ["same", "stale", "unparsable", "same", "same"]


def made_repository(folder: Path) -> Path:
    """A repository of one module, two tests of the fast lane and a statistical one."""
    files = {"pyproject.toml": SETTINGS, "src/clarysage/__init__.py": "", "src/clarysage/sums.py": SOURCE,
             "tests/test_sums.py": TESTS}  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


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

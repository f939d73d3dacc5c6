"""``clarysage merge``: the same merge as in Python, one line for every error, in the words of the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from tests.cli_harness import error_of, printed_json, run

FEATURES = ["heat", "wind", "hour"]


def explained(seed: int, **options: Any) -> cs.Explanation:
    """The same model on the same rows, with a seed."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=FEATURES)
    y = X["heat"] * X["wind"] + X["hour"]
    chosen = {"background": X[:16], "loss": "squared error", "method": "paired walks", "budget": 5000, **options}

    def model(rows: Any) -> np.ndarray:
        cells = np.asarray(rows)
        return np.asarray(cells[:, 0] * cells[:, 1] + cells[:, 2])

    found: cs.Explanation = cs.sage(model, X, y, rng=seed, **chosen)
    return found


RUNS = [explained(seed) for seed in (1, 2, 3)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of saved runs, which is the current one."""
    for seed, one in enumerate(RUNS, start=1):
        one.save(tmp_path / f"{seed}.json", rows=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_merge_is_that_of_python(folder: Path) -> None:
    merged = printed_json("merge", "1.json", "2.json", "3.json", "--tolerance", "0.5")
    assert merged == cs.merge(RUNS, tolerance=0.5).to_dict()


def test_the_table_is_that_of_python_and_the_exit_code_says_whether_it_converged(folder: Path) -> None:
    result = run("merge", "1.json", "2.json", "--tolerance", "0.0001")
    merged = cs.merge(RUNS[:2], tolerance=0.0001)
    assert result.exit_code == 3
    assert result.stdout == f"{merged}\n"
    assert "not converged. Stopped at the budget" in result.stderr
    assert run("merge", "1.json", "2.json", "--tolerance", "0.5").exit_code == 0


def test_files_are_written_and_can_be_merged_again(folder: Path) -> None:
    files = ["--json", "both.json", "--html", "both.html", "--plot", "both.png"]
    result = run("merge", "1.json", "2.json", "--tolerance", "0.5", "--rows", *files)
    assert result.exit_code == 0, result.stderr
    assert "Merged from 2 runs" in (folder / "both.html").read_text(encoding="utf-8")
    assert (folder / "both.png").read_bytes().startswith(b"\x89PNG")
    assert cs.load(folder / "both.json").parts is not None
    again = printed_json("merge", "both.json", "3.json", "--tolerance", "0.5")
    assert again["provenance"]["seed"] == [1, 2, 3]
    assert "the same seed 2, and so the same draws, in numbers 1 and 2" in error_of("merge", "both.json", "2.json")


def test_intervals_are_about_what_is_asked_for(folder: Path) -> None:
    result = run("merge", "1.json", "2.json", "--about", "data", "--tests", "--tolerance", "0.5")
    assert "Intervals are about this data" in result.stdout
    assert "p helps" in result.stdout


def test_what_cannot_be_merged_is_one_line_in_the_words_of_the_command(folder: Path) -> None:
    assert "Try leaving out number 2, or another --seed" in error_of("merge", "1.json", "1.json")
    other = {**RUNS[1].provenance, "fingerprints": {**RUNS[1].provenance["fingerprints"], "background": "another"}}
    replace(RUNS[1], provenance=other).save("other.json")
    said = error_of("merge", "1.json", "other.json")
    assert "FILE: got a different background in number 2 than in number 1" in said
    assert "Try --background with the same rows in every run" in said
    explained(4, method="permutation").save("permutation.json")
    assert "Try the same --method in every run" in error_of("merge", "1.json", "permutation.json")


def test_files_that_are_no_explanations_are_refused(folder: Path) -> None:
    cs.compare(RUNS[0], RUNS[1]).save("comparison.json")
    assert "which contains Comparison; wanted an explanation" in error_of("merge", "1.json", "comparison.json")
    assert "absent.json" in error_of("merge", "1.json", "absent.json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1.json"], "FILE: got 1 file; wanted two or more to merge"),
        ([], "FILE: got 0 files"),
        (["1.json", "2.json", "--tolerance", "2"], "--tolerance: got 2.0"),
        (["1.json", "2.json", "--rows"], "--rows: got no --json"),
        (["1.json", "2.json", "--about", "moon"], "--about: got 'moon'"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_read(folder: Path, arguments: list[str], said: str) -> None:
    assert said in error_of("merge", *arguments, code=2)


def test_files_may_stand_in_a_configuration(folder: Path) -> None:
    (folder / "merge.toml").write_text('files = ["1.json", "2.json"]\ntolerance = 0.5\n')
    assert printed_json("merge", "--config", "merge.toml")["provenance"]["seed"] == [1, 2]

"""``clarysage compare``: the same differences as in Python, rows paired where they can be, one line for every error."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from tests.cli_harness import enter, error_of, printed_json, run

FEATURES = ["heat", "wind", "hour"]


def explained(weights: list[float], *, loss: str = "squared error", **changes: Any) -> cs.Explanation:
    """A linear function on the same rows as every other."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=FEATURES)
    y = X @ np.array([2.0, 1.0, 0.0]) + rng.normal(size=60) / 4
    found = cs.sage(
        lambda rows: np.asarray(rows) @ np.array(weights),
        X,
        y,
        background=X[:16],
        loss=loss,
        method="paired walks",
        rng=0,
    )
    return replace(found, **changes)


BEFORE, AFTER, OTHER = explained([2.0, 1.0, 0.0]), explained([2.0, 0.0, 0.0]), explained([1.0, 1.0, 0.0])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of saved explanations, which is the current one."""
    for name, one in (("before", BEFORE), ("after", AFTER), ("other", OTHER)):
        one.save(tmp_path / f"{name}.json", rows=True)
        one.save(tmp_path / f"{name}-lean.json", rows=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compare(*arguments: str, code: int = 0) -> dict[str, Any]:
    """The comparison of a run, from the JSON on its stdout."""
    return printed_json("compare", *arguments, code=code)


def test_differences_are_those_of_python(folder: Path) -> None:
    found = compare("before.json", "after.json")
    assert found == cs.compare(BEFORE, AFTER, names=["before", "after"]).to_dict()
    assert found["changed"] == ["wind"]


def test_table_is_that_of_python_and_says_that_rows_were_paired(folder: Path) -> None:
    result = run("compare", "before.json", "after.json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{cs.compare(BEFORE, AFTER, names=['before', 'after'])}\n"
    assert "the same rows, compared row by row" in result.stdout


def test_files_without_rows_are_not_paired_and_the_table_says_how_they_could_be(folder: Path) -> None:
    result = run("compare", "before-lean.json", "after-lean.json")
    assert result.exit_code == 0
    assert "treated as independent samples of rows" in result.stdout
    assert "explain --json FILE --rows" in result.stdout
    assert "save(path" not in result.stdout


def test_rows_are_paired_or_not_as_asked(folder: Path) -> None:
    paired, apart = (
        compare("before.json", "after.json", flag)["differences"][0] for flag in ("--paired", "--unpaired")
    )
    assert (paired["is_paired"], apart["is_paired"]) == (True, False)
    assert paired["target"]["std_error"][0] < apart["target"]["std_error"][0]
    said = error_of("compare", "before.json", "after-lean.json", "--paired")
    assert "--paired: got --paired, where after-lean did not keep the contributions of single rows" in said
    assert "Try explain --json FILE --rows" in said


def test_all_others_are_compared_with_the_first(folder: Path) -> None:
    found = compare("before.json", "after.json", "other.json", "--adjust", "Benjamini-Hochberg", "--level", "0.9")
    expected = cs.compare({"before": BEFORE, "after": AFTER, "other": OTHER}, adjust="benjamini hochberg", level=0.9)
    assert found == expected.to_dict()


def test_p_values_alone_on_request(folder: Path) -> None:
    assert compare("before.json", "after.json", "--adjust", "none")["adjust"] is None


def test_names_are_those_of_the_files_or_as_asked(folder: Path) -> None:
    (folder / "june").mkdir()
    AFTER.save(folder / "june" / "before.json", rows=True)
    assert compare("before.json", "june/before.json")["names"] == ["before", "june/before"]
    assert compare("before.json", "before.json")["names"] == ["before", "before (2)"]
    assert compare("before.json", "after.json", "--names", "May, June")["names"] == ["May", "June"]


def test_files_are_written_and_nothing_else(folder: Path) -> None:
    before = set(folder.iterdir())
    result = run("compare", "before.json", "after.json", "--json", "c.json", "--plot", "c.svg")
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in set(folder.iterdir()) - before} == {"c.json", "c.svg"}
    assert cs.load("c.json").to_dict() == cs.compare(BEFORE, AFTER, names=["before", "after"]).to_dict()
    assert "<svg" in (folder / "c.svg").read_text()
    assert result.stderr == "note: wrote c.json\nnote: wrote c.svg\n"


def test_unconverged_explanation_is_said_and_exits_with_3(folder: Path) -> None:
    replace(AFTER, stopped=cs.StopReason.BUDGET).save("cut.json", rows=True)
    result = run("compare", "before.json", "cut.json", "--json", "c.json")
    assert result.exit_code == 3
    assert "NOT CONVERGED: cut" in result.stdout
    assert "note: not converged: cut. Stopped at the budget" in result.stderr
    assert (folder / "c.json").exists()
    assert run("compare", "before.json", "cut.json", "-q").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "FILE: got 0 files; wanted two or more"),
        (["before.json"], "FILE: got 1 file; wanted two or more"),
        (["before.json", "after.json", "--adjust", "hlom"], "--adjust: got 'hlom'; wanted one of 'holm'"),
        (["before.json", "after.json", "--adjust", "hlom"], "Try 'holm'."),
        (["before.json", "after.json", "--level", "95"], "--level: got 95; wanted a number between 0 and 1"),
        (["before.json", "after.json", "--level", "nan"], "--level: got nan"),
        (["before.json", "after.json", "--names", "a"], "--names: got 'a'; wanted 2 distinct names"),
        (["before.json", "after.json", "--names", "a,a"], "Try --names before,after."),
        (["before.json", "after.json", "--nope"], "No such option: --nope"),
    ],
)
def test_wrong_option_is_one_line_and_exit_code_2(folder: Path, arguments: list[str], said: str) -> None:
    assert said in error_of("compare", *arguments, code=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["before.json", "aftre.json"], "FILE: got aftre.json, which does not exist; wanted a file. Try 'after.json'"),
        (["before.json", "text.json"], "FILE: got text.json, which is not JSON"),
        (["before.json", "empty.json"], "empty.json: format: got 'no such field'"),
        (["before.json", "comparison.json"], "FILE: got comparison.json, which contains Comparison; wanted an explan"),
        (["before.json", "loss.json"], "FILE: got 'squared error' in before and 'absolute error' in loss"),
        (
            ["before.json", "names.json"],
            "which names has; wanted the same features in both. Try groups of the features",
        ),
        (["before.json", "after.json", "--json", "before.json"], "--json: got before.json, which is an input"),
        (["before.json", "after.json", "--plot", "c.doc"], "Try c.png."),
        (["before.json", "after.json", "--html", "nowhere/c.html"], "--html: got nowhere/c.html, in a folder that"),
        (["before.json", "after.json", "--html", "-"], "--html: got -; wanted a file name"),
    ],
)
def test_error_is_one_line(folder: Path, arguments: list[str], said: str) -> None:
    (folder / "text.json").write_text("values: 3")
    (folder / "empty.json").write_text("{}")
    cs.compare(BEFORE, AFTER).save("comparison.json")
    replace(AFTER, loss="absolute error").save("loss.json")
    replace(AFTER, feature_names=("cold", "wind", "hour")).save("names.json")
    listing = sorted(folder.iterdir())
    assert said in error_of("compare", *arguments)
    assert sorted(folder.iterdir()) == listing


def test_debug_shows_the_traceback(folder: Path) -> None:
    result = run("compare", "before.json", "nope.json", "--debug")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


# what explain writes for it


def explain(*arguments: str) -> Any:
    return run("explain", "plain:model", "rows.csv", "--target", "y", *arguments)


@pytest.fixture
def rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A function and rows to explain it on, too."""
    enter(folder, monkeypatch)
    (folder / "plain.py").write_text("def model(rows):\n    return 2 * rows['heat']\n")
    X = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 2)).round(6), columns=["heat", "wind"])
    X.assign(y=2 * X["heat"]).to_csv(folder / "rows.csv", index=False)
    return folder


def test_explain_writes_what_rows_contribute_if_asked(rows: Path) -> None:
    assert explain("--json", "lean.json", "--no-rows").exit_code == 0
    assert cs.load("lean.json").parts is None
    assert "parts" not in json.loads(explain("--json", "-").stdout)
    assert explain("--json", "small.json").exit_code == 0
    assert cs.load("small.json").parts is not None
    result = explain("--json", "whole.json", "--rows")
    assert result.exit_code == 0, result.stderr
    whole = cs.load("whole.json")
    assert whole.parts.shape == (40, 2)
    np.testing.assert_allclose(whole.parts.sum(axis=0), whole.values, atol=4 * whole.std_error.max() + 1e-12)
    printed = json.loads(explain("--json", "-", "--rows").stdout)
    assert printed == json.loads((rows / "whole.json").read_text())
    assert compare("whole.json", "whole.json")["differences"][0]["is_paired"]


def test_explain_says_where_a_file_leaves_rows_out(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarysage.results.files.MOST_NUMBERS", 10)
    result = explain("--json", "large.json")
    assert result.exit_code == 0
    assert "is without the contributions of single rows" in result.stderr
    assert "explain --json FILE --rows" in result.stderr
    assert cs.load("large.json").parts is None


def test_explain_says_where_it_does_not_know_what_rows_contribute(rows: Path) -> None:
    result = explain("--json", "s.json", "--rows", "--method", "kernel")
    assert result.exit_code == 0
    assert "note: --rows: contributions of single rows are not known" in result.stderr
    assert cs.load("s.json").parts is None


def test_rows_without_a_file_are_refused(rows: Path) -> None:
    result = explain("--rows")
    assert result.exit_code == 2
    assert "error: --rows: got no --json" in result.stderr

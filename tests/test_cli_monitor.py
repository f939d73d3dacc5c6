"""``clarysage monitor``: the findings of Python, exit code 4 where something is flagged, one line for every error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import clarysage as cs
from tests.cli_harness import enter, error_of, printed_json, run

FEATURES = ["heat", "wind", "hour"]
MODULE = """
def load(rows):
    return 2 * rows["heat"] + rows["wind"]

def product(rows):
    return rows["heat"] * rows["wind"] + rows["hour"]

def failing(rows):
    raise RuntimeError("out of memory")
"""


def make_table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 3)).round(6), columns=FEATURES)
    table["load"] = (2 * table["heat"] + table["wind"] + rng.normal(size=n) / 4).round(6)
    return table


def load(rows: Any) -> Any:
    return 2 * rows["heat"] + rows["wind"]


THEN, NOW = make_table(120, 1), make_table(120, 2)
BROKEN = NOW.assign(wind=lambda table: 60 * table["wind"])
BATCHES = pd.concat([NOW.assign(batch="a"), BROKEN.assign(batch="b")], ignore_index=True)
QUICK = ["--target", "load", "--background-rows", "16"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tables and a module, which is the current one."""
    tables = {"then": THEN, "now": NOW, "broken": BROKEN, "batches": BATCHES, "train": make_table(20, 3)}
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "plain.py").write_text(MODULE)
    enter(tmp_path, monkeypatch)
    return tmp_path


def monitor(*arguments: str, code: int) -> dict[str, Any]:
    """The findings of a run, from the JSON on its stdout."""
    return printed_json("monitor", "plain:load", *arguments, code=code)


def expected(current: pd.DataFrame, **options: Any) -> dict[str, Any]:
    settings = {"background_rows": 16, "rng": 0, **options}
    return cs.monitor(cs.as_predictor(load), THEN, current, target="load", **settings).to_dict()


def test_findings_are_those_of_python_and_exit_code_4_says_that_there_are_any(folder: Path) -> None:
    found = monitor("then.csv", "broken.csv", *QUICK, code=4)
    assert found == expected(BROKEN)
    assert found["flagged"] == ["wind"]


def test_rows_and_batches_are_limited_as_in_python(folder: Path) -> None:
    limits = ["--max-rows", "60", "--batch-size", "64", "--memory-limit", "1e8"]
    found = monitor("then.csv", "broken.csv", *QUICK, *limits, code=4)
    assert found == expected(BROKEN, max_rows=60, batch_size=64, memory_limit=1e8)
    assert [one["provenance"]["examples"] for one in found["comparison"]["explanations"]] == [60, 60]


@pytest.mark.parametrize("by", [[], ["--by", "batch"]])
def test_the_page_is_that_of_the_json_and_is_written_where_something_is_flagged(folder: Path, by: list[str]) -> None:
    current = "batches.csv" if by else "broken.csv"
    files = ["--json", "found.json", "--html", "page.html"]
    result = run("monitor", "plain:load", "then.csv", current, *QUICK, *by, *files)
    assert result.exit_code == 4, result.stderr
    assert result.stderr == "note: wrote found.json\nnote: wrote page.html\nnote: flagged: wind.\n"
    assert (folder / "page.html").read_text(encoding="utf-8") == cs.load(folder / "found.json").report()


def test_inputs_that_surely_shifted_in_a_small_slice_are_exit_code_4(folder: Path) -> None:
    """Thirty rows do not show in the loss that a column is 1/100 of what it was; nor do those of a useless column."""
    slices = pd.concat([NOW.assign(batch="a"), make_table(30, 5).assign(batch="b")], ignore_index=True)
    slices.loc[slices["batch"] == "b", "hour"] /= 100
    slices.to_csv("slices.csv", index=False)
    nearly = "\ndef nearly(rows):\n    return load(rows) + 0.01 * rows['hour']\n"
    (folder / "plain.py").write_text(MODULE + nearly)
    result = run("monitor", "plain:nearly", "then.csv", "slices.csv", *QUICK, "--by", "batch")
    assert result.exit_code == 4, result.output
    assert result.stderr == "note: flagged: hour.\n"
    assert "That is certain, and an alarm of its own" in result.stdout


def test_nothing_flagged_is_exit_code_0(folder: Path) -> None:
    assert monitor("then.csv", "now.csv", *QUICK, code=0)["flagged"] == []


def test_flagged_features_are_said_on_stderr_and_the_table_is_that_of_python(folder: Path) -> None:
    result = run("monitor", "plain:load", "then.csv", "broken.csv", *QUICK)
    assert result.exit_code == 4
    assert result.stderr == "note: flagged: wind.\n"
    table = cs.monitor(cs.as_predictor(load), THEN, BROKEN, target="load", background_rows=16, rng=0).table()
    assert result.stdout == f"{table}\n"
    assert run("monitor", "plain:load", "then.csv", "broken.csv", *QUICK, "-q").stderr == ""


def test_nothing_flagged_but_not_converged_is_exit_code_3(folder: Path) -> None:
    few = ["--method", "paired walks", "--tolerance", "1e-6", "--budget", "9e3"]
    result = run("monitor", "plain:product", "then.csv", "now.csv", *QUICK, *few, "--json", "m.json")
    assert result.exit_code == 3, result.output
    assert "note: not converged: reference. Stopped at the budget" in result.stderr
    assert (folder / "m.json").exists()


@pytest.mark.filterwarnings("default")
def test_nothing_flagged_but_a_slice_left_out_is_exit_code_3(folder: Path) -> None:
    days = NOW.assign(batch=["a"] * 60 + ["b"] * 60)
    days.loc[100, "load"] = None
    days.to_csv("days.csv", index=False)
    result = run("monitor", "plain:load", "then.csv", "days.csv", *QUICK, "--by", "batch", "--json", "m.json")
    assert result.exit_code == 3, result.output
    assert "The slice 'b' is left out, since it cannot be explained: --target: got 1 missing" in result.stderr
    assert "note: left out: b.\n" in result.stderr
    assert list(json.loads((folder / "m.json").read_text())["left_out"]) == ["b"]


def test_background_reaches_both_sides(folder: Path) -> None:
    found = monitor("then.csv", "broken.csv", "--target", "load", "--background", "train.csv", code=4)
    background = pd.read_csv(folder / "train.csv")[FEATURES]
    assert found == expected(BROKEN, background=background, background_rows=None)


def test_options_of_tests_reach_the_library(folder: Path) -> None:
    options = ["--adjust", "none", "--level", "0.9", "--unpaired", "--seed", "3", "--tolerance", "0.05"]
    found = monitor("then.csv", "broken.csv", *QUICK, *options, code=4)
    assert found == expected(BROKEN, adjust=None, level=0.9, paired=False, rng=3, tolerance=0.05)


def test_same_rows_can_be_paired(folder: Path) -> None:
    THEN.assign(wind=lambda table: 60 * table["wind"]).to_csv("trial.csv", index=False)
    found = monitor("then.csv", "trial.csv", *QUICK, "--paired", code=4)
    assert found == expected(THEN.assign(wind=lambda table: 60 * table["wind"]), paired=True)


def test_slices_by_a_column_that_is_no_feature(folder: Path) -> None:
    found = monitor("then.csv", "batches.csv", *QUICK, "--by", "batch", code=4)
    assert found == expected(BATCHES, by="batch")
    assert found["flagged"] == ["wind"]


def test_column_of_slices_may_be_in_the_reference_too(folder: Path) -> None:
    THEN.assign(batch="z").to_csv("then.csv", index=False)
    assert monitor("then.csv", "batches.csv", *QUICK, "--by", "batch", code=4) == expected(BATCHES, by="batch")


def test_slices_of_dates_and_of_so_many_rows(folder: Path) -> None:
    days = pd.date_range("2024-01-01", periods=240, freq="6h").strftime("%Y-%m-%d")
    BATCHES.drop(columns="batch").assign(day=days).to_csv("dated.csv", index=False)
    found = monitor("then.csv", "dated.csv", *QUICK, "--by", "day", "--every", "month", code=4)
    assert found["comparison"]["names"] == ["reference", "2024-01", "2024-02"]
    found = monitor("then.csv", "now.csv", *QUICK, "--every", "60", code=0)
    assert found["comparison"]["names"] == ["reference", "rows 1 to 60", "rows 61 to 120"]


def test_without_target_outputs_are_compared(folder: Path) -> None:
    result = run("monitor", "plain:load", "then.csv", "broken.csv", "--drop", "load", "--background-rows", "16")
    assert result.exit_code == 4
    assert "note: no --target was given, so these are Shapley effects" in result.stderr


def test_model_that_knows_its_columns_needs_no_drop(folder: Path) -> None:
    model = LinearRegression().fit(THEN[FEATURES], THEN["load"])
    joblib.dump(model, "m.joblib")
    BROKEN.assign(id=range(len(BROKEN)))[["id", "load", "hour", "wind", "heat"]].to_csv("mixed.csv", index=False)
    arguments = ["m.joblib", "then.csv", "mixed.csv", *QUICK, "--allow-pickle"]
    assert printed_json("monitor", *arguments, code=4)["flagged"] == ["wind"]


def test_files_are_written_and_nothing_else(folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    result = run("monitor", "plain:load", "then.csv", "broken.csv", *QUICK, "--json", "m.json", "--plot", "m.svg")
    assert result.exit_code == 4, result.stderr
    assert {path.name for path in folder.iterdir()} - before == {"m.json", "m.svg"}
    assert cs.load("m.json").flagged == ["wind"]
    assert "<svg" in (folder / "m.svg").read_text()


def test_configuration_is_read(folder: Path) -> None:
    (folder / "m.toml").write_text(
        '[monitor]\nmodel = "plain:load"\nreference = "then.csv"\ncurrent = "broken.csv"\ntarget = "load"\n'
        'background-rows = 16\nadjust = "none"\n'
    )
    assert printed_json("monitor", "--config", "m.toml", "--adjust", "holm", code=4) == expected(BROKEN)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plain:load", "then.csv", "nwo.csv"], "CURRENT: got nwo.csv, which does not exist; wanted a file. Try 'now"),
        (["plain:load", "tehn.csv", "now.csv"], "REFERENCE: got tehn.csv, which does not exist"),
        (["plain:load", "then.csv", "plain.py"], "CURRENT: got 'plain.py'; wanted a file that ends in"),
        (
            ["plain:load", "then.csv", "now.csv", "--target", "laod"],
            "--target: got 'laod', which is not a column of the",
        ),
        (["plain:load", "then.csv", "now.csv", *QUICK, "--by", "bacth"], "--by: got 'bacth', which is not a column of"),
        (["plain:load", "then.csv", "lacking.csv", *QUICK], "CURRENT: got lacking.csv without the column 'heat'"),
        (
            ["plain:load", "then.csv", "unlabelled.csv", *QUICK],
            "--target: got 'load', which is not a column of unl",
        ),
        (["plain:failing", "then.csv", "now.csv", *QUICK], "MODEL: got RuntimeError from failing: out of memory"),
        (["plain:load", "then.csv", "now.csv", *QUICK, "--json", "now.csv"], "--json: got now.csv, which is an input"),
        (["plain:load", "then.csv", "now.csv", *QUICK, "--every", "5"], "--every: got 5 rows; wanted 20 rows or more"),
    ],
)
def test_error_is_one_line(folder: Path, arguments: list[str], said: str) -> None:
    NOW.drop(columns="heat").to_csv("lacking.csv", index=False)
    NOW.drop(columns="load").to_csv("unlabelled.csv", index=False)
    assert said in error_of("monitor", *arguments)


def test_what_to_do_without_responses_is_said_and_right(folder: Path) -> None:
    NOW.drop(columns="load").to_csv("unlabelled.csv", index=False)
    said = error_of("monitor", "plain:load", "then.csv", "unlabelled.csv", *QUICK)
    assert "wanted a table that has it. Try no --target but --drop load if it is not known yet" in said
    found = monitor("then.csv", "unlabelled.csv", "--drop", "load", code=0)
    assert found["comparison"]["explanations"][0]["measure"] == "shapley effects"
    assert [shift["column"] for shift in found["shifts"][0]] == FEATURES


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plain:load", "then.csv"], "Missing argument 'CURRENT'"),
        (["plain:load", "then.csv", "now.csv", "--every", "weak"], "Try 'week'."),
        (["plain:load", "then.csv", "now.csv", "--every", "week"], "--every: got 'week' without --by"),
        (["plain:load", "then.csv", "now.csv", "--adjust", "hlom"], "--adjust: got 'hlom'"),
        (["plain:load", "then.csv", "now.csv", "--level", "2"], "--level: got 2"),
        (["plain:load", "then.csv", "now.csv", "--loss", "brier"], "--loss: got 'brier' without --target"),
    ],
)
def test_wrong_option_is_one_line_and_exit_code_2(folder: Path, arguments: list[str], said: str) -> None:
    assert said in error_of("monitor", *arguments, code=2)


TELLING = """
import logging

def load(rows):
    logging.getLogger("clarysage").warning("clarysage: compiling")
    return 2 * rows["heat"]
"""


@pytest.mark.parametrize("is_quiet", [True, False])
def test_what_the_library_logs_is_a_note_that_quiet_silences(
    is_quiet: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "telling.py").write_text(TELLING)
    enter(folder, monkeypatch, "telling")
    result = run("monitor", "telling:load", "then.csv", "now.csv", *QUICK, *(["-q"] if is_quiet else []))
    assert ("note: compiling.\n" in result.stderr) is not is_quiet
    assert not is_quiet or result.stderr == ""

"""Options of all commands: the same name means the same everywhere; notes fit the terminal; files may differ."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

import clarysage as cs
from clarysage._measures.options import DEFAULTS
from clarysage.cli import console
from clarysage.cli.app import app
from clarysage.render.terminal import text
from tests.cli_harness import enter, error_of, printed_json, run
from tests.made_up import made_up

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
PAGES = ("explain", "measures", "compare", "merge", "monitor", "report")  # commands that write a page


def options() -> list[tuple[str, str, Any]]:
    """Every option: its command, one of its names, and the option."""
    return [
        (command, name, parameter)
        for command, described in COMMANDS.items()
        for parameter in described.params
        if parameter.param_type_name == "option"
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]


def test_an_option_has_the_same_short_name_and_placeholder_in_every_command():
    meanings: dict[str, dict[Any, list[str]]] = {}
    for command, name, option in options():
        meaning = (tuple(sorted(option.opts)), option.metavar, option.multiple, option.is_flag)
        meanings.setdefault(name, {}).setdefault(meaning, []).append(command)
    differing = {name: uses for name, uses in meanings.items() if len(uses) > 1}
    assert differing == {}


def test_pages_are_written_by_html_and_its_short_name_in_every_command():
    for command in PAGES:
        (html,) = (option for of, name, option in options() if (of, name) == (command, "--html"))
        assert sorted(html.opts) == ["--html", "-o"]
        assert html.metavar == "FILE"
    assert {command for command, name, _ in options() if name == "-o"} == set(PAGES)


def test_tables_of_features_have_a_top_in_every_command_that_prints_one():
    assert {command for command, name, _ in options() if name == "--top"} == set(PAGES) - {"report"}


def test_the_short_name_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 0), ("b", 1)):
        made_up(4, seed).save(f"{name}.json")
    assert run("compare", "a.json", "b.json", "-o", "compared.html").exit_code == 0
    assert run("report", "a.json", "-o", "a.html").exit_code == 0
    assert run("report", "b.json").exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["a.html", "b.html", "compared.html"]


# notes fit the terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [40, 100])
def test_notes_and_errors_are_wrapped_at_the_width_of_a_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    note = "Background: all 160 rows of X, since none was given, and --background takes others. " * 3
    console.note_printer(quiet=False)(note)
    console.print_error(f"DATA: got {'x' * 120}, which has no end")
    lines = shown.getvalue().splitlines()
    assert max(len(line) for line in lines if "x" * 120 not in line) <= columns
    assert " ".join(shown.getvalue().split()).startswith(f"note: {note.strip()}")
    assert f"{'x' * 120}," in shown.getvalue()  # to be copied, names of files and commands stay whole


def test_notes_are_lines_of_their_own_in_files_and_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", written := io.StringIO())
    console.note_printer(quiet=False)("a word " * 100)
    assert len(written.getvalue().splitlines()) == 1


def test_notes_below_a_table_are_wrapped_at_the_width_of_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made_up(4).save("a.json")
    made_up(4, 1).save("b.json")
    monkeypatch.setattr("clarysage.cli.output.terminal_width", lambda stream: 60)
    lines = run("compare", "a.json", "b.json").stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(("  Changed", "  No feature")))
    assert max(map(len, lines[first:])) <= 60
    monkeypatch.setattr("clarysage.cli.output.terminal_width", lambda stream: None)
    unbroken = run("compare", "a.json", "b.json").stdout
    assert " ".join(unbroken.split()) == " ".join("\n".join(lines).split())
    assert max(map(len, unbroken.splitlines())) > 100


def test_texts_of_python_are_not_wrapped() -> None:
    assert max(map(len, text(made_up(4).summary()).splitlines())) > 100


# columns that only one of two files has


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)

    def table(n: int) -> pd.DataFrame:
        X = pd.DataFrame(rng.normal(size=(n, 2)).round(4), columns=["heat", "wind"])
        return X.assign(load=2 * X["heat"] + X["wind"])

    then, now = table(60), table(60)
    then.to_csv(tmp_path / "then.csv", index=False)
    now.to_csv(tmp_path / "now.csv", index=False)
    then.assign(fold=1).to_csv(tmp_path / "then with fold.csv", index=False)
    now.assign(batch=2).to_csv(tmp_path / "now with batch.csv", index=False)
    (tmp_path / "plain.py").write_text("def load(rows):\n    return 2 * rows['heat'] + rows['wind']\n")
    enter(tmp_path, monkeypatch)
    return tmp_path


@pytest.mark.parametrize(
    ("then", "now", "dropped"),
    [
        ("then with fold.csv", "now.csv", ["fold"]),
        ("then.csv", "now with batch.csv", ["batch"]),
        ("then with fold.csv", "now with batch.csv", ["fold", "batch"]),
    ],
)
def test_monitor_drops_columns_that_only_one_file_has(folder: Path, then: str, now: str, dropped: list[str]) -> None:
    drop = [part for column in dropped for part in ("--drop", column)]
    options = ["--target", "load", "--background-rows", "16"]
    expected = printed_json("monitor", "plain:load", "then.csv", "now.csv", *options)
    found = printed_json("monitor", "plain:load", then, now, *options, *drop)
    assert found["comparison"]["differences"] == expected["comparison"]["differences"]


def test_monitor_refuses_to_drop_a_column_that_no_file_has(folder: Path) -> None:
    said = error_of("monitor", "plain:load", "then.csv", "now.csv", "--target", "load", "--drop", "bach")
    assert "--drop: got 'bach', which is not a column of then.csv" in said


# options that Python has, too


SHAPE = """
import numpy as np

def load(rows):
    return 2 * rows["heat"] + rows["wind"]
"""


@pytest.fixture
def correlated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """A folder with a table of two columns that are nearly equal, and two others; it is the current one."""
    rng = np.random.default_rng(0)
    heat = rng.normal(size=400)
    X = pd.DataFrame({"heat": heat, "wind": heat + rng.normal(size=400) / 100}).round(4)
    X = X.assign(hour=rng.normal(size=400).round(4), age=rng.normal(size=400).round(4) / 9)
    table = X.assign(load=2 * X["heat"] + X["wind"])
    table.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "plain.py").write_text(SHAPE)
    enter(tmp_path, monkeypatch)
    return table


@pytest.mark.parametrize(
    "command",
    [
        ["explain", "plain:load", "rows.csv"],
        ["measures", "plain:load", "rows.csv", "--only", "sage"],
        ["monitor", "plain:load", "rows.csv", "rows.csv"],
    ],
    ids=lambda command: command[0],
)
def test_the_check_of_the_manifold_may_be_left_out(correlated: pd.DataFrame, command: list[str]) -> None:
    options = ["--target", "load", "--loss", "squared-error", "--json", "found.json"]
    for more, is_checked in (([], True), (["--no-check-manifold"], False), (["--check-manifold"], True)):
        result = run(*command, *options, *more)
        assert result.exit_code == 0, result.stderr
        assert ("real ones" in Path("found.json").read_text()) == is_checked


def test_most_players_of_a_table_are_those_of_python(correlated: pd.DataFrame) -> None:
    options = ["--target", "load", "--loss", "squared-error"]
    found = printed_json("explain", "plain:load", "rows.csv", *options, "--max-players", "3")
    import plain  # type: ignore[import-not-found]

    expected = cs.sage(plain.load, correlated, "load", loss="squared error", max_players=3, rng=0)
    assert found["feature_names"] == list(expected.feature_names) == ["heat", "wind", "the other 2 columns"]
    assert found["values"] == expected.values.tolist()
    side_by_side = run("measures", "plain:load", "rows.csv", *options, "--max-players", "3", "--only", "sage")
    assert "the other 2 columns" in side_by_side.stdout


def test_one_player_is_refused_before_a_file_is_read() -> None:
    said = error_of("explain", "nothing.skops", "nothing.csv", "--max-players", "1", code=2)
    assert "--max-players" in said


def test_options_that_python_has_are_in_a_configuration_file(correlated: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('target = "load"\nloss = "squared error"\nmax-players = 3\n')
    found = printed_json("explain", "plain:load", "rows.csv", "--config", "run.toml")
    assert len(found["values"]) == 3


def test_the_shell_has_every_option_of_measures_that_a_file_can_hold() -> None:
    """What is left out needs objects of Python: rules to stop, names for arrays, and options as one object."""
    of_python = {name for name in DEFAULTS if name not in ("stop", "feature_names", "run")} - {"rng"}
    explain = {parameter.name for parameter in COMMANDS["explain"].params}
    assert of_python - explain == set()
    refits = {"checkpoint"}  # a file holds a single run
    assert of_python - refits - {parameter.name for parameter in COMMANDS["measures"].params} == set()
    refused = {"checkpoint", "after", "max_players"}
    assert of_python - refused - {parameter.name for parameter in COMMANDS["monitor"].params} == set()

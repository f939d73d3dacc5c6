"""``--config FILE``: options from a file count as if they were typed, flags override them, mistakes name the key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

import clarysage as cs
from clarysage.cli.app import app
from tests.cli_harness import enter, error_of, printed_json, run

MODULE = """
def heat(rows):
    return 2 * rows["heat"]

def wind(rows):
    return rows["wind"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data in ``runs/``, where configurations stand, too; the current one is beside it."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "plain.py").write_text(MODULE)
    rng = np.random.default_rng(0)
    for name, n in (("test", 30), ("train", 20)):
        X = pd.DataFrame(rng.normal(size=(n, 3)).round(6), columns=["heat", "wind", "id"])
        X.assign(load=2 * X["heat"] + X["wind"]).round(6).to_csv(tmp_path / "runs" / f"{name}.csv", index=False)
    enter(tmp_path / "here", monkeypatch)
    return tmp_path


def configuration(folder: Path, text: str) -> list[str]:
    """Write a configuration, and return the options that name it."""
    (folder / "runs" / "run.toml").write_text(text, encoding="utf-8")
    return ["--config", "../runs/run.toml"]


def configured(folder: Path, text: str, command: str, *arguments: str) -> Any:
    return run(command, *arguments, *configuration(folder, text))


def explained(folder: Path, text: str, *arguments: str, command: str = "explain") -> dict[str, Any]:
    return printed_json(command, *arguments, *configuration(folder, text))


WHOLE = """
model = "plain:heat"
data = "test.csv"
target = "load"
drop = ["id"]
background = "train.csv"
background-rows = 8
method = "permutation"
tolerance = 0.2
budget = 100000
seed = 3
quiet = true
"""


def test_file_counts_as_if_it_were_typed(folder: Path) -> None:
    typed = [
        "plain:heat",
        "../runs/test.csv",
        "--target",
        "load",
        "--drop",
        "id",
        "--background",
        "../runs/train.csv",
        "--background-rows",
        "8",
        "--method",
        "permutation",
        "--tolerance",
        "0.2",
        "--budget",
        "1e5",
        "--seed",
        "3",
    ]
    found = explained(folder, WHOLE)
    assert found == explained(folder, "", *typed)
    assert found["provenance"]["background_rows"] == 8
    assert found["provenance"]["seed"] == 3


@pytest.mark.parametrize(
    "text", [WHOLE.replace("-rows", "_rows"), f"[explain]\n{WHOLE}", f"[measures]\n[explain]{WHOLE}"]
)
def test_underscores_and_tables_of_the_command_are_read_too(folder: Path, text: str) -> None:
    assert explained(folder, text) == explained(folder, WHOLE)


def test_flags_and_arguments_override_the_file(folder: Path) -> None:
    found = explained(folder, WHOLE, "plain:wind", "--seed", "4", "--background-rows", "5", "--drop", "heat")
    assert found["provenance"]["seed"] == 4
    assert found["provenance"]["background_rows"] == 5
    assert found["feature_names"] == ["wind", "id"]  # a list is replaced, not added to
    assert found["method"] == "permutation"


def test_table_of_the_command_overrides_what_is_for_all(folder: Path) -> None:
    found = explained(folder, f"{WHOLE}\n[explain]\nseed = 5\n[measures]\nseed = 6\n")
    assert found["provenance"]["seed"] == 5


def test_flag_that_is_off_in_the_file_is_off(folder: Path) -> None:
    result = configured(folder, WHOLE.replace("quiet = true", "quiet = false"), "explain")
    assert "note: background: 8 of the 20 rows" in result.stderr
    assert configured(folder, WHOLE, "explain").stderr == ""
    assert "note: background" not in configured(folder, WHOLE.replace("true", "false"), "explain", "-q").stderr


@pytest.mark.parametrize("command", ["explain", "measures", "compare", "monitor"])
def test_every_flag_has_a_form_that_turns_it_off(command: str) -> None:
    commands: Any = typer.main.get_command(app)
    flags = [one for one in commands.commands[command].params if getattr(one, "is_flag", False)]
    without = {one.opts[0] for one in flags if not one.secondary_opts}
    assert flags
    assert without <= {"--help", "--list"}


def test_flag_that_is_on_in_the_file_can_be_turned_off(folder: Path) -> None:
    assert "quiet = true" in WHOLE
    assert "note: background" in configured(folder, WHOLE, "explain", "--no-quiet").stderr
    text = f"{WHOLE}\ntests = true\n"
    assert "(Holm)" in configured(folder, text, "explain").stdout
    assert "(Holm)" not in configured(folder, text, "explain", "--no-tests").stdout


def test_files_that_are_written_are_beside_the_configuration(folder: Path) -> None:
    result = configured(folder, f'{WHOLE}\njson = "sage.json"\nplot = "sage.svg"\nhtml = "page.html"\n', "explain")
    assert result.exit_code == 0, result.stderr
    written = {path.name for path in (folder / "runs").iterdir()} - {"test.csv", "train.csv", "run.toml"}
    assert written == {"sage.json", "sage.svg", "page.html"}
    assert {path.name for path in (folder / "here").iterdir()} == {"plain.py"}


def test_model_in_a_file_is_beside_the_configuration(folder: Path) -> None:
    import joblib
    from sklearn.linear_model import Ridge

    table = pd.read_csv(folder / "runs" / "train.csv")
    joblib.dump(Ridge().fit(table[["heat", "wind"]], table["load"]), folder / "runs" / "m.joblib")
    text = WHOLE.replace("plain:heat", "m.joblib") + "allow-pickle = true\n"
    assert explained(folder, text)["feature_names"] == ["heat", "wind"]


def test_absolute_paths_stay(folder: Path) -> None:
    text = WHOLE.replace('"test.csv"', json.dumps(str(folder / "runs" / "test.csv")))
    assert explained(folder, text) == explained(folder, WHOLE)


def test_measures_take_lists_where_commas_are_typed(folder: Path) -> None:
    text = WHOLE.replace('method = "permutation"', 'only = ["sage", "shapley effects"]')
    found = explained(folder, text, command="measures")
    assert list(found["explanations"]) == ["sage", "shapley effects"]


def test_compare_takes_files_names_and_pairing(folder: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    for name, slope in (("a", 2.0), ("b", 1.0)):
        found = cs.sage(lambda rows, slope=slope: slope * rows[:, 0], X, 2 * X[:, 0], background=X[:8], rng=0)
        found.save(folder / "runs" / f"{name}.json", rows=True)
    text = '[compare]\nfiles = ["a.json", "b.json"]\nnames = ["then", "now"]\npaired = false\nadjust = "none"\n'
    found = explained(folder, text, command="compare")
    assert (found["names"], found["adjust"], found["differences"][0]["is_paired"]) == (["then", "now"], None, False)
    found = explained(folder, text, "../runs/b.json", "../runs/a.json", "--paired", command="compare")
    assert found["differences"][0]["is_paired"]
    assert found["differences"][0]["target"]["values"][0] > 0  # b first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("backgroud-rows = 256", "'backgroud-rows' in run.toml, which is not an option of explain"),
        ("backgroud_rows = 256", "Try 'background-rows'"),
        ("[explain]\ntargt = 'y'", "'targt' in run.toml, which is not an option of explain"),
        (
            "random_state = 1",
            "which is not an option of explain; wanted an option of clarysage explain --help. Try 'seed'.",
        ),
        ("only = 'sage'", "'only' in run.toml, which is not an option of explain"),
        ("json_file = 'a.json'", "'json_file' in run.toml"),
        ("config = 'a.toml'", "'config' in run.toml"),
        (
            "[explian]\nseed = 1",
            "the table [explian] in run.toml; wanted tables with names of commands. Try 'explain'.",
        ),
        ("seed = 'one'", 'seed = "one" in run.toml; wanted a whole number.'),
        ("seed = true", "seed = true in run.toml; wanted a whole number."),
        ("seed = 1.5", "seed = 1.5 in run.toml; wanted a whole number."),
        ("tolerance = '0.1'", 'tolerance = "0.1" in run.toml; wanted a number.'),
        ("tests = 1", "tests = 1 in run.toml; wanted true or false."),
        ("target = 3", "target = 3 in run.toml; wanted a text."),
        ("target = ['y']", 'target = ["y"] in run.toml; wanted a text.'),
        ("background = 1979-05-27", 'background = "1979-05-27" in run.toml; wanted a text, the path of a file.'),
        ("drop = [1, 2]", "drop = [1, 2] in run.toml; wanted a text, or a list of these."),
        ("classes = 1", "classes = 1 in run.toml; wanted a text, or a list of these."),
        ("[explain.groups]\na = ['b']", "groups = "),
        ("background-rows = 1\nbackground_rows = 2", "'background-rows' twice in run.toml"),
        ("seed 1", "run.toml, which is not TOML (Expected '=' after a key"),
        ("background-rows = 0", "'--background-rows'"),
        ("background-rows = 0", "in ../runs/run.toml"),
        ("seed = -1", "in ../runs/run.toml"),
        ("method = 'magic'", "--method: got 'magic'"),
    ],
)
def test_mistake_is_one_line_that_names_file_and_key(folder: Path, text: str, said: str) -> None:
    assert said in error_of("explain", "plain:heat", "../runs/test.csv", *configuration(folder, text), code=2)


def test_file_that_is_not_there_is_named(folder: Path) -> None:
    (folder / "here" / "run.toml").write_text("")
    result = run("explain", "--config", "rnu.toml")
    assert result.exit_code == 2
    assert "error: --config: got rnu.toml, which does not exist; wanted a file. Try 'run.toml'." in result.stderr
    (folder / "here" / "bytes.toml").write_bytes(b"\xff\xfe")
    result = run("explain", "--config", "bytes.toml")
    assert result.exit_code == 2
    assert "bytes.toml, which is not TOML" in result.stderr


def test_what_is_missing_in_both_is_missing(folder: Path) -> None:
    result = configured(folder, "seed = 1", "explain")
    assert result.exit_code == 2
    assert "Missing argument 'MODEL'" in result.stderr


def test_configuration_is_not_overwritten(folder: Path) -> None:
    result = configured(folder, f'{WHOLE}\njson = "run.toml"\n', "explain")
    assert result.exit_code == 1
    assert "which is an input of the run" in result.stderr


@pytest.mark.parametrize("command", ["explain", "measures", "compare"])
def test_help_says_what_paths_are_relative_to(command: str) -> None:
    result = run(command, "--help")
    assert "relative to its folder" in " ".join(result.stdout.split())


def test_only_configurations_are_suggested_for_one_that_is_missing(folder: Path) -> None:
    for name in ("none.csv", "nine.toml"):
        (folder / "here" / name).write_text("")
    result = run("explain", "plain:heat", "../runs/test.csv", "--config", "none.toml")
    assert result.exit_code == 2
    assert result.stderr.strip().endswith("Try 'nine.toml'.")


def test_slices_of_so_many_rows_are_a_number_in_a_file(folder: Path) -> None:
    rows = pd.read_csv(folder / "runs" / "test.csv")
    pd.concat([rows, rows]).to_csv(folder / "runs" / "now.csv", index=False)
    text = 'model = "plain:heat"\nreference = "test.csv"\ncurrent = "now.csv"\ntarget = "load"\nevery = 30\n'
    result = configured(folder, text, "monitor", "--json", "-", "-q")
    assert result.exit_code in (0, 4), result.stderr
    assert json.loads(result.stdout)["comparison"]["names"][1:] == ["rows 1 to 30", "rows 31 to 60"]
    line = error_of("monitor", *configuration(folder, "every = 1.5"), code=2)
    assert "every = 1.5 in run.toml; wanted a text or a whole number" in line

"""Help, examples and completion: examples are command lines that hold, names that are offered are those there are."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import clarysage as cs
from clarysage.cli.app import EXAMPLES, app
from clarysage.cli.completion import REGISTRIES, complete_measures, completion_of, registry
from tests.cli_harness import run, run_main

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
LINES = [line for lines in EXAMPLES.values() for line in lines]
HEAVY = {"numpy", "scipy", "pandas", "sklearn", "matplotlib", "joblib", "tqdm", "numba", "jinja2"}
NOTHING_HEAVY = f"heavy = {HEAVY} & set(sys.modules)\nassert not heavy, heavy\n"


def test_every_command_has_examples() -> None:
    assert set(EXAMPLES) == {"clarysage", *COMMANDS}


@pytest.mark.parametrize("command", ["clarysage", *COMMANDS])
def test_help_shows_the_examples(command: str) -> None:
    result = run(*([] if command == "clarysage" else [command]), "--help")
    assert result.exit_code == 0
    shown = result.output.splitlines()
    for line in EXAMPLES[command]:
        assert f"    {line}" in shown  # on one line, to be copied


@pytest.mark.parametrize("line", LINES)
def test_examples_are_command_lines_that_hold(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "explain.toml").write_text('model = "model.skops"\ndata = "test.csv"\n')
    monkeypatch.chdir(tmp_path)
    program, command, *arguments = shlex.split(line)
    assert program == "clarysage"
    context = COMMANDS[command].make_context(command, arguments)
    assert set(context.params) >= {parameter.name for parameter in COMMANDS[command].params} - {"help"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_tells_of_no_types_in_python_and_of_nothing_that_the_command_lacks(command: str) -> None:
    said = run(command, "--help").output
    assert not re.search(r"<\w+(\[\w+\])?>", said)
    foreign = {"monitor": r"\bDATA\b", "compare": r"background-rows|\bDATA\b|data ="}
    assert command not in foreign or not re.search(foreign[command], said)


def test_a_wrong_example_would_be_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        COMMANDS["explain"].make_context("explain", ["m.json", "d.csv", "--traget", "y"])


def test_help_lists_the_exit_codes() -> None:
    text = " ".join(run("--help").output.split())
    assert "0 success, 1 error, 2 wrong usage, 3 not converged, 4 something flagged (monitor)" in text


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["--help"], ["explain", "Examples:"]),
        (["explain", "--help"], ["Examples:"]),
        (["compare", "--help"], ["Examples:"]),
        (["doctor", "--help"], ["Examples:"]),
        (["--version"], [cs.__version__]),
    ],
)
def test_help_and_version_load_nothing_heavy(arguments: list[str], texts: list[str]) -> None:
    done = run_main(*arguments, after=NOTHING_HEAVY)
    assert done.returncode == 0, done.stderr
    for text in texts:
        assert text in done.stdout


# completion


def test_names_that_are_offered_are_those_of_the_tables() -> None:
    from clarysage._measures.table import MEASURES
    from clarysage.catalogue import ABOUT, ADJUSTMENTS, BACKENDS, LOSSES, METHODS, PERIODS, REMOVALS

    assert {what: completion_of(what)("") for what in REGISTRIES} == {
        what: [name.replace(" ", "-") for name in table.names]
        for what, table in {
            "loss": LOSSES,
            "removal": REMOVALS,
            "method": METHODS,
            "backend": BACKENDS,
            "about": ABOUT,
            "every": PERIODS,
            "adjust": ADJUSTMENTS,
            "measure": MEASURES,
        }.items()
    }


def offered(line: str, shell: str = "bash") -> list[str]:
    """What a shell would offer at the end of a line."""
    words = line.split(" ")
    result = run(
        COMP_WORDS=line,
        COMP_CWORD=str(len(words) - 1),
        _TYPER_COMPLETE_ARGS=line,
        _CLARYSAGE_COMPLETE=f"complete_{shell}",
    )
    assert result.exit_code == 0, result.output
    return [word for word in result.output.splitlines() if word]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("clarysage comp", ["compare"]),
        ("clarysage explain m.json t.csv --background-", ["--background-rows"]),
        ("clarysage explain m.json t.csv --loss ", [name.replace(" ", "-") for name in registry("loss").names]),
        ("clarysage explain m.json t.csv --loss cross", ["cross-entropy"]),
        ("clarysage explain m.json t.csv --removal prod", ["product-of-marginals"]),
        ("clarysage measures m.json t.csv --removal auto", ["auto-conditional"]),
        ("clarysage explain m.json t.csv --method pa", ["paired-walks"]),
        ("clarysage explain m.json t.csv --about po", ["population"]),
        ("clarysage measures m.json t.csv --only perm", ["permutation-importance"]),
        ("clarysage measures m.json t.csv --only sage,gini", ["sage,gini-importance"]),
        ("clarysage compare a.json b.json --adjust b", ["benjamini-hochberg"]),
        ("clarysage explain m.json t.csv --target ", ["heat", "wind", "load"]),
        ("clarysage explain m.json t.csv --drop w", ["wind"]),
        ("clarysage explain m.json t.csv --target load --sample-weight h", ["heat"]),
        ("clarysage monitor m.json t.csv t.csv --by h", ["heat"]),
        ("clarysage monitor m.json t.csv t.csv --by heat --every w", ["week"]),
        ("clarysage explain m.json absent.csv --target ", []),
        ("clarysage explain m.json t.parquet --target ", []),
        ("clarysage explain --config absent.toml m.json t.csv --loss b", ["brier"]),
    ],
)
def test_values_are_offered(line: str, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("heat;wind;load;two words\n1;2;3;4\n")
    monkeypatch.chdir(tmp_path)
    assert offered(line) == names


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", b'"' + b"x" * 200_000 + b"\n"), ("t.csv.gz", bytes.fromhex("1f8b08000000000000ff") + b"\xff" * 40)],
    ids=["a field without end", "spoilt"],
)
def test_nothing_is_offered_of_a_file_that_cannot_be_read(
    name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    assert offered(f"clarysage explain m.json {name} --target ") == []


def test_what_is_offered_is_understood() -> None:
    from clarysage.cli.checks import as_adjustment, measure_names
    from clarysage.registry import normalised

    for what in ("loss", "removal", "method", "adjust"):
        assert tuple(map(normalised, completion_of(what)(""))) == registry(what).names
    assert [as_adjustment(name) for name in completion_of("adjust")("")] == ["holm", "benjamini hochberg", None]
    assert measure_names(",".join(complete_measures(""))) == [*registry("measure")]


@pytest.mark.subprocess
def test_completion_loads_nothing_heavy(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("heat,load\n1,2\n")
    words = f"clarysage explain m.json {table} --target l"
    done = run_main(after=NOTHING_HEAVY, COMP_WORDS=words, COMP_CWORD="5", _CLARYSAGE_COMPLETE="complete_bash")
    assert (done.returncode, done.stdout.split()) == (0, ["load"]), done.stderr


# typer asks bash for its version
@pytest.mark.parametrize("shell", [pytest.param("bash", marks=pytest.mark.subprocess), "zsh", "fish", "powershell"])
def test_completion_scripts_are_printed(shell: str) -> None:
    result = run(_CLARYSAGE_COMPLETE=f"source_{shell}")
    assert result.exit_code == 0
    assert "clarysage" in result.output
    assert f"complete_{shell}" in result.output


def in_bash(folder: Path, script: str) -> str:
    """What lines of bash print, in which the command is ``clarysage`` and nothing is the user's."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    program = folder / "clarysage"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clarysage "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


ASK = "COMP_WORDS=(clarysage doc)\nCOMP_CWORD=1\n_clarysage_completion clarysage\necho offered: ${COMPREPLY[@]}\n"


@pytest.mark.subprocess
def test_bash_completes_a_command(tmp_path: Path) -> None:
    assert in_bash(tmp_path, f'eval "$(_CLARYSAGE_COMPLETE=source_bash clarysage)"\n{ASK}') == "offered: doctor\n"


@pytest.mark.subprocess
def test_completion_that_is_installed_completes_a_command(tmp_path: Path) -> None:
    said = in_bash(tmp_path, f"clarysage --install-completion\nsource .bashrc\n{ASK}")
    assert "bash completion installed in" in said
    assert said.endswith("offered: doctor\n")
    assert {path.name for path in tmp_path.iterdir()} == {"clarysage", ".bashrc", ".bash_completions"}


def test_help_names_the_options_of_completion() -> None:
    assert "--install-completion" in run("--help").output
    assert "--show-completion" in run("--help").output


@pytest.mark.subprocess
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["explain", "--help"], ["--version"]])
def test_help_that_cannot_be_written_is_one_line_of_error(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "clarysage", *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: stdout cannot be written: ")
    assert done.returncode == 1

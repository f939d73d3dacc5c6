"""Words of errors and notes, as the command line says them."""

from __future__ import annotations

from dataclasses import fields

import pytest

from clarysage._measures.options import Run
from clarysage.cli.messages import advice_in_shell, error_in_shell, in_shell, note_in_shell
from clarysage.cli.options import CheckpointOptions, StoppingOptions
from clarysage.errors import Call, Either, InputError, Note, Or, PythonOnly, Set, Words

PROBABILITIES = Call("as_predictor", "model", (Set("output", "predict_proba"),))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (Set("n_jobs"), "--n-jobs"),
        (Set("n_jobs", 2), "--n-jobs 2"),
        (Set("method", "paired walks"), '--method "paired walks"'),
        (Set("loss", "brier"), "--loss brier"),
        (Set("budget", 1_000_000), "--budget 1000000"),
        (Set("tolerance", 0.025), "--tolerance 0.025"),
        (Set("memory_limit", 1e9), "--memory-limit 1e9"),
        (Set("rng", 1), "--seed 1"),
        (Set("paired", True), "--paired"),
        (Set("paired", False), "--unpaired"),
        (Set("refits", False), "--no-refits"),
        (Set("check_manifold", False), "--no-check-manifold"),
        (Set("after", "tfidfvectorizer"), "--after tfidfvectorizer"),
        (Set("max_players", 100), "--max-players 100"),
        (Set("classes", ("a", "b")), "--classes a,b"),
        (PROBABILITIES, "--output predict_proba"),
        (Call("cs.as_predictor", "model", (Set("classes", ("a", "b")),)), "--classes a,b"),
        (Call("save", "path", (Set("rows", True),)), "explain --json FILE --rows"),
        ([PROBABILITIES, Or(), Set("loss", "zero one")], '--output predict_proba, or --loss "zero one"'),
        (["a smaller ", Set("tolerance"), " for all"], "a smaller --tolerance for all"),
        ("fewer rows", "fewer rows"),
        ("", ""),
    ],
)
def test_advice_becomes_the_options_that_do_the_same(words: Words, expected: str) -> None:
    assert in_shell(words) == advice_in_shell(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a name", PythonOnly(", or an object such as Kernel()")], "a name"),
        ([Set("steps", 64), Or(), Set("removal", "copula")], "--removal copula"),
        (
            [Set("removal", "copula"), Or(" or "), Set("steps", 64), " for more", Or("; or "), "fewer rows"],
            "--removal copula; or fewer rows",
        ),
        (Call("learner.fit", "X, y"), ""),
        ([PythonOnly("Kernel(), or "), Set("method", "exact")], "--method exact"),
    ],
)
def test_advice_that_only_python_has_is_left_out(words: Words, expected: str) -> None:
    assert advice_in_shell(words) == expected


def test_text_keeps_what_the_command_has_no_option_for() -> None:
    assert in_shell([Set("steps", 64), " with ", Set("loss", "auto"), PythonOnly(" of Kernel()")]) == (
        "steps=64 with --loss auto"
    )


def test_error_names_the_argument_as_the_command_does() -> None:
    error = InputError("y", got=[Set("loss", "brier"), ""], wanted=["a", PythonOnly(" b")], hint=PROBABILITIES)
    assert error_in_shell(error) == "--target: got --loss brier; wanted a. Try --output predict_proba."
    assert error_in_shell(error, {"y": "FILE"}) == "FILE: got --loss brier; wanted a. Try --output predict_proba."
    assert error_in_shell(error, advice="--drop id").endswith("wanted a. Try --drop id.")


def test_what_the_command_line_puts_otherwise_is_put_so() -> None:
    hint = [Either("learner=Ridge()", "a model in a .skops file"), ", or fewer rows"]
    error = InputError("learner", got="a function", wanted="a learner", hint=hint)
    assert str(error).endswith("Try learner=Ridge(), or fewer rows.")
    assert (
        error_in_shell(error) == "MODEL: got a function; wanted a learner. Try a model in a .skops file, or fewer rows."
    )


def test_note_stays_a_warning_with_options_in_its_advice() -> None:
    note = note_in_shell(Note([Set("X"), " is small."], ["Try ", Set("background"), " with more rows."]))
    assert (str(note), note.level) == ("DATA is small. Try --background with more rows.", "warning")


def test_run_options_are_those_of_the_library_with_the_same_defaults() -> None:
    ours = {option.name: option.default for group in (StoppingOptions, CheckpointOptions) for option in fields(group)}
    library = {option.name: option.default for option in fields(Run)}
    own = {"backend", "address", "seed", "n_jobs"}  # together what n_jobs and rng are in Python
    assert {name: default for name, default in ours.items() if name not in own} == {
        name: library[name] for name in ours if name not in own
    }

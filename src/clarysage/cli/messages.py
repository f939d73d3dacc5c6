"""Translates errors and notes of the library for the command line: Python arguments become options.

Messages of the library consist of text and structured advice (see :mod:`clarysage.errors`). Each piece of advice is
replaced by the equivalent options; alternatives that exist only in Python are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import typer

from clarysage.errors import (
    Advice,
    Argument,
    Call,
    Either,
    InputError,
    Note,
    Or,
    PythonOnly,
    Set,
    Words,
    in_digits,
    message,
    parts_of,
)
from clarysage.synonyms import COUNTERPARTS, SYNONYMS

# argument of the library -> its name on the command line, if that is not the option of the same name
ARGUMENTS = {
    "X": "DATA",
    "y": "--target",
    "X or background": "DATA or --background",
    "X and background": "DATA and --background",
    "learner": "MODEL",
    "rng": "--seed",
    "path": "FILE",
}

# function of the library -> the equivalent command, to which options for its arguments are added
COMMANDS = {"as_predictor": "", "save": "explain --json FILE", "compare": "clarysage compare"}


@cache
def flags() -> Mapping[str, str]:
    """Returns the command-line names of the library's arguments; "no NAME" is the option that turns a switch off."""
    from clarysage.cli.app import app  # late, since the commands import this module

    names: dict[str, str] = {}
    commands: Any = typer.main.get_command(app)
    for parameter in (parameter for command in commands.commands.values() for parameter in command.params):
        if parameter.param_type_name == "argument":
            names[parameter.name] = parameter.metavar
            continue
        names[parameter.name] = _long(parameter.opts)
        if parameter.secondary_opts:
            names[f"no {parameter.name}"] = _long(parameter.secondary_opts)
    return {**names, **ARGUMENTS}


def _long(options: Sequence[str]) -> str:
    return next(option for option in options if option.startswith("--"))


def counterpart_flag(option: str, available: Collection[str]) -> str:
    """Returns the option that one of another library stands for, if it is available, else an empty text.

    Examples
    --------
    >>> counterpart_flag("--random-state", ["--seed", "--loss"]), counterpart_flag("scoring", ["--seed"])
    ('--seed', '')
    """
    name = option.lstrip("-").replace("-", "_")
    ours = (SYNONYMS[name],) if name in SYNONYMS else COUNTERPARTS.get(name, ())
    return next((flags()[name] for name in ours if flags().get(name) in available), "")


def in_shell(words: Words, argument_names: Mapping[str, str] | None = None) -> str:
    """Formats a message for a user of the command line.

    ``argument_names`` are names that differ for the current command. Advice without an equivalent is shown as in
    Python, except parts that are meant for Python alone.

    Examples
    --------
    >>> in_shell(["a name", PythonOnly(", or an object such as Kernel()")])
    'a name'
    >>> in_shell([Set("loss", "zero one"), " with ", Set("n_jobs"), " and ", Set("steps", 8)])
    '--loss "zero one" with --n-jobs and steps=8'
    """
    argument_names = {**flags(), **(argument_names or {})}
    pieces = [part if isinstance(part, str) else _options(part, argument_names) for part in parts_of(words)]
    shown = zip(pieces, parts_of(words), strict=True)
    return "".join(
        ("" if isinstance(part, PythonOnly) else str(part)) if piece is None else piece for piece, part in shown
    )


def advice_in_shell(words: Words, argument_names: Mapping[str, str] | None = None) -> str:
    """Formats advice for a user of the command line; alternatives without an equivalent are left out.

    Examples
    --------
    >>> advice_in_shell([Call("as_predictor", "model", (Set("output", "predict_proba"),)), Or(), Set("steps", 8)])
    '--output predict_proba'
    >>> advice_in_shell([Set("steps", 8), " for more", Or("; or "), Set("memory_limit", 1e9)])
    '--memory-limit 1e9'
    """
    names = {**flags(), **(argument_names or {})}
    shown = ""
    for separator, alternative in _alternatives(words):
        if all(isinstance(part, (str, PythonOnly)) or _options(part, names) is not None for part in alternative):
            text = in_shell(alternative, names)
            shown += f"{separator}{text}" if shown and text else text
    return shown


def note_in_shell(note: Note) -> Note:
    """Returns a note whose text is for a user of the command line.

    Examples
    --------
    >>> str(note_in_shell(Note("Rows are unlike any.", ["Try ", Set("removal", "copula"), "."])))
    'Rows are unlike any. Try --removal copula.'
    """
    return Note(in_shell(note.text), advice_in_shell(note.advice))


def error_in_shell(error: InputError, argument_names: Mapping[str, str] | None = None, advice: str = "") -> str:
    """Formats an error about an argument for a user of the command line; ``advice`` replaces its hint.

    Examples
    --------
    >>> error_in_shell(InputError("budget", got=["-3 and ", Set("n_jobs", 2)], wanted="more", hint=Set("budget", 1e6)))
    '--budget: got -3 and --n-jobs 2; wanted more. Try --budget 1e6.'
    """
    argument = {**flags(), **(argument_names or {})}.get(error.argument, error.argument)
    hint = advice or advice_in_shell(error.hint, argument_names)
    return message(argument, in_shell(error.got, argument_names), in_shell(error.wanted, argument_names), hint)


def _alternatives(words: Words) -> Iterator[tuple[str, Sequence[str | Advice]]]:
    """Yields the alternatives of advice, each with the separator before it."""
    separator, alternative = "", list[str | Advice]()
    for part in parts_of(words):
        if isinstance(part, Or):
            yield separator, alternative
            separator, alternative = part.text, []
        else:
            alternative.append(part)
    yield separator, alternative


def _options(advice: Advice, argument_names: Mapping[str, str]) -> str | None:
    """Returns the equivalent options of advice, or the name of an argument; None if there is no equivalent."""
    if isinstance(advice, Set):
        return _option(advice)
    if isinstance(advice, Either):
        return advice.shell
    if isinstance(advice, Argument):
        return argument_names.get(advice.name)
    if isinstance(advice, Or):
        return advice.text
    if isinstance(advice, Call) and (command := COMMANDS.get(advice.function.removeprefix("cs."))) is not None:
        options = [_option(each) for each in advice.options]
        available = [option for option in options if option is not None]
        return " ".join(filter(None, [command, *available])) or None if len(available) == len(options) else None
    return None


def _option(advice: Set) -> str | None:
    flag, value = flags().get(advice.argument), advice.value
    if flag is None or value is None or value is True:
        return flag
    if value is False:
        return flags().get(f"no {advice.argument}")
    return f"{flag} {_typed(value)}"


def _typed(value: str | float | tuple[str, ...]) -> str:
    """Formats a value as a user types it into a shell."""
    if isinstance(value, tuple):
        value = ",".join(value)
    if isinstance(value, str):
        return value if re.fullmatch(r"[\w./:,=-]+", value) else f'"{value}"'
    return str(value) if isinstance(value, int) else in_digits(value)

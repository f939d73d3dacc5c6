"""Errors that say what an argument was, what is expected and what to try; and notes on successful runs.

Messages consist of plain text and structured advice (:class:`Set`, :class:`Call`, :class:`Argument`,
:class:`PythonOnly`, :class:`Either`, :class:`Or`), which Python and the command line format each in their own way. No
code parses the finished sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from typing import Any, Literal

MUCH_LESS_SIMILAR = 0.2  # difference of ratios between a misspelled name and two candidates


@dataclass(frozen=True)
class Set:
    """Advice to set an argument; without a value, only the name of the argument.

    Examples
    --------
    >>> str(Set("method", "paired walks")), str(Set("budget", 1_000_000)), str(Set("background"))
    ('method="paired walks"', 'budget=1_000_000', 'background=')
    >>> str(Set("classes", ("a", "b"))), str(Set("memory_limit", 1e9))
    ('classes=["a", "b"]', 'memory_limit=1e9')
    """

    argument: str
    value: str | int | float | bool | tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"{self.argument}={_literal(self.value)}"


@dataclass(frozen=True)
class Call:
    """Advice to call a function with some arguments, after the text ``given``.

    Examples
    --------
    >>> str(Call("as_predictor", "model", (Set("output", "predict_proba"),)))
    'as_predictor(model, output="predict_proba")'
    """

    function: str
    given: str = ""
    options: tuple[Set, ...] = ()

    def __str__(self) -> str:
        return f"{self.function}({', '.join(filter(None, (self.given, *map(str, self.options))))})"


@dataclass(frozen=True)
class Argument:
    """The name of an argument in a message.

    Examples
    --------
    >>> in_python(["5 columns, as in ", Argument("X")])
    '5 columns, as in X'
    """

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class PythonOnly:
    """Text that makes sense only in Python, such as the name of a class; the command line leaves it out."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Either:
    """Text that differs between Python and the command line.

    Examples
    --------
    >>> str(Either(python="learner=Ridge()", shell="a model in a .skops file"))
    'learner=Ridge()'
    """

    python: str
    shell: str

    def __str__(self) -> str:
        return self.python


@dataclass(frozen=True)
class Or:
    """Separates alternatives of advice: readers see only the alternatives that are possible where they work.

    Examples
    --------
    >>> in_python([Set("folds", 5), Or(), Set("test_size", 0.25)])
    'folds=5, or test_size=0.25'
    """

    text: str = ", or "

    def __str__(self) -> str:
        return self.text


Advice = Set | Call | Argument | PythonOnly | Either | Or
Words = str | Advice | Sequence[str | Advice]


def parts_of(words: Words) -> tuple[str | Advice, ...]:
    """Returns the parts of a message: plain text and structured advice."""
    return (words,) if isinstance(words, (str, Advice)) else tuple(words)


def in_python(words: Words) -> str:
    """Formats a message for Python.

    Examples
    --------
    >>> in_python(["a larger budget, or ", Set("method", "exact")])
    'a larger budget, or method="exact"'
    """
    return "".join(map(str, parts_of(words)))


@dataclass(frozen=True)
class Note:
    """A note on a run; a note with advice is a warning.

    ``"words" in note`` searches in the note as Python shows it.

    Attributes
    ----------
    text, advice : the message and what to do about it
    topic : the subject of a note whose numbers may differ between runs of the same game: merged runs keep only the
        first note on a topic

    Examples
    --------
    >>> note = Note("Rows are unlike any real one.", advice=["Try ", Set("removal", "copula"), "."])
    >>> str(note), note.level
    ('Rows are unlike any real one. Try removal="copula".', 'warning')
    """

    text: Words
    advice: Words = ""
    topic: str = ""

    @property
    def level(self) -> Literal["note", "warning"]:
        return "warning" if self.advice else "note"

    def __str__(self) -> str:
        return " ".join(filter(None, (in_python(self.text), in_python(self.advice))))

    def __contains__(self, words: str) -> bool:
        return words in str(self)


def as_note(note: Note | str) -> Note:
    """Returns a note; plain text becomes a note without advice."""
    return note if isinstance(note, Note) else Note(note)


class ClarysageError(Exception):
    """Base of every error raised by clarysage.

    Examples
    --------
    >>> import clarysage as cs
    >>> try:
    ...     cs.Budget(-1)
    ... except cs.ClarysageError as error:
    ...     print(error)
    budget: got -1; wanted a positive number of model rows, such as 1_000_000.
    """


class InputError(ClarysageError, ValueError):
    """An error about an argument: what it was (``got``), what is expected (``wanted``) and what to try (``hint``).

    Examples
    --------
    >>> print(InputError("budget", got="-3", wanted="a positive number of model rows", hint=Set("budget", 1_000_000)))
    budget: got -3; wanted a positive number of model rows. Try budget=1_000_000.
    """

    def __init__(self, argument: str, *, got: Words, wanted: Words, hint: Words = "") -> None:
        self.argument = argument
        self.got, self.wanted, self.hint = parts_of(got), parts_of(wanted), parts_of(hint)
        super().__init__(message(argument, in_python(self.got), in_python(self.wanted), in_python(self.hint)))

    @property
    def parts(self) -> dict[str, Words]:
        """The parts ``got``, ``wanted`` and ``hint``, to make an error about another argument."""
        return {"got": self.got, "wanted": self.wanted, "hint": self.hint}

    @property
    def note(self) -> Note:
        """The error as a note on something that was left out because of it."""
        advice = ("Try ", *self.hint, ".") if self.hint else ""
        return Note((Argument(self.argument), ": got ", *self.got, "; wanted ", *self.wanted, "."), advice)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.argument, self.got, self.wanted, self.hint)


def message(argument: str, got: str, wanted: str, hint: str) -> str:
    """Returns the message of an error about an argument, from formatted parts."""
    return f"{argument}: got {got}; wanted {wanted}." + (f" Try {hint}." if hint else "")


def _rebuild(kind: type[InputError], argument: str, got: Words, wanted: Words, hint: Words) -> InputError:
    return kind(argument, got=got, wanted=wanted, hint=hint)


class ModelError(InputError, RuntimeError):
    """A model that raised an error, or did not return one prediction per row.

    Examples
    --------
    >>> import clarysage as cs
    >>> try:
    ...     cs.sage(lambda X: X[:1, 0], [[0.0], [1.0]], [0.0, 1.0])
    ... except cs.ModelError as error:
    ...     print(str(error).partition(";")[0])
    model: got outputs of shape (1,) from <lambda> for 2 rows
    """


class WorkersLostError(InputError, RuntimeError):
    """Workers that die every time they receive the same task.

    Examples
    --------
    >>> import clarysage as cs
    >>> issubclass(cs.WorkersLostError, cs.ClarysageError)
    True
    """


class RunFailedError(ClarysageError, RuntimeError):
    """A run that failed after it had an estimate; ``__cause__`` is the error that ended it.

    Attributes
    ----------
    text : the message of the error that ended the run
    partial : the result so far: an Explanation, or a list of Explanations for a list of losses; for
        :func:`~clarysage.estimators.estimate`, an Estimate

    Examples
    --------
    >>> print(RunFailedError.after(OSError("the disk is full"), partial=None))
    OSError: the disk is full. The result up to then is in error.partial.
    """

    def __init__(self, text: str, partial: Any) -> None:
        super().__init__(f"{text} The result up to then is in error.partial.")
        self.text, self.partial = text, partial

    @property
    def note(self) -> Note:
        """The error as a note on something that was left out because of it."""
        return self.__cause__.note if isinstance(self.__cause__, InputError) else Note(self.text)

    @classmethod
    def after(cls, error: Exception, partial: Any) -> RunFailedError:
        """Returns the error of a run that was ended by another error."""
        message = str(error) if isinstance(error, ClarysageError) else f"{type(error).__name__}: {error}"
        return cls(message if message.endswith((".", "!", "?")) else f"{message}.", partial)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self.partial)


class UnavailableError(InputError):
    """Information that a result does not have, such as an interval without a known variance."""


class FormatError(InputError):
    """A file whose content is not what its name or header says."""


class MissingLibraryError(ClarysageError, ImportError):
    """An optional library that is needed but not installed."""

    def __init__(self, library: str, extra: str | None, purpose: str) -> None:
        package = library if extra is None else f"'clarysage[{extra}]'"
        super().__init__(f"{purpose} needs {library}, which is not installed. Try pip install {package}.")


class ClarysageWarning(UserWarning):
    """A warning about a run and what to do about it: a text or a :class:`Note`.

    Examples
    --------
    >>> import warnings
    >>> import clarysage as cs
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", cs.ClarysageWarning)
    """


def resembling(name: str, candidates: Iterable[str]) -> str:
    """Returns names that are similar to a misspelled name, for a hint; an empty text if there are none.

    Examples
    --------
    >>> resembling("tmep", ["Temp", "Hour"])
    "'Temp'"
    """
    spelled = {candidate.lower(): candidate for candidate in reversed(list(candidates))}
    return " or ".join(repr(spelled[match]) for match in closest(name.lower(), spelled))


def closest(name: str, candidates: Iterable[str]) -> list[str]:
    """Returns the candidate most similar to a name, and a second one if it is about as similar.

    Examples
    --------
    >>> closest("cross entrpy", ["cross entropy", "multi label cross entropy"])
    ['cross entropy']
    """
    matches = get_close_matches(name, list(candidates), n=2)
    ratios = [SequenceMatcher(None, match, name).ratio() for match in matches]
    return [match for match, ratio in zip(matches, ratios, strict=True) if ratio > ratios[0] - MUCH_LESS_SIMILAR]


def in_digits(number: float) -> str:
    """Formats a decimal or large number as users type it.

    Examples
    --------
    >>> in_digits(1e9), in_digits(0.025)
    ('1e9', '0.025')
    """
    return f"{number:g}".replace("e+0", "e").replace("e+", "e")


def _literal(value: str | float | bool | tuple[str, ...] | None) -> str:
    """Formats a value as it is written in Python."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, bool):
        return str(value)
    return f"{value:_}" if isinstance(value, int) else in_digits(value)

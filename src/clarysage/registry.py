"""Registries: tables of objects that users choose by name, such as losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, Protocol, TypeVar

from clarysage.errors import InputError, PythonOnly, Words, closest


class Named(Protocol):
    """A row of a registry: a name, aliases, and a summary in one line."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    @property
    def summary(self) -> str: ...


@dataclass(frozen=True)
class Word:
    """A row that has only a name and its meaning."""

    name: str
    summary: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Special:
    """A name that is not a row, such as "auto" or "none"; ``purpose`` continues the sentence 'or "auto" ...'."""

    name: str
    purpose: str


@dataclass(frozen=True)
class Foreign:
    """Names of other libraries for things that no row is: ``what`` continues an error's "got 'auc', ..."."""

    names: tuple[str, ...]
    what: str
    hint: Words


RowType = TypeVar("RowType", bound=Named)


class Registry(Mapping[str, RowType], Generic[RowType]):
    """A mapping of names to rows; names may be in any case, with blanks, hyphens or underscores.

    Parameters
    ----------
    argument : the name of the argument in errors
    rows : the rows that come with the package
    special : a name that is not a row, such as "auto", which leaves the choice to the library
    besides : other values of the argument, for the end of an error's list of names
    foreign : names that other libraries have for things that no row is; their errors say what comes nearest
    expected : the things that rows are, for these errors
    entry_points : a group of entry points by which other packages add rows; it is read at the first lookup
    is_fixed : whether other packages cannot add rows

    Everything that lists the names (choices, completion and help of the command line, tables in the docs, hints of
    errors) is generated from the rows.

    Examples
    --------
    >>> metals = Registry("metal", (Word("red gold", "an alloy"),), special=Special("auto", ""))
    >>> metals.get_row("Red_Gold").summary, metals.names, metals.is_special("AUTO")
    ('an alloy', ('red gold', 'auto'), True)
    """

    def __init__(
        self,
        argument: str,
        rows: tuple[RowType, ...] = (),
        *,
        special: Special | None = None,
        besides: str = "",
        foreign: tuple[Foreign, ...] = (),
        expected: Words = "",
        entry_points: str | None = None,
        is_fixed: bool = False,
    ) -> None:
        self.argument = argument
        self.bundled = rows
        self.special = special
        self._besides = besides
        self._foreign = {normalised(name): names for names in foreign for name in names.names}
        self._expected = expected
        self._rows: dict[str, RowType] = {}
        self._spellings: dict[str, str] = {}
        self._group = entry_points
        self._is_fixed = False
        for row in rows:
            self.register(row)
        self._is_fixed = is_fixed

    @property
    def names(self) -> tuple[str, ...]:
        """All names: those of the rows, and the special one."""
        return (*self, *(() if self.special is None else (self.special.name,)))

    def is_special(self, name: object) -> bool:
        """Tells whether a name, in any spelling, is the special one."""
        return self.special is not None and isinstance(name, str) and normalised(name) == self.special.name

    def help(self) -> str:
        """Returns all names in one sentence, with the purpose of the special one.

        Examples
        --------
        >>> Registry("n", (Word("one", ""), Word("two", "")), special=Special("auto", "to choose")).help()
        '"one", "two", or "auto" to choose'
        """
        names = [f'"{name}"' for name in self]
        if self.special is None:
            return f"{', '.join(names[:-1])} or {names[-1]}"
        return f'{", ".join(names)}, or "{self.special.name}" {self.special.purpose}'.rstrip()

    def markdown(self) -> str:
        """Returns a Markdown table of the names and their meanings, for the docs."""
        meanings = {row.name: row.summary for row in self.values()}
        if self.special is not None:
            meanings[self.special.name] = self.special.purpose
        rows = [f"| `{name}` | {meaning.replace('|', chr(92) + '|')} |" for name, meaning in meanings.items()]
        return "\n".join([f"| `{self.argument}` | meaning |", "|---|---|", *rows])

    def register(self, row: RowType) -> RowType:
        """Adds a row; raises an error if the name is already taken, even in another spelling."""
        if self._is_fixed:
            raise InputError(self.argument, got=f"a new row, {row.name!r}", wanted="the existing rows")
        spellings = [*map(normalised, (row.name, *row.aliases))]
        if any(spelling in self._spellings or self.is_special(spelling) for spelling in spellings):
            raise InputError(self.argument, got=f"a second row called {row.name!r}", wanted="a different name")
        self._spellings.update(dict.fromkeys(spellings, row.name))
        self._rows[row.name] = row
        return row

    def unregister(self, name: str) -> None:
        """Removes a row."""
        row = self._rows.pop(name)
        for spelling in {*map(normalised, (row.name, *row.aliases))}:
            del self._spellings[spelling]

    def get_row(self, name: str) -> RowType:
        """Returns the row of a name in any spelling; raises an error that suggests similar names."""
        row = self._find(name)
        if row is None:
            raise self.unknown(name)
        return row

    def unknown(self, name: object) -> InputError:
        """Returns the error about an unknown name, with what comes nearest to one of another library."""
        foreign = self._foreign.get(normalised(name.partition("@")[0])) if isinstance(name, str) else None
        if foreign is not None:
            return InputError(self.argument, got=f"{name!r}, {foreign.what}", wanted=self._expected, hint=foreign.hint)
        valid: Words = [f"one of {', '.join(map(repr, self.names))}", PythonOnly(self._besides)]
        similar = self._resembling(name) if isinstance(name, str) else ""
        return InputError(self.argument, got=repr(name), wanted=valid, hint=similar)

    def _resembling(self, name: str) -> str:
        """Returns the names of rows with a name or an alias that is similar to a misspelled one."""
        rows = {**{name: name for name in self.names}, **self._spellings}
        return " or ".join(dict.fromkeys(repr(rows[match]) for match in closest(normalised(name), rows)))

    def row_of(self, value: object) -> RowType | None:
        """Returns the row of an object's class, or of a class; None if there is none. It imports nothing."""
        kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
        self._read_entry_points()
        by_source = {getattr(row, "source", None): row for row in self._rows.values()}
        for kind in kinds:
            row = by_source.get(kind) or by_source.get(f"{kind.__module__}:{kind.__qualname__}")
            if row is not None:
                return row
        return None

    def __getitem__(self, name: str) -> RowType:
        row = self._find(name)
        if row is None:
            raise KeyError(name)
        return row

    def __contains__(self, name: object) -> bool:
        return self._find(name) is not None

    def __iter__(self) -> Iterator[str]:
        self._read_entry_points()
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        self._read_entry_points()
        return len(self._rows)

    def _find(self, name: object) -> RowType | None:
        """Returns the row of a name in any spelling, None if there is none."""
        self._read_entry_points()
        spelling = self._spellings.get(normalised(name)) if isinstance(name, str) else None
        return None if spelling is None else self._rows[spelling]

    def _read_entry_points(self) -> None:
        group, self._group = self._group, None
        for point in entry_points(group=group) if group else ():
            if normalised(point.name) not in self._spellings:
                self.register(point.load())


def normalised(name: str) -> str:
    """Returns a name in the spelling of registries: lower case, single blanks; numbers in parentheses stay.

    Examples
    --------
    >>> normalised(" Product_of-marginals"), normalised("Huber(1e-05)")
    ('product of marginals', 'huber(1e-05)')
    """
    words, parenthesis, numbers = name.lower().partition("(")
    return " ".join(words.replace("_", " ").replace("-", " ").split()) + parenthesis + numbers


def loaded(source: Any) -> Any:
    """Imports the object at "module:name"; returns ``source`` itself if it is not a text.

    Examples
    --------
    >>> loaded("clarysage.registry:normalised") is normalised
    True
    """
    if not isinstance(source, str):
        return source
    module, _, name = source.partition(":")
    return getattr(import_module(module), name)

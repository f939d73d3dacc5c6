"""Registries: the tables of what can be asked for by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, Protocol, TypeVar

from clarysage.errors import InputError, PythonOnly, Words, resembling


class Named(Protocol):
    """A row of a registry: a name, other names it is understood by, and one line of help."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    @property
    def summary(self) -> str: ...


@dataclass(frozen=True)
class Word:
    """A row that is a name alone, with what it means."""

    name: str
    summary: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Special:
    """A name that is no row: it leaves the choice among rows to us, or takes none; ``purpose`` goes on "or it"."""

    name: str
    purpose: str


RowType = TypeVar("RowType", bound=Named)


class Registry(Mapping[str, RowType], Generic[RowType]):
    """Rows by name; names are understood in any case, with blanks, hyphens or underscores.

    Parameters
    ----------
    argument : what an error calls the argument that names a row
    rows : those that come with the package
    special : a name that is no row, such as "auto", which leaves the choice among the rows to us
    besides : what else the argument can be, for the end of an error's list of names
    entry_points : a group of entry points by which other packages add rows; read on the first look
    is_fixed : whether no rows can be added to those that come with the package

    A row is one line of a table, and all that names it elsewhere (choices of the command line, completion, help,
    tables of the docs, hints of errors) is made from here.

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
        entry_points: str | None = None,
        is_fixed: bool = False,
    ) -> None:
        self.argument = argument
        self.bundled = rows
        self.special = special
        self._besides = besides
        self._rows: dict[str, RowType] = {}
        self._spellings: dict[str, str] = {}
        self._group = entry_points
        self._is_fixed = False
        for row in rows:
            self.register(row)
        self._is_fixed = is_fixed

    @property
    def names(self) -> tuple[str, ...]:
        """All that can be asked for: the names of the rows, and the special one."""
        return (*self, *(() if self.special is None else (self.special.name,)))

    def is_special(self, name: object) -> bool:
        """Whether a name, in any spelling, is the special one."""
        return self.special is not None and isinstance(name, str) and normalised(name) == self.special.name

    def help(self) -> str:
        """All names in a sentence, with what the special one is for.

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
        """A Markdown table of the names and what they are, for the docs."""
        meanings = {row.name: row.summary for row in self.values()}
        if self.special is not None:
            meanings[self.special.name] = self.special.purpose
        rows = [f"| `{name}` | {meaning.replace('|', chr(92) + '|')} |" for name, meaning in meanings.items()]
        return "\n".join([f"| `{self.argument}` | |", "|---|---|", *rows])

    def register(self, row: RowType) -> RowType:
        """Adds a row; a name that is taken already, even in another spelling, is an error."""
        if self._is_fixed:
            raise InputError(self.argument, got=f"a further row, {row.name!r}", wanted="the rows that there are")
        spellings = [*map(normalised, (row.name, *row.aliases))]
        if any(spelling in self._spellings or self.is_special(spelling) for spelling in spellings):
            raise InputError(self.argument, got=f"a second row called {row.name!r}", wanted="names that differ")
        self._spellings.update(dict.fromkeys(spellings, row.name))
        self._rows[row.name] = row
        return row

    def unregister(self, name: str) -> None:
        """Takes a row out again."""
        row = self._rows.pop(name)
        for spelling in {*map(normalised, (row.name, *row.aliases))}:
            del self._spellings[spelling]

    def get_row(self, name: str) -> RowType:
        """The row of a name in any spelling; an error that names those that resemble it."""
        if name not in self:
            raise self.unknown(name)
        return self[name]

    def unknown(self, name: object) -> InputError:
        """The error of a name that is none."""
        wanted: Words = [f"one of {', '.join(map(repr, self.names))}", PythonOnly(self._besides)]
        close = resembling(normalised(name), self.names) if isinstance(name, str) else ""
        return InputError(self.argument, got=repr(name), wanted=wanted, hint=close)

    def row_of(self, thing: object) -> RowType | None:
        """The row whose class a thing, or a class, is of; None where there is none. Nothing is imported for it."""
        kinds = thing.__mro__ if isinstance(thing, type) else type(thing).__mro__
        by_source = {getattr(row, "source", None): row for row in self.values()}
        for kind in kinds:
            row = by_source.get(kind) or by_source.get(f"{kind.__module__}:{kind.__qualname__}")
            if row is not None:
                return row
        return None

    def __getitem__(self, name: str) -> RowType:
        self._read_entry_points()
        if normalised(name) not in self._spellings:
            raise KeyError(name)
        return self._rows[self._spellings[normalised(name)]]

    def __contains__(self, name: object) -> bool:
        self._read_entry_points()
        return isinstance(name, str) and normalised(name) in self._spellings

    def __iter__(self) -> Iterator[str]:
        self._read_entry_points()
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        self._read_entry_points()
        return len(self._rows)

    def _read_entry_points(self) -> None:
        group, self._group = self._group, None
        for point in entry_points(group=group) if group else ():
            if normalised(point.name) not in self._spellings:
                self.register(point.load())


def normalised(name: str) -> str:
    """A name as it is looked up: lower case, single blanks.

    Examples
    --------
    >>> normalised(" Product_of-marginals")
    'product of marginals'
    """
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())


def loaded(source: Any) -> Any:
    """The object at "module:name", imported on demand; what is no such path is the object itself.

    Examples
    --------
    >>> loaded("clarysage.registry:normalised") is normalised
    True
    """
    if not isinstance(source, str):
        return source
    module, _, name = source.partition(":")
    return getattr(import_module(module), name)

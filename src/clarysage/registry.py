"""Registries: the tables of what can be asked for by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, Protocol, TypeVar

from clarysage.errors import InputError, resembling


class Named(Protocol):
    """A row of a registry: a name, other names it is understood by, and one line of help."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    @property
    def summary(self) -> str: ...


Row = TypeVar("Row", bound=Named)


class Registry(Mapping[str, Row], Generic[Row]):
    """Rows by name; names are understood in any case, with blanks, hyphens or underscores.

    Parameters
    ----------
    argument : what an error calls the argument that names a row
    rows : those that come with the package
    entry_points : a group of entry points by which other packages add rows; read on the first look

    A row is one line of a table, and all that names it elsewhere (choices of the command line, completion, help,
    tables of the docs, hints of errors) is made from here.
    """

    def __init__(self, argument: str, rows: tuple[Row, ...] = (), *, entry_points: str | None = None) -> None:
        self.argument = argument
        self._rows: dict[str, Row] = {}
        self._spellings: dict[str, str] = {}
        self._group = entry_points
        for row in rows:
            self.register(row)

    def register(self, row: Row) -> Row:
        """Adds a row; a name that is taken already, even in another spelling, is an error."""
        for spelling in map(normalised, (row.name, *row.aliases)):
            owner = self._spellings.setdefault(spelling, row.name)
            if owner != row.name or row.name in self._rows:
                raise InputError(self.argument, got=f"a second row called {row.name!r}", wanted="names that differ")
        self._rows[row.name] = row
        return row

    def unregister(self, name: str) -> None:
        """Takes a row out again."""
        row = self._rows.pop(name)
        for spelling in map(normalised, (row.name, *row.aliases)):
            del self._spellings[spelling]

    def get_row(self, name: str) -> Row:
        """The row of a name in any spelling; an error that names those that resemble it."""
        self._read_entry_points()
        spelling = normalised(name)
        if spelling not in self._spellings:
            close = resembling(name, self._rows)
            raise InputError(
                self.argument, got=repr(name), wanted=f"one of {', '.join(map(repr, self._rows))}", hint=close
            )
        return self._rows[self._spellings[spelling]]

    def __getitem__(self, name: str) -> Row:
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


def loaded(path: str) -> Any:
    """The object at "module:name", imported on demand.

    Examples
    --------
    >>> loaded("clarysage.registry:normalised") is normalised
    True
    """
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)

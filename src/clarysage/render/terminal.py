"""Terminal: a summary as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from clarysage._utils.display import SHOWN, shortened, text_width, visible
from clarysage.errors import Note, Words, in_python
from clarysage.results.summary import Cell, Column, Summary, Table

LONGEST = 60  # columns of a name in a table; frames and files have the full name
GAP, WIDE_GAP = "  ", "   "  # between columns, and between columns of a divided table
NARROWEST_HEADING = 12


def text(summary: Summary, words: Callable[[Words], str] = in_python, *, top: int | None = SHOWN) -> str:
    """Returns a summary as text: findings, tables and notes; ``words`` formats advice.

    Tables show the ``top`` largest items and say how many there are; None for all. Empty lines separate the parts if
    there are findings above the tables.
    """
    gap = [""] if summary.findings else []
    has_captions = any(table.caption for table in summary.tables)
    lines = [] if has_captions else [visible(summary.headline)]
    lines += [line for finding in summary.findings for line in _wrapped(visible(finding), summary.width)]
    for table in summary.tables:
        lines += [*gap, *([visible(table.caption)] if table.caption else [])]
        lines += _table(table.largest(top), summary.width)
        if (left_out := table.left_out(top)) is not None:
            lines += _note(left_out, summary.width, words)
    return "\n".join([*lines, *gap, *(line for note in summary.notes for line in _note(note, summary.width, words))])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the lines of a table with left-aligned cells.

    Examples
    --------
    >>> aligned([("one", "two"), ("three", "four")])
    ['one    two', 'three  four']
    """
    heads, *cells = rows
    table = [_Column((head,), tuple(row[k] for row in cells), is_right=False) for k, head in enumerate(heads)]
    return [line.removeprefix("  ") for line in _lines(table, GAP)]


def _note(note: Note, width: int | None, words: Callable[[Words], str]) -> list[str]:
    line = visible(" ".join(filter(None, (words(note.text), words(note.advice)))))
    return _wrapped(line, width)


def _wrapped(line: str, width: int | None) -> list[str]:
    """Returns a sentence as lines of at most this width, broken at blanks."""
    if width is None:
        return [f"  {line}"]
    wrapper = textwrap.TextWrapper(
        width, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return wrapper.wrap(line)


@dataclass(frozen=True)
class _Column:
    """A column as text: lines of its heading, its cells, and their alignment."""

    heading: tuple[str, ...]
    cells: tuple[str, ...]
    is_right: bool

    @classmethod
    def of(cls, column: Column, *, is_wrapped: bool = False) -> _Column:
        cells = tuple(_text(cell) for cell in column.cells)
        if column.kind == "name":
            cells = tuple(shortened(cell, LONGEST) for cell in cells)
        heading = [visible(column.heading)]
        if is_wrapped and column.kind != "name":
            heading = textwrap.wrap(heading[0], max(NARROWEST_HEADING, *map(text_width, cells))) or [""]
        return cls(tuple(heading), cells, is_right=column.kind == "number")

    @cached_property
    def width(self) -> int:
        return max(map(text_width, (*self.heading, *self.cells)))

    def padded(self, cell: str) -> str:
        room = " " * (self.width - text_width(cell))
        return room + cell if self.is_right else cell + room


def _table(table: Table, width: int | None) -> list[str]:
    if not table.is_divided or width is None:
        return _lines([_Column.of(column) for column in table.columns], GAP)
    names, *others = (_Column.of(column, is_wrapped=True) for column in table.columns)
    blocks = _blocks(others, width - 2 - names.width)
    return [line for i, block in enumerate(blocks) for line in ([""] if i else []) + _lines([names, *block], WIDE_GAP)]


def _lines(shown: Sequence[_Column], gap: str) -> list[str]:
    """Returns the lines of columns side by side, with headings directly above the cells."""
    height = max(len(column.heading) for column in shown)
    above = [("",) * (height - len(column.heading)) + column.heading for column in shown]
    rows = zip(*(heading + column.cells for heading, column in zip(above, shown, strict=True)), strict=True)
    return [
        f"  {gap.join(column.padded(cell) for cell, column in zip(row, shown, strict=True))}".rstrip() for row in rows
    ]


def _blocks(shown: Sequence[_Column], room: int) -> list[Sequence[_Column]]:
    """Divides columns into as few blocks as fit the width, of about equal numbers of columns, at least one each."""
    for count in range(1, len(shown) + 1):
        each = -(-len(shown) // count)
        blocks = [shown[start : start + each] for start in range(0, len(shown), each)]
        if all(sum(column.width + len(WIDE_GAP) for column in block) <= room for block in blocks):
            break
    return blocks


def _text(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text

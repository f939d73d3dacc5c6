"""Formats names for display: escapes invisible characters, shortens long names, isolates right-to-left text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate

# control characters, lone surrogates, and embeddings or overrides of the text direction; direction marks are allowed
UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
ELLIPSIS = "…"
LISTED = 8  # maximum number of names in a message
SHOWN = 20  # features, or other items, that texts, plots and pages show unless asked for more


def visible(name: str) -> str:
    r"""Returns a name on one line, with invisible characters escaped.

    Examples
    --------
    >>> visible("a\u202eb")
    'a\\u202eb'
    """
    return " ".join(UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", name).split())


def shortened(name: str, width: int) -> str:
    """Returns a visible name in at most ``width`` columns; wide letters take two columns.

    Examples
    --------
    >>> shortened("body mass index", 9), shortened("age", 9)
    ('body mas…', 'age')
    """
    text = visible(name[: 8 * width])  # enough letters to fill the columns
    if text_width(text) <= width:
        return text
    ends = accumulate(map(text_width, text))
    n_letters = sum(end < width for end in ends)  # the last column is for the ellipsis
    return f"{text[:n_letters].rstrip()}{ELLIPSIS}"


def shortened_inside(name: str, width: int) -> str:
    """Returns a visible name in at most ``width`` columns, cut in the middle: ends tell apart names that begin alike.

    Examples
    --------
    >>> shortened_inside("balance of the last 3 months", 20), shortened_inside("age", 9)
    ('balance of…3 months', 'age')
    """
    text = visible(name if len(name) <= 8 * width else name[: 4 * width] + name[-4 * width :])
    if text_width(text) <= width:
        return text
    first = shortened(text, width // 2 + 1).removesuffix(ELLIPSIS)
    last = shortened(text[::-1], width - text_width(first)).removesuffix(ELLIPSIS)[::-1]
    return f"{first}{ELLIPSIS}{last}"


def text_width(text: str) -> int:
    """Returns the number of columns that a text takes."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def quoted_names(names: Sequence[str]) -> str:
    """Returns names in quotes, at most the first eight, for a message.

    Examples
    --------
    >>> quoted_names(["age", "sex"]), quoted_names([*"abcdefghijk"])[-19:]
    ("'age', 'sex'", "'g', 'h' and 3 more")
    """
    return ", ".join(map(repr, names[:LISTED])) + (f" and {len(names) - LISTED:,} more" if len(names) > LISTED else "")


def isolated(text: str) -> str:
    r"""Returns a text that does not change the direction of the surrounding sentence.

    Examples
    --------
    >>> isolated("age"), isolated("\u05d0")
    ('age', '\u2068א\u2069')
    """
    is_right_to_left = any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text)
    return f"\u2068{text}\u2069" if is_right_to_left else text

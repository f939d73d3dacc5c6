"""Names as a reader may see them: nothing invisible, nothing that turns the text around it, no end of letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate

# control characters, lone surrogates, and what embeds or overrides the direction of text; marks of direction may stay
UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
ELLIPSIS = "…"
LISTED = 8  # names in a message


def visible(name: str) -> str:
    r"""A name on one line, with characters that cannot be seen spelled out.

    Examples
    --------
    >>> visible("a\u202eb")
    'a\\u202eb'
    """
    return " ".join(UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", name).split())


def shortened(name: str, width: int) -> str:
    """A visible name in at most so many columns, of which wide letters take two.

    Examples
    --------
    >>> shortened("body mass index", 9), shortened("age", 9)
    ('body mas…', 'age')
    """
    text = visible(name[: 8 * width])  # enough to fill the columns, and no work for more
    if columns(text) <= width:
        return text
    ends = accumulate(map(columns, text))
    fits = sum(end < width for end in ends)  # the last column is for the dots
    return f"{text[:fits].rstrip()}{ELLIPSIS}"


def columns(text: str) -> int:
    """How many columns a text takes."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def listed(names: Sequence[str]) -> str:
    """Names in quotes, the first eight of many, for a message.

    Examples
    --------
    >>> listed(["age", "sex"]), listed([*"abcdefghijk"])[-19:]
    ("'age', 'sex'", "'g', 'h' and 3 more")
    """
    return ", ".join(map(repr, names[:LISTED])) + (f" and {len(names) - LISTED:,} more" if len(names) > LISTED else "")


def isolated(text: str) -> str:
    r"""A text that leaves the direction of the sentence around it as it is.

    Examples
    --------
    >>> isolated("age"), isolated("\u05d0")
    ('age', '\u2068א\u2069')
    """
    is_turned = any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text)
    return f"\u2068{text}\u2069" if is_turned else text

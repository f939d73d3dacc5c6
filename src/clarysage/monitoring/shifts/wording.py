"""Numbers, shares and labels as hints show them."""

from __future__ import annotations

import math
from collections.abc import Sequence

SHOWN = 24  # letters of a label
SHORT = 8  # letters of a number that is shown as it is


def plain_number(value: float) -> str:
    """A number as people write it, all digits that tell.

    Examples
    --------
    >>> plain_number(3.0), plain_number(0.1), plain_number(-999.0)
    ('3', '0.1', '-999')
    """
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def few_digits(value: float) -> str:
    """A number that many rows have: whole ones and short ones as they are, others rounded.

    Examples
    --------
    >>> few_digits(-999.0), few_digits(0.125), few_digits(3.3756943570150857), few_digits(1234567.891)
    ('-999', '0.125', '3.3757', '1,234,567.9')
    """
    text = plain_number(value)
    if float(value).is_integer() or len(text) <= SHORT or not math.isfinite(value):
        return text
    return about(value, max(5, _size(value) + 2))


def about(value: float, digits: int = 2) -> str:
    """A number to so many significant digits, without an exponent where it is of middling size.

    Examples
    --------
    >>> about(59.83), about(0.016667), about(12345.0), about(1.8e9)
    ('60', '0.017', '12,000', '1.8e+09')
    """
    if not value or not math.isfinite(value):
        return f"{value:g}"
    size = _size(value)
    rounded = round(value, digits - 1 - size)
    if not -5 <= size < 9:
        return f"{value:.{digits - 1}e}"
    text = f"{rounded:,.{max(0, digits - 1 - size)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """A share of rows.

    Examples
    --------
    >>> percent(0.12), percent(0.0042), percent(0.00001), percent(0.9999), percent(0.0)
    ('12 %', '0.42 %', '<0.01 %', '>99.9 %', '0 %')
    """
    if 0 < share < 1e-4:
        return "<0.01 %"
    if 0.999 < share < 1:
        return ">99.9 %"
    return f"{about(100 * share, 3 if share > 0.99 else 2)} %"


def both(reference: float, current: float) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to see how they differ.

    Examples
    --------
    >>> both(3.14159, 4.5), both(100.01, 100.03), both(9.93, 12_000.0)
    (('3.1', '4.5'), ('100.01', '100.03'), ('9.9', '12,000'))
    """
    places = 1 - math.floor(math.log10(abs(current - reference))) if current != reference else 1
    one, other = (about(number, max(2, _size(number) + 1 + places)) for number in (reference, current))
    return one, other


def _size(value: float) -> int:
    """The power of ten of its first digit."""
    return math.floor(math.log10(abs(value))) if value else 0


def from_to(reference: float, current: float) -> str:
    """Two shares.

    Examples
    --------
    >>> from_to(0.0, 0.12)
    'from 0 % to 12 %'
    """
    return f"from {percent(reference)} to {percent(current)}"


def quoted(label: str) -> str:
    r"""A label in quotes, with what cannot be seen spelled out, and no end of letters.

    Examples
    --------
    >>> print(quoted("a\u202eb"), quoted("x" * 10_000))
    'a\u202eb' 'xxxxxxxxxxxxxxxxxxxxxxx…'
    """
    return repr(label if len(label) <= SHOWN else f"{label[: SHOWN - 1]}…")


def listed(labels: Sequence[str], noun: str = "") -> str:
    """The first label and how many more.

    Examples
    --------
    >>> listed(["xx", "yy", "zz"]), listed(["xx", "yy"]), listed(["xx"])
    ("'xx' and 2 more", "'xx' and 'yy'", "'xx'")
    """
    if len(labels) <= 2:
        return " and ".join(map(quoted, labels))
    return f"{quoted(labels[0])} and {len(labels) - 1:,} more{f' {noun}' if noun else ''}"

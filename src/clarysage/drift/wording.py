"""Writes numbers, shares, dates and labels as hints show them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

LONGEST_LABEL = 24  # characters of a label
TIME_UNITS = (("year", 365.2425), ("day", 1.0), ("hour", 1 / 24), ("minute", 1 / 1440), ("second", 1 / 86_400))  # days
LONGEST_NUMBER = 8  # characters of a number that is not rounded


def plain_number(value: float) -> str:
    """Writes a number with all its digits, integers without a decimal point.

    Examples
    --------
    >>> plain_number(3.0), plain_number(0.1), plain_number(-999.0)
    ('3', '0.1', '-999')
    """
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def few_digits(value: float) -> str:
    """Writes a number that many rows have: integers and short numbers exactly, others rounded to five digits or more.

    Examples
    --------
    >>> few_digits(-999.0), few_digits(0.125), few_digits(3.3756943570150857), few_digits(1234567.891)
    ('-999', '0.125', '3.3757', '1,234,567.9')
    """
    text = plain_number(value)
    if float(value).is_integer() or len(text) <= LONGEST_NUMBER or not math.isfinite(value):
        return text
    return about(value, max(5, _magnitude(value) + 2))


def about(value: float, digits: int = 2) -> str:
    """Rounds a number to some significant digits, and writes very small and very large ones with an exponent.

    Examples
    --------
    >>> about(59.83), about(0.016667), about(12345.0), about(1.8e9)
    ('60', '0.017', '12,000', '1.8e+09')
    """
    if not value or not math.isfinite(value):
        return f"{value:g}"
    magnitude = _magnitude(value)
    rounded = round(value, digits - 1 - magnitude)
    if not -5 <= magnitude < 9:
        return f"{value:.{digits - 1}e}"
    text = f"{rounded:,.{max(0, digits - 1 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """Writes a share of rows in percent.

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


def two_numbers(reference: float, current: float) -> tuple[str, str]:
    """Rounds two numbers to as many digits as show their difference.

    Examples
    --------
    >>> two_numbers(3.14159, 4.5), two_numbers(100.01, 100.03), two_numbers(9.93, 12_000.0)
    (('3.1', '4.5'), ('100.01', '100.03'), ('9.9', '12,000'))
    """
    decimals = 1 - math.floor(math.log10(abs(current - reference))) if current != reference else 1
    digits = [max(2, _magnitude(number) + 1 + decimals) for number in (reference, current)]
    return about(reference, digits[0]), about(current, digits[1])


def _magnitude(value: float) -> int:
    """Returns the power of ten of the first digit."""
    return math.floor(math.log10(abs(value))) if value else 0


def as_date(days: float) -> str:
    """Writes the date a number of days after 1970-01-01.

    Examples
    --------
    >>> as_date(0.0), as_date(19_723.5)
    ('1970-01-01', '2024-01-01')
    """
    return str(np.datetime64(int(np.floor(days)), "D"))


def duration(days: float) -> str:
    """Writes a duration in its largest fitting unit.

    Examples
    --------
    >>> duration(31.0), duration(1 / 24), duration(1500.0)
    ('31 days', '1 hour', '4.1 years')
    """
    unit, length = next(
        ((unit, length) for unit, length in TIME_UNITS if days >= (2 if unit == "year" else 0.99) * length),
        TIME_UNITS[-1],
    )
    number = about(days / length, 3 if unit == "day" else 2)
    return f"{number} {unit}{'' if number == '1' else 's'}"


def from_to(reference: float, current: float) -> str:
    """Writes how a share changed.

    Examples
    --------
    >>> from_to(0.0, 0.12)
    'from 0 % to 12 %'
    """
    return f"from {percent(reference)} to {percent(current)}"


def quoted(label: str) -> str:
    r"""Writes a label in quotes, shortened, with invisible characters as escapes.

    Examples
    --------
    >>> print(quoted("a\u202eb"), quoted("x" * 10_000))
    'a\u202eb' 'xxxxxxxxxxxxxxxxxxxxxxx…'
    """
    return repr(label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…")


def first_labels(labels: Sequence[str], noun: str = "") -> str:
    """Writes one or two labels; of more, the first and the number of the others.

    Examples
    --------
    >>> first_labels(["xx", "yy", "zz"]), first_labels(["xx", "yy"]), first_labels(["xx"])
    ("'xx' and 2 more", "'xx' and 'yy'", "'xx'")
    """
    if len(labels) <= 2:
        return " and ".join(map(quoted, labels))
    return f"{quoted(labels[0])} and {len(labels) - 1:,} more{f' {noun}' if noun else ''}"

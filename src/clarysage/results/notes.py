"""Notes of a run: which of them are warnings, and what they advise."""

from __future__ import annotations

import re

ADVICE = re.compile(r"(?<=[.:)]) (Try .+|More [a-z ]+ help\.?)$", flags=re.DOTALL)  # with which a warning ends


def parted(note: str) -> tuple[str, str]:
    """A note and the advice it ends with, which makes it a warning; empty for other notes.

    Examples
    --------
    >>> parted("Rows are strange. Try others.")
    ('Rows are strange.', 'Try others.')
    >>> parted("All is well.")
    ('All is well.', '')
    """
    ending = ADVICE.search(note)
    return (note, "") if ending is None else (note[: ending.start()], ending[1])

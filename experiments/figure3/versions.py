"""Versions of the bank's test part: unchanged, and with one feature encoded differently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from experiments.parts import Part
from tests.lab.bank import CORRUPTIONS

CLEAN = "test"


@dataclass(frozen=True)
class Version:
    """A version of a part.

    Attributes
    ----------
    name, title : its key, and its title in the figure
    column : the feature that is encoded differently; None in the unchanged version
    encode : function that changes the column
    """

    name: str
    title: str
    column: str | None = None
    encode: Callable[[Any], Any] | None = None

    def of(self, part: Part) -> Part:
        """Returns the part in this version."""
        if self.column is None or self.encode is None:
            return part
        return Part(part.X.assign(**{self.column: self.encode(part.X[self.column])}), part.y)


VERSIONS = {
    version.name: version
    for version in (
        Version(CLEAN, "Test"),
        Version("month", "Month, the next one", "Month", CORRUPTIONS["month, the next"].of),
        Version("seconds", "Duration × 60 (“seconds”)", "Duration", CORRUPTIONS["duration x 60"].of),
        Version("hours", "Duration / 60 (“hours”)", "Duration", CORRUPTIONS["duration / 60"].of),
    )
}
CORRUPTED = tuple(name for name in VERSIONS if name != CLEAN)

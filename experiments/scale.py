"""How much of an experiment is done: its configuration at a scale."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCALES = {
    "small": "all of the paper within half an hour on two cores",
    "practical": "the largest that is practical on two cores; its results are kept in the repository",
    "full": "the paper's own",
}


@dataclass(frozen=True)
class Scale:
    """A scale, and where its results go.

    Attributes
    ----------
    name : a key of SCALES
    root : folder of results, in which every item has a folder of its own, and pieces of work that items share another
    jobs : processes at work
    """

    name: str
    root: Path
    jobs: int = 1

    def folder(self, name: str) -> Path:
        """The folder of an item, or of shared pieces of work; it is there afterwards."""
        folder = self.root / self.name / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def settings(self, item: str) -> dict[str, Any]:
        """The configuration of an item at this scale: what its file says of all scales, and of this one."""
        whole = tomllib.loads((HERE / item / "config.toml").read_text())
        return {**whole.get("always", {}), **whole[self.name]}


def paper(item: str) -> dict[str, Any]:
    """The paper's numbers for an item."""
    return tomllib.loads((HERE / item / "paper.toml").read_text())

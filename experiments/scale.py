"""Scales of the experiments: configuration and folder of results."""

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
    root : folder of results, with a folder for every item and for results that items share
    jobs : number of processes
    """

    name: str
    root: Path
    jobs: int = 1

    def folder(self, name: str) -> Path:
        """Returns the folder of an item or of shared results, and creates it if necessary."""
        folder = self.root / self.name / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def settings(self, item: str) -> dict[str, Any]:
        """Returns the configuration of an item: the settings for all scales and those for this one."""
        configuration = tomllib.loads((HERE / item / "config.toml").read_text())
        return {**configuration.get("always", {}), **configuration[self.name]}


def paper(item: str) -> dict[str, Any]:
    """Returns the paper's numbers for an item."""
    return tomllib.loads((HERE / item / "paper.toml").read_text())

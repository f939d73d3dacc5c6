"""The outcome of an experiment: our numbers and the paper's, findings, figures, settings and versions."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import clarysage as cs
from clarysage._utils.atomic import write_atomically

LIBRARIES = ("numpy", "scikit-learn", "catboost", "xgboost-cpu", "torch")


@dataclass(frozen=True)
class Number:
    """A number of the paper and ours.

    Attributes
    ----------
    what : description of the number
    paper : as printed in the paper; None if it is not there
    ours : None if we have none
    low, high : ends of our 95 % interval
    said : a remark on the difference
    """

    what: str
    paper: float | str | None
    ours: float | None
    low: float | None = None
    high: float | None = None
    said: str = ""


@dataclass(frozen=True)
class Finding:
    """A conclusion of the paper, and our verdict: "confirmed", "refuted" or "open"."""

    claim: str
    verdict: str
    said: str


@dataclass(frozen=True)
class Outcome:
    """Results of an item at a scale.

    Attributes
    ----------
    item, title : its folder, and its name in the paper
    settings : the configuration it was run with
    numbers, findings : for RESULTS.md and for the page of the item
    words : paragraphs for its page only
    data : other results to store, such as points of curves
    seconds : of the run, without results from the cache
    """

    item: str
    title: str
    scale: str
    settings: Mapping[str, Any]
    numbers: Sequence[Number] = ()
    findings: Sequence[Finding] = ()
    words: Sequence[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    figures: Sequence[str] = ()
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Writes results.json and the page, README.md, to a folder."""
        from experiments.page import as_page

        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in asdict(self).items())
        write_atomically(f"{{\n{lines}\n}}\n", folder / "results.json")
        write_atomically(as_page(self), folder / "README.md")

    @classmethod
    def read(cls, folder: Path) -> Outcome:
        results = json.loads((folder / "results.json").read_text())
        numbers, findings = (
            [kind(**entry) for entry in results.pop(name)]
            for name, kind in (("numbers", Number), ("findings", Finding))
        )
        return cls(**results, numbers=numbers, findings=findings)


def save_figures(figures: Mapping[str, Figure], folder: Path) -> list[str]:
    """Saves figures to a folder and returns the names of the files."""
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=150, bbox_inches="tight", metadata={"Software": None})
    return [f"{name}.png" for name in figures]


def versions() -> dict[str, str]:
    """Returns the versions of the libraries that the results may depend on."""
    from importlib.metadata import PackageNotFoundError, version

    by_library = {"clarysage": cs.__version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            by_library[library] = version(library)
        except PackageNotFoundError:
            continue
    return by_library

"""What came out of an experiment: numbers beside the paper's, findings, figures, and how it was made."""

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
    """A number of the paper beside ours.

    Attributes
    ----------
    what : what it is a number of
    paper : as printed there; None where the paper has none
    ours : None where we have none
    low, high : ends of a 95 % interval of ours
    said : a sentence on the difference
    """

    what: str
    paper: float | str | None
    ours: float | None
    low: float | None = None
    high: float | None = None
    said: str = ""


@dataclass(frozen=True)
class Finding:
    """A conclusion of the paper, and what became of it: "confirmed", "refuted" or "open"."""

    claim: str
    verdict: str
    said: str


@dataclass(frozen=True)
class Outcome:
    """Results of an item at a scale.

    Attributes
    ----------
    item, title : its folder, and as it is called in the paper
    settings : the configuration it was run with
    numbers, findings : for RESULTS.md and for the page of the item
    words : paragraphs for its page alone
    data : whatever else is worth keeping, such as points of curves
    seconds : that the run took, without what was found from an earlier one
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
        """Puts results.json and the page, README.md, into a folder."""
        from experiments.page import as_page

        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in asdict(self).items())
        write_atomically(f"{{\n{lines}\n}}\n", folder / "results.json")
        write_atomically(as_page(self), folder / "README.md")

    @classmethod
    def read(cls, folder: Path) -> Outcome:
        found = json.loads((folder / "results.json").read_text())
        numbers, findings = (
            [kind(**one) for one in found.pop(name)] for name, kind in (("numbers", Number), ("findings", Finding))
        )
        return cls(**found, numbers=numbers, findings=findings)


def drawn(figures: Mapping[str, Figure], folder: Path) -> list[str]:
    """Figures as files in a folder; their names."""
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=150, bbox_inches="tight", metadata={"Software": None})
    return [f"{name}.png" for name in figures]


def versions() -> dict[str, str]:
    """What results may depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"clarysage": cs.__version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found

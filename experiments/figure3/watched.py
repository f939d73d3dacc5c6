"""What monitoring finds when a version of the test part is compared with the validation part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pandas as pd

import clarysage as cs
from experiments.figure3.versions import VERSIONS
from experiments.kept import Kept
from experiments.parts import Part
from experiments.scale import Scale
from experiments.tasks import Task, task_of

TARGET = "subscribed"


@dataclass(frozen=True)
class Watched:
    """Contributions on the validation part and on a version of the test part, and what is known to have changed.

    Attributes
    ----------
    before, after : SAGE values of the features
    before_ends, after_ends : ends of their intervals, two lists each
    difference : ends of an interval of each, around ``after - before``
    flagged, shifted, followed : features that are flagged, whose inputs shifted, and whose contributions changed along
        with those of a flagged one
    """

    features: Sequence[str]
    before: Sequence[float]
    after: Sequence[float]
    before_ends: Sequence[Sequence[float]]
    after_ends: Sequence[Sequence[float]]
    difference: Sequence[Sequence[float]]
    flagged: Sequence[str]
    shifted: Sequence[str]
    followed: Sequence[str]

    def place(self, feature: str) -> int:
        return list(self.features).index(feature)

    @classmethod
    def of(cls, found: cs.Monitoring, level: float) -> Watched:
        findings = found.findings()
        ends = [[_short(side) for side in one.interval(level, about="rows")] for one in found.comparison.explanations]
        return cls(
            list(found.feature_names),
            _short(one.before for one in findings),
            _short(one.after for one in findings),
            *ends,
            [_short(one.low for one in findings), _short(one.high for one in findings)],
            found.flagged,
            found.shifted,
            [one.feature for one in findings if one.is_changed and not one.is_flagged],
        )


def watched(scale: Scale) -> dict[str, Watched]:
    """Each version of the bank's test part beside the validation part; those that were made before are found again."""
    settings = scale.settings("figure3")
    kept = Kept.of(scale.folder("figure3") / "watched.json", task="bank", settings=settings)
    found = kept.all(list(VERSIONS), partial(_made, settings), title="Bank monitored", jobs=scale.jobs)
    return {name: Watched(**one) for name, one in zip(VERSIONS, found, strict=True)}


def _made(settings: dict[str, Any], name: str) -> dict[str, Any]:
    task = task_of("bank")
    return asdict(compared(task, VERSIONS[name].of(task.test), **settings))


def compared(task: Task, current: Part, *, tolerance: float, level: float, rng: int) -> Watched:
    """Rows of a part beside those of the task's validation part."""
    found = cs.monitor(
        task.model,
        _whole(task.parts.validation),
        _whole(current),
        target=TARGET,
        background=task.background,
        loss=task.loss,
        tolerance=tolerance,
        level=level,
        rng=rng,
    )
    return Watched.of(found, level)


def _whole(part: Part) -> pd.DataFrame:
    return part.X.assign(**{TARGET: part.y})


def _short(numbers: Any) -> list[float]:
    return [float(f"{number:.6g}") for number in numbers]

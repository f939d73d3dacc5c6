"""Monitoring of each version of the test part against the validation part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pandas as pd

import clarysage as cs
from experiments.figure3.versions import VERSIONS
from experiments.parts import Part
from experiments.result_cache import ResultCache
from experiments.scale import Scale
from experiments.tasks import Task, task_of

TARGET = "subscribed"


@dataclass(frozen=True)
class MonitoredVersion:
    """Contributions on the validation part and on a version of the test part, and their significant changes.

    Attributes
    ----------
    before, after : SAGE values of the features
    before_ends, after_ends : ends of their intervals, two lists each
    difference : ends of an interval of each ``after - before``
    flagged, shifted, followed : features that are flagged, whose inputs shifted, and whose contributions changed
        without being flagged
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

    def index(self, feature: str) -> int:
        return list(self.features).index(feature)

    @classmethod
    def of(cls, monitoring: cs.Monitoring, level: float) -> MonitoredVersion:
        findings = monitoring.findings()
        ends = [
            [_short(side) for side in explanation.interval(level, about="rows")]
            for explanation in monitoring.comparison.explanations
        ]
        return cls(
            list(monitoring.feature_names),
            _short(finding.before for finding in findings),
            _short(finding.after for finding in findings),
            *ends,
            [_short(finding.low for finding in findings), _short(finding.high for finding in findings)],
            monitoring.flagged,
            monitoring.shifted,
            [finding.feature for finding in findings if finding.is_changed and not finding.is_flagged],
        )


def monitored_versions(scale: Scale) -> dict[str, MonitoredVersion]:
    """Compares each version of the bank's test part with the validation part, from the cache where possible."""
    settings = scale.settings("figure3")
    cache = ResultCache.open(scale.folder("figure3") / "watched.json", task="bank", settings=settings)
    results = cache.compute(list(VERSIONS), partial(_compute, settings), title="Bank monitored", jobs=scale.jobs)
    return {name: MonitoredVersion(**result) for name, result in zip(VERSIONS, results, strict=True)}


def _compute(settings: dict[str, Any], name: str) -> dict[str, Any]:
    task = task_of("bank")
    return asdict(compared(task, VERSIONS[name].of(task.test), **settings))


def compared(task: Task, current: Part, *, tolerance: float, level: float, rng: int) -> MonitoredVersion:
    """Compares a part with the task's validation part."""
    monitoring = cs.monitor(
        task.model,
        _table(task.parts.validation),
        _table(current),
        target=TARGET,
        background=task.background,
        loss=task.loss,
        tolerance=tolerance,
        level=level,
        rng=rng,
    )
    return MonitoredVersion.of(monitoring, level)


def _table(part: Part) -> pd.DataFrame:
    return part.X.assign(**{TARGET: part.y})


def _short(numbers: Any) -> list[float]:
    return [float(f"{number:.6g}") for number in numbers]

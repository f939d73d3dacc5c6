"""Table 2: correlation between the total importance of a subset and the loss of a model fitted to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from experiments.methods import importances
from experiments.outcome import Finding, Number, Outcome
from experiments.scale import Scale, paper
from experiments.style import TITLES
from experiments.table2.correlation import Correlations
from experiments.table2.figure import figure
from experiments.table2.retrained import retrained
from experiments.table2.splits import over_splits
from experiments.table2.words import SIZE, about_ablation, about_sage, difference
from experiments.tasks import TASKS, task_of


@dataclass(frozen=True, eq=False)
class Judged:
    """Results for a dataset: a column of the table."""

    name: str
    title: str
    correlations: Correlations
    subsets: np.ndarray
    losses: np.ndarray
    totals: np.ndarray
    splits: dict[str, list[float]]


def outcome(scale: Scale) -> tuple[Outcome, dict[str, Figure]]:
    judged = [_judged(name, scale) for name in TASKS]
    printed = paper("table2")
    numbers = [_number(dataset, method, printed) for dataset in judged for method in dataset.correlations.values]
    return (
        Outcome(
            "table2",
            "",
            scale.name,
            {},
            numbers=numbers,
            findings=_findings(judged, printed),
            words=_words(judged),
            data={
                dataset.name: {
                    "subsets": len(dataset.losses),
                    "different": len(np.unique(dataset.subsets, axis=0)),
                    "correlations": dict(dataset.correlations.values),
                    "among subsets of one size": dict(dataset.correlations.within),
                    "other splits": dataset.splits,
                }
                for dataset in judged
            },
        ),
        {"table2": figure(judged, printed)},
    )


def _judged(name: str, scale: Scale) -> Judged:
    settings = scale.settings("table2")
    task = task_of(name)
    subsets, losses = retrained(name, settings[name], scale.folder("retrained"), jobs=scale.jobs)
    scores = {method: importance.scores for method, importance in importances(name, scale).items()}
    scores[SIZE] = np.ones(len(task.features))
    correlations = Correlations.of(scores, subsets, losses, resamples=settings["resamples"])
    totals = subsets @ scores["sage"]
    return Judged(name, task.title, correlations, subsets, losses, totals, over_splits(name, scale))


def _number(judged: Judged, method: str, printed: dict) -> Number:
    theirs = printed.get(method, {}).get(judged.name)
    ours = judged.correlations.values[method]
    low, high = judged.correlations.interval(method)
    remark = difference(judged, method, theirs, printed["subsets"][judged.name])
    what = f"{judged.title}, {TITLES.get(method, method)}"
    return Number(what, theirs, round(ours, 4), round(low, 4), round(high, 4), remark)


def _findings(judged: list[Judged], printed: dict) -> list[Finding]:
    wide = [dataset for dataset in judged if dataset.name in ("brca", "mnist")]
    return [*(about_sage(dataset, printed) for dataset in judged), *map(about_ablation, wide)]


def _words(judged: list[Judged]) -> list[str]:
    counted = "; ".join(
        f"{dataset.title}: {len(dataset.losses):,} ({len(np.unique(dataset.subsets, axis=0)):,} different)"
        for dataset in judged
    )
    return [
        "Random subsets of features, whose size is drawn first; a model fitted anew to each; the correlation of its "
        "test loss, with the sign turned, with the summed importance of the features it was given. Intervals are over "
        "other draws of as many subsets; they do not count other splits of the rows, other seeds of the learner or "
        "the error of the importances.",
        f"Subsets: {counted}.",
        *(f"{dataset.title}: {caveat}" for dataset in judged if (caveat := task_of(dataset.name).caveat)),
        _within(judged),
        "That ablation is called open where splits disagree was settled after other splits had been looked at.",
        f'"{SIZE}" is a control that is not in the paper: every feature counts as one.',
    ]


def _within(judged: list[Judged]) -> str:
    """Returns a table of correlations among subsets of one size."""
    methods = [method for method in judged[0].correlations.within if method != SIZE]
    lines = [
        "Sums of values that are mostly of one sign grow with the number of features, as performance does. Among "
        "subsets of one size, so with the mean of each size taken off both, correlations are:",
        "",
        "| | " + " | ".join(dataset.title for dataset in judged) + " |",
        "|---|" + "---|" * len(judged),
    ]
    for method in methods:
        cells = " | ".join(f"{dataset.correlations.within[method]:.4f}" for dataset in judged)
        lines.append(f"| {TITLES[method]} | {cells} |")
    return "\n".join(lines)

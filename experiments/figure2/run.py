"""Figure 2: feature selection on MNIST with the most and the least important pixels of each method."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.figure1.run import METHODS
from experiments.figure2 import words
from experiments.figure2.curves import AccuracyCurve
from experiments.figure2.figure import figure
from experiments.figure2.retrained import accuracies
from experiments.figure2.selection import ENDS, selected
from experiments.methods import importances
from experiments.outcome import Finding, Outcome
from experiments.scale import Scale, paper
from experiments.tasks import task_of

PAPERS_ROWS = 54_000
FEWER = (
    "At this scale SAGE values had not converged when their budget was spent (Figure 1 says how far they came), and "
    "networks learn from fewer rows than the paper's: both may move what is found."
)


def outcome(scale: Scale) -> tuple[Outcome, dict[str, Figure]]:
    curves = _curves(scale)
    y = task_of("mnist").test.y
    base = float(np.mean(y == np.bincount(task_of("mnist").parts.train.y).argmax()))
    return (
        Outcome(
            "figure2",
            "",
            scale.name,
            {},
            numbers=words.numbers(curves),
            findings=_findings(curves, base, scale),
            words=_words(scale),
            data={f"{method}, {end}": curve.accuracies.tolist() for (method, end), curve in curves.items()},
        ),
        {"figure2": figure(curves, base)},
    )


def _curves(scale: Scale) -> words.Curves:
    settings = scale.settings("figure2")
    sizes, seeds = settings["sizes"], settings["seeds"]
    scores = {method: importance.scores for method, importance in importances("mnist", scale, METHODS).items()}
    pairs = [(method, end) for end in ENDS for method in scores]
    subsets = [selected(scores[method], end, k) for method, end in pairs for k in sizes]
    shares = accuracies(subsets, settings["rows"], seeds, scale.folder("selected"), jobs=scale.jobs)
    test_rows = len(task_of("mnist").test)
    return {
        (method, end): AccuracyCurve(method, end, sizes, part, test_rows)
        for (method, end), part in zip(pairs, shares.reshape(len(pairs), len(sizes), seeds), strict=True)
    }


def _findings(curves: words.Curves, base: float, scale: Scale) -> list[Finding]:
    printed = paper("figure2")
    return [
        words.about_best(curves, "sage", "best", printed["important"]),
        words.about_best(curves, "univariate predictors", "worst", printed["unimportant"]),
        words.about_baselines(curves, printed["baselines"], base, scale.settings("figure2")["no_power"]),
        words.about_both(curves, printed["both"]),
    ]


def _words(scale: Scale) -> list[str]:
    settings, methods = scale.settings("figure2"), scale.settings("methods")
    return [
        "Pixels are ranked by each method's values, which were found as for Figure 1 (refits with "
        f"{methods['mnist_refit_rows']:,} rows). To the best k of them, and to the worst k, networks are fitted with "
        f"{settings['rows']:,} training rows, {settings['seeds']} with different seeds, and judged on the 10,000 test "
        "rows. As in the paper, values are found on test rows too: what was chosen was seen by those who judge it.",
        "Intervals of 95 % are over seeds and over other test rows, with the pixels as they were chosen. The area "
        "under a curve is its mean height between the least and the largest number of pixels.",
        *([FEWER] if settings["rows"] < PAPERS_ROWS else []),
    ]

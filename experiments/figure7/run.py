"""Figure 7: how quickly SAGE, and averages of loss SHAP values, come to the converged values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.figure7.compared import PAIRED, SAGE, SHAP, Compared, compared
from experiments.figure7.figure import figure
from experiments.figure7.pieces import runs
from experiments.outcome import Finding, Number, Outcome
from experiments.scale import Scale, paper
from experiments.tasks import task_of

FALLING = (
    -0.5
)  # slope of the error by evaluations, both in logarithms, below which values converge; -1 is that of means
ROUGHLY = 0.5  # orders of magnitude
WORDS = (
    "Lines are means over repetitions with other seeds, bands hold four fifths of these. Models are taken as black "
    "boxes: an evaluation is one row passed to the model, and 512 of them make one value of a coalition. Converged "
    "values are those of a longer run, of the library's default method.",
    "Averaged SHAP as in the paper: the mean number of iterations that Algorithm 1 takes on a single example to "
    "t = 0.01 is found first, on some examples; then explanations of single examples are averaged, each at that "
    "price. Examples that had not converged at the most iterations allowed count with these, so that ratios are too "
    "small rather than too large. No example is averaged twice, which favours SHAP. The values of single examples are "
    "found by paired walks, which have the same expectation; their noise is a small share of how examples differ.",
    "Ratios are those of evaluations at equal MSE, from all points of the curves, in orders of magnitude.",
)


def outcome(scale: Scale) -> tuple[Outcome, dict[str, Figure]]:
    settings = scale.settings("figure7")
    found = [compared(task_of(name), runs(name, scale), settings) for name in settings["tasks"]]
    done = Outcome(
        "figure7", "", scale.name, {}, numbers=[row for one in found for row in rows(one, settings)],
        findings=[converge(found), more(found), size(found)], words=WORDS, data={one.title: data(one) for one in found},
    )  # fmt: skip
    return done, {"figure7": figure(found)}


def rows(one: Compared, settings: Mapping[str, Any]) -> list[Number]:
    said = (
        f"on {settings['pilots']} examples, of which {one.unfinished:.0%} had not converged at {settings['iterations']}"
    )
    printed = "{}-{}".format(*paper("figure7")["orders_of_magnitude"])
    ratios = (
        ("SHAP / SAGE, orders of magnitude", printed, one.more, f"{10**one.more.value:,.0f} times the evaluations"),
        ("SAGE / paired walks, orders of magnitude", None, one.fewer, f"{10**one.fewer.value:,.1f} times"),
    )
    return [
        *(Number(f"{one.title}: {what}", claim, ratio.value, ratio.low, ratio.high, words)
          for what, claim, ratio, words in ratios),
        Number(f"{one.title}: iterations for a local explanation", None, one.iterations, said=said),
        *(reached(one, name, settings["reached"]) for name in (SAGE, PAIRED, SHAP)),
    ]  # fmt: skip


def reached(one: Compared, name: str, height: float) -> Number:
    curve = one.curves[name]
    needed = curve.needed(height)
    last = f"{curve.correlation[:, -1].mean():.3f} at {curve.evaluations[-1]:,.0f}"
    return Number(f"{one.title}: evaluations to a correlation of {height}, {name}", None, needed, said=last)


def converge(found: Sequence[Compared]) -> Finding:
    slopes = {(one.title, name): one.curves[name].slope for one in found for name in (SAGE, SHAP)}
    said = "; ".join(f"{title}, {name}: {slope:.2f}" for (title, name), slope in slopes.items())
    holds = all(slope < FALLING for slope in slopes.values())
    words = f"MSE falls with evaluations to the power of (-1 is that of means): {said}."
    return Finding(paper("figure7")["converge"], "confirmed" if holds else "refuted", words)


def more(found: Sequence[Compared]) -> Finding:
    low, high = paper("figure7")["orders_of_magnitude"]
    holds = all(low <= one.more.value <= high for one in found)
    is_outside = any(one.more.high < low or one.more.low > high for one in found)
    verdict = "confirmed" if holds else "refuted" if is_outside else "open"
    said = ", ".join(f"{one.title} {one.more.value:.1f} ({one.more.low:.1f} to {one.more.high:.1f})" for one in found)
    return Finding(paper("figure7")["more"], verdict, f"Orders of magnitude: {said}.")


def size(found: Sequence[Compared]) -> Finding:
    """The paper's reason for the ratio: as many examples as there are."""
    holds = all(abs(one.more.value - np.log10(one.rows)) <= ROUGHLY for one in found)
    said = "; ".join(
        f"{one.title}: {10**one.more.value:,.0f} times as many, with {one.rows:,} test rows and {one.iterations:,.0f} "
        "iterations for a local explanation"
        for one in found
    )
    return Finding(paper("figure7")["size"], "confirmed" if holds else "refuted", f"{said}.")


def data(one: Compared) -> dict[str, Any]:
    curves = {
        name: {"evaluations": curve.evaluations.tolist(), "mse": curve.mse.tolist(),
               "correlation": curve.correlation.tolist()}
        for name, curve in one.curves.items()
    }  # fmt: skip
    return {"curves": curves, "noise of local explanations": one.noise, "unfinished": one.unfinished}

"""Figure 7: convergence of SAGE, and of averages of loss SHAP values."""

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

FALLING = -0.5  # largest log-log slope of the error by evaluations that counts as convergence; means have -1
ROUGHLY = 0.5  # orders of magnitude
WORDS = (
    "Lines are means over repetitions, bands hold four fifths of these. Models are taken as black boxes: an evaluation "
    "is one row passed to the model, and 512 of them make one value of a coalition. Converged values are those of a "
    "longer run, of the library's default method.",
    "Averaged SHAP as in the paper: the mean number of iterations that Algorithm 1 takes on a single example to "
    "t = 0.01 is found first, on some examples; then explanations of single examples are averaged, each at that price. "
    "Where a run on an example ends before, the iterations it takes are reckoned from its standard errors. The values "
    "of the averaged examples are found by paired walks, which have the same expectation, and little noise beside how "
    "examples differ. No example is averaged twice, which favours SHAP.",
    "Squared errors of means fall with evaluations, so that evaluations times MSE is one number for a curve, and "
    "ratios of such numbers tell by how many evaluations methods differ at equal error, as long as few of the examples "
    "are averaged. Paired walks learn on the way and do better than that, until the error of the converged values is "
    "all that is left: the ratio for them is too small.",
    "How this is reckoned was settled after a look at the small scale. There, single examples that had not converged "
    "were first counted at the iterations they had come to, which gave about 2.2 orders of magnitude for bank and "
    "bike; the share of examples whose iterations are reckoned is in the table. Bounds of verdicts (a slope of -0.5, "
    "half an order of magnitude for roughly) are ours.",
)


def outcome(scale: Scale) -> tuple[Outcome, dict[str, Figure]]:
    settings = scale.settings("figure7")
    tasks = [compared(task_of(name), runs(name, scale), settings) for name in settings["tasks"]]
    done = Outcome(
        "figure7",
        "",
        scale.name,
        {},
        words=WORDS,
        numbers=[row for task in tasks for row in rows(task, settings)],
        findings=[converge(tasks), more(tasks, settings["level"]), size(tasks)],
        data={task.title: data(task) for task in tasks},
    )
    return done, {"figure7": figure(tasks)}


def rows(task: Compared, settings: Mapping[str, Any]) -> list[Number]:
    level, printed = settings["level"], "{}-{}".format(*paper("figure7")["orders_of_magnitude"])
    remark = (
        f"{settings['pilots']} examples, of which {task.unfinished:.0%} had not converged at {settings['iterations']:,}"
        f"; noise is {task.noise:.1%} of what the averaged ones differ by"
    )
    ratios = (
        ("SHAP / SAGE, orders of magnitude", printed, task.more),
        ("SAGE / paired walks, orders of magnitude", None, task.fewer),
    )
    return [
        *(
            Number(f"{task.title}: {what}", claim, *ratio.orders_of_magnitude(level), f"{times(ratio.value)} as many")
            for what, claim, ratio in ratios
        ),
        Number(
            f"{task.title}: iterations for a local explanation",
            None,
            task.iterations.value,
            *task.iterations.interval(level),
            remark,
        ),
        *(reached(task, name, settings) for name in (SAGE, PAIRED, SHAP)),
    ]


def times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def reached(task: Compared, name: str, settings: Mapping[str, Any]) -> Number:
    """Returns the evaluations to an error that is a share of the range, and to a correlation if it was reached."""
    accuracy, height, curve = settings["accuracy"], settings["reached"], task.curves[name]
    cost, squared = task.costs[name], (accuracy * task.span) ** 2
    low, high = cost.interval(settings["level"])
    needed = curve.needed(height)
    last = f"{curve.correlation[:, -1].mean():.3f} at {curve.evaluations[-1]:,.0f}"
    return Number(
        f"{task.title}: evaluations to an error of {accuracy:.0%} of the range, {name}",
        None,
        cost.value / squared,
        low / squared,
        high / squared,
        f"correlation of {height}: {f'{needed:,.0f}' if needed else 'not yet'} ({last})",
    )


def converge(tasks: Sequence[Compared]) -> Finding:
    slopes = {(task.title, name): task.curves[name].slope for task in tasks for name in (SAGE, SHAP)}
    slopes_text = "; ".join(f"{title}, {name}: {slope:.2f}" for (title, name), slope in slopes.items())
    holds = all(slope < FALLING for slope in slopes.values())
    words = f"MSE falls with evaluations to the power of (-1 is that of means): {slopes_text}."
    return Finding(paper("figure7")["converge"], "confirmed" if holds else "refuted", words)


def more(tasks: Sequence[Compared], level: float) -> Finding:
    low, high = paper("figure7")["orders_of_magnitude"]
    ratios = {task.title: task.more.orders_of_magnitude(level) for task in tasks}
    holds = all(low <= least and most <= high for _, least, most in ratios.values())
    is_outside = any(most < low or least > high for _, least, most in ratios.values())
    verdict = "confirmed" if holds else "refuted" if is_outside else "open"
    ratios_text = ", ".join(
        f"{title} {value:.1f} ({least:.1f} to {most:.1f})" for title, (value, least, most) in ratios.items()
    )
    return Finding(paper("figure7")["more"], verdict, f"Orders of magnitude: {ratios_text}.")


def size(tasks: Sequence[Compared]) -> Finding:
    """Checks the paper's rule for the ratio: it is about the number of examples."""
    holds = all(abs(np.log10(task.more.value / task.rows)) <= ROUGHLY for task in tasks)
    remark = "; ".join(
        f"{task.title}: {times(task.more.value)} as many, with {task.rows:,} test rows and "
        f"{task.iterations.value:,.0f} iterations for a local explanation"
        for task in tasks
    )
    return Finding(paper("figure7")["size"], "confirmed" if holds else "refuted", f"{remark}.")


def data(task: Compared) -> dict[str, Any]:
    curves = {
        name: {
            "evaluations": curve.evaluations.tolist(),
            "mse": curve.mse.tolist(),
            "correlation": curve.correlation.tolist(),
        }
        for name, curve in task.curves.items()
    }
    return {"curves": curves, "noise of local explanations": task.noise}

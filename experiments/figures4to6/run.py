"""Figures 4 to 6: bank, bike and credit explained by all methods, and the agreement of the methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
from matplotlib.figure import Figure

from experiments.figures4to6.agreement import Correlation, apart, between, top
from experiments.figures4to6.figure import figure
from experiments.figures4to6.reversals import Reversal, reversals
from experiments.methods import cached_importances, importances
from experiments.methods.importance import Importance
from experiments.outcome import Finding, Number, Outcome
from experiments.scale import Scale, paper
from experiments.style import TITLES
from experiments.tasks import task_of

Pairs = Mapping[frozenset[str], Correlation]
WORDS = (
    "Features are in the order of their SAGE values, in all panels of a figure. Bars have 95 % intervals, about the "
    "population that rows are drawn from, and background where a method draws it.",
    "Rank correlations are Spearman's, over features; their intervals, by the jackknife, tell how far they depend on "
    "single features. Ranks of features near zero are largely noise. The paper leaves Mean Importance out "
    "for bank and credit, which have categories; here a category is set to the commonest one.",
    "Errors of refits are over test rows alone. Clear differences are taken to be pairs of features in opposite orders "
    "by two methods, each beyond its errors with a correction for the number of pairs: the third rule that was tried, "
    "which can confirm but not refute.",
)


def outcome(scale: Scale) -> tuple[Outcome, dict[str, Figure]]:
    settings, printed = scale.settings("figures4to6"), paper("figures4to6")
    by_task = {name: importances(name, scale) for name in settings["tasks"]}
    others = {
        name: results for name in settings["beside"] if (results := cached_importances(name, scale, printed["methods"]))
    }
    pairs = {name: between(results) for name, results in (by_task | others).items()}
    means = {name: mean_of(results, printed["methods"]) for name, results in pairs.items()}
    numbers = [row for name in by_task for row in rows(name, by_task[name], pairs[name], settings)]
    titles = {name: task_of(name).title for name in by_task} | {name: name.upper() for name in others}
    numbers += [mean_row(titles[name], mean, settings["level"]) for name, mean in means.items()]
    done = Outcome(
        "figures4to6",
        "",
        scale.name,
        {},
        numbers=numbers,
        words=WORDS,
        findings=[
            differ(by_task, settings["level"]),
            less([means[name] for name in by_task], {name: means[name] for name in others}, settings),
        ],
        data={name: {method: asdict(results) for method, results in by_task[name].items()} for name in by_task},
    )
    return done, {printed["figures"][name]: drawn(name, by_task[name], settings["level"]) for name in by_task}


def drawn(name: str, by_method: Mapping[str, Importance], level: float) -> Figure:
    task = task_of(name)
    return figure(f"{task.title} ({task.loss})", by_method, task.features, level)


def rows(name: str, by_method: Mapping[str, Importance], pairs: Pairs, settings: Mapping) -> list[Number]:
    """Returns the agreement of each method with SAGE, and the features that it ranks first."""
    task = task_of(name)
    named = {method: ", ".join(top(result, task.features, settings["top"])) for method, result in by_method.items()}
    return [
        Number(
            f"{task.title}: rank correlation of {TITLES[method]} with SAGE",
            None,
            result.value,
            *result.interval(settings["level"]),
            f"first: {named[method]}; of SAGE: {named['sage']}",
        )
        for method in by_method
        if method != "sage"
        for result in [pairs[frozenset((method, "sage"))]]
    ]


def mean_row(title: str, mean: Correlation, level: float) -> Number:
    what = f"{title}: mean rank correlation of each two of the paper's methods"
    return Number(what, None, mean.value, *mean.interval(level))


def differ(by_task: Mapping[str, Mapping[str, Importance]], level: float) -> Finding:
    """Checks the paper's first sentence: in each dataset, two methods put two features in opposite orders."""
    met = {name: reversals(results, task_of(name).features, level) for name, results in by_task.items()}
    remark = "; ".join(f"{task_of(name).title}: {seen(results)}" for name, results in met.items())
    words = f"Two features in opposite orders by two methods, each beyond noise. {remark}."
    return Finding(paper("figures4to6")["differ"], "confirmed" if all(met.values()) else "open", words)


def seen(met: Sequence[Reversal]) -> str:
    """Describes the number of reversals and the most significant one."""
    if not met:
        return "none"
    surest = met[0]
    return (
        f"{len(met)} times, such as {surest.first} before {surest.second} by {TITLES[surest.method]}, after it by "
        f"{TITLES[surest.other]}"
    )


def less(ours: list[Correlation], others: Mapping[str, Correlation], settings: Mapping) -> Finding:
    """Checks the paper's second sentence: methods agree more than on the datasets with more features."""
    claim = paper("figures4to6")["less"]
    if missing := [name.upper() for name in settings["beside"] if name not in others]:
        return Finding(claim, "open", f"Importances of {' and '.join(missing)} are not there yet: see Figure 1.")
    difference, low, high = apart(ours, list(others.values()), settings["level"])
    each = ", ".join(f"{name.upper()} {correlation.value:.2f}" for name, correlation in others.items())
    here = np.mean([correlation.value for correlation in ours])
    remark = (
        f"Mean rank correlation of each two methods: {here:.2f} for bank, bike and credit; {each}. "
        f"The former is larger by {difference:.2f} ({low:.2f} to {high:.2f})."
    )
    return Finding(claim, "confirmed" if low > 0 else "refuted" if high < 0 else "open", remark)


def mean_of(pairs: Pairs, methods: list[str]) -> Correlation:
    return Correlation.mean(correlation for both, correlation in pairs.items() if both <= set(methods))

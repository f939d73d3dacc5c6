"""Figures 4 to 6: bank, bike and credit explained by all methods, and how far these agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
from matplotlib.figure import Figure

from experiments.figures4to6.agreement import Correlation, apart, between, top
from experiments.figures4to6.figure import figure
from experiments.figures4to6.reversals import Reversal, reversals
from experiments.methods import importances, known
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
    settings, said = scale.settings("figures4to6"), paper("figures4to6")
    found = {name: importances(name, scale) for name in settings["tasks"]}
    others = {name: one for name in settings["beside"] if (one := known(name, scale, said["methods"]))}
    pairs = {name: between(one) for name, one in (found | others).items()}
    means = {name: mean_of(one, said["methods"]) for name, one in pairs.items()}
    numbers = [row for name in found for row in rows(name, found[name], pairs[name], settings)]
    titles = {name: task_of(name).title for name in found} | {name: name.upper() for name in others}
    numbers += [mean_row(titles[name], mean, settings["level"]) for name, mean in means.items()]
    done = Outcome(
        "figures4to6",
        "",
        scale.name,
        {},
        numbers=numbers,
        words=WORDS,
        findings=[
            differ(found, settings["level"]),
            less([means[name] for name in found], {name: means[name] for name in others}, settings),
        ],
        data={name: {method: asdict(one) for method, one in found[name].items()} for name in found},
    )
    return done, {said["figures"][name]: drawn(name, found[name], settings["level"]) for name in found}


def drawn(name: str, found: Mapping[str, Importance], level: float) -> Figure:
    task = task_of(name)
    return figure(f"{task.title} ({task.loss})", found, task.features, level)


def rows(name: str, found: Mapping[str, Importance], pairs: Pairs, settings: Mapping) -> list[Number]:
    """How far each method agrees with SAGE, and what it ranks first."""
    task = task_of(name)
    named = {method: ", ".join(top(one, task.features, settings["top"])) for method, one in found.items()}
    return [
        Number(
            f"{task.title}: rank correlation of {TITLES[method]} with SAGE",
            None,
            one.value,
            *one.interval(settings["level"]),
            f"first: {named[method]}; of SAGE: {named['sage']}",
        )
        for method in found
        if method != "sage"
        for one in [pairs[frozenset((method, "sage"))]]
    ]


def mean_row(title: str, mean: Correlation, level: float) -> Number:
    what = f"{title}: mean rank correlation of each two of the paper's methods"
    return Number(what, None, mean.value, *mean.interval(level))


def differ(found: Mapping[str, Mapping[str, Importance]], level: float) -> Finding:
    """The paper's first sentence: in each dataset, methods put two features in opposite orders, beyond noise."""
    met = {name: reversals(one, task_of(name).features, level) for name, one in found.items()}
    said = "; ".join(f"{task_of(name).title}: {seen(one)}" for name, one in met.items())
    words = f"Two features in opposite orders by two methods, each beyond noise. {said}."
    return Finding(paper("figures4to6")["differ"], "confirmed" if all(met.values()) else "open", words)


def seen(met: Sequence[Reversal]) -> str:
    """How many there are, and the surest."""
    if not met:
        return "none"
    one = met[0]
    return (
        f"{len(met)} times, such as {one.first} before {one.second} by {TITLES[one.one]}, after it by "
        f"{TITLES[one.other]}"
    )


def less(ours: list[Correlation], others: Mapping[str, Correlation], settings: Mapping) -> Finding:
    """The paper's second sentence: methods agree more than on the datasets with more features."""
    claim = paper("figures4to6")["less"]
    if missing := [name.upper() for name in settings["beside"] if name not in others]:
        return Finding(claim, "open", f"Importances of {' and '.join(missing)} are not there yet: see Figure 1.")
    difference, low, high = apart(ours, list(others.values()), settings["level"])
    each = ", ".join(f"{name.upper()} {one.value:.2f}" for name, one in others.items())
    here = np.mean([one.value for one in ours])
    said = (
        f"Mean rank correlation of each two methods: {here:.2f} for bank, bike and credit; {each}. "
        f"The former is larger by {difference:.2f} ({low:.2f} to {high:.2f})."
    )
    return Finding(claim, "confirmed" if low > 0 else "refuted" if high < 0 else "open", said)


def mean_of(pairs: Pairs, methods: list[str]) -> Correlation:
    return Correlation.mean(one for both, one in pairs.items() if both <= set(methods))

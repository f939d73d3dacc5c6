"""Figure 3: monitoring of the bank model; corrupted versions of the test part against the validation part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from matplotlib.figure import Figure

from experiments.figure3.figure import figure
from experiments.figure3.losses import Mean, added, losses
from experiments.figure3.monitored import MonitoredVersion, monitored_versions
from experiments.figure3.versions import CLEAN, CORRUPTED, VERSIONS
from experiments.outcome import Finding, Number, Outcome
from experiments.scale import Scale, paper
from experiments.tasks import task_of

WORDS = (
    "CatBoost on bank marketing; SAGE values with the first 512 training rows as background. Panels B to D: the "
    "validation part (blue) beside the test part with one feature encoded otherwise (orange), and a star on what "
    "`cs.monitor` flags: features whose contribution and inputs are both known to have changed, with a chance of 5 % "
    "at most that anything is flagged where nothing broke. Bars have 95 % intervals, about the population of rows.",
    "The paper takes the unit of Duration for minutes; that of the file is seconds. The faults are the paper's all the "
    "same: multiplied and divided by 60.",
)


def outcome(scale: Scale) -> tuple[Outcome, dict[str, Figure]]:
    task, level = task_of("bank"), scale.settings("figure3")["level"]
    by_version, means = monitored_versions(scale), losses(task, level)
    worse = {name: added(task, name, level) for name in CORRUPTED}
    done = Outcome(
        "figure3",
        "",
        scale.name,
        {},
        numbers=[
            *(row(name, by_version[name]) for name in CORRUPTED),
            *(loss_row(name, worse[name]) for name in CORRUPTED),
        ],
        findings=[
            worse_on_all(worse),
            *(fallen(name, by_version[name]) for name in CORRUPTED),
            *(named(name, by_version[name]) for name in VERSIONS),
        ],
        words=WORDS,
        data={
            "watched": {name: asdict(part) for name, part in by_version.items()},
            "losses": {name: asdict(part) for name, part in means.items()},
        },
    )
    return done, {"figure3": figure(means, by_version)}


def row(name: str, comparison: MonitoredVersion) -> Number:
    """Returns the change of the SAGE value of the corrupted feature."""
    feature = str(VERSIONS[name].column)
    i = comparison.index(feature)
    flagged = listed(comparison.flagged)
    remark = f"{comparison.before[i]:.4f} on validation, {comparison.after[i]:.4f} here; flagged: {flagged}"
    if comparison.followed:
        remark += f"; changed along with it: {listed(comparison.followed)}"
    change, (low, high) = comparison.after[i] - comparison.before[i], comparison.difference
    claim = paper("figure3")["values"][name]
    return Number(f"{name}: change of the SAGE value of {feature}", claim, change, low[i], high[i], remark)


def loss_row(name: str, worse: Mean) -> Number:
    return Number(f"{name}: added to the loss of the test rows", "more than 0", worse.value, worse.low, worse.high)


def worse_on_all(worse: Mapping[str, Mean]) -> Finding:
    remark = ", ".join(
        f"{name} {mean.value:+.3f} ({mean.low:+.3f} to {mean.high:+.3f})" for name, mean in worse.items()
    )
    return Finding(paper("figure3")["worse"], verdict(all(mean.low > 0 for mean in worse.values())), f"Loss: {remark}.")


def fallen(name: str, comparison: MonitoredVersion) -> Finding:
    """Checks the paper's sentence on a fault: the value of the feature is lower than on the validation part."""
    feature = str(VERSIONS[name].column)
    i = comparison.index(feature)
    claim = paper("figure3")[feature.lower()]
    remark = f"{name.capitalize()}: from {comparison.before[i]:.4f} to {comparison.after[i]:.4f}."
    return Finding(claim, verdict(comparison.difference[1][i] < 0), remark)


def named(name: str, comparison: MonitoredVersion) -> Finding:
    """Checks our own claim: monitoring flags the corrupted feature and no other."""
    column = VERSIONS[name].column
    expected, claim = (
        ([], "On the clean test part nothing is flagged.")
        if name == CLEAN
        else ([column], f"With {name}, {column} is flagged and no other feature.")
    )
    remark = f"Flagged: {listed(comparison.flagged)}; inputs that shifted: {listed(comparison.shifted)}."
    return Finding(claim, verdict(list(comparison.flagged) == expected), remark)


def verdict(holds: bool) -> str:
    return "confirmed" if holds else "refuted"


def listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"

"""Figure 3: which feature broke? Versions of the bank's test part beside its validation part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from matplotlib.figure import Figure

from experiments.figure3.figure import figure
from experiments.figure3.losses import Mean, added, losses
from experiments.figure3.versions import CLEAN, CORRUPTED, VERSIONS
from experiments.figure3.watched import Watched, watched
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
    found, means = watched(scale), losses(task, level)
    worse = {name: added(task, name, level) for name in CORRUPTED}
    done = Outcome(
        "figure3",
        "",
        scale.name,
        {},
        numbers=[*(row(name, found[name]) for name in CORRUPTED), *(loss_row(name, worse[name]) for name in CORRUPTED)],
        findings=[
            worse_on_all(worse),
            *(fallen(name, found[name]) for name in CORRUPTED),
            *(named(name, found[name]) for name in VERSIONS),
        ],
        words=WORDS,
        data={
            "watched": {name: asdict(one) for name, one in found.items()},
            "losses": {name: asdict(one) for name, one in means.items()},
        },
    )
    return done, {"figure3": figure(means, found)}


def row(name: str, found: Watched) -> Number:
    """What became of the SAGE value of the feature that broke."""
    feature = str(VERSIONS[name].column)
    i = found.place(feature)
    said = f"{found.before[i]:.4f} on validation, {found.after[i]:.4f} here; flagged: {listed(found.flagged)}"
    if found.followed:
        said += f"; changed along with it: {listed(found.followed)}"
    change, (low, high) = found.after[i] - found.before[i], found.difference
    claim = paper("figure3")["values"][name]
    return Number(f"{name}: change of the SAGE value of {feature}", claim, change, low[i], high[i], said)


def loss_row(name: str, worse: Mean) -> Number:
    return Number(f"{name}: added to the loss of the test rows", "more than 0", worse.value, worse.low, worse.high)


def worse_on_all(worse: Mapping[str, Mean]) -> Finding:
    said = ", ".join(f"{name} {mean.value:+.3f} ({mean.low:+.3f} to {mean.high:+.3f})" for name, mean in worse.items())
    return Finding(paper("figure3")["worse"], verdict(all(mean.low > 0 for mean in worse.values())), f"Loss: {said}.")


def fallen(name: str, found: Watched) -> Finding:
    """The paper's sentence on a fault: the value of the feature is lower than on the validation part."""
    feature = str(VERSIONS[name].column)
    i = found.place(feature)
    claim = paper("figure3")[feature.lower()]
    said = f"{name.capitalize()}: from {found.before[i]:.4f} to {found.after[i]:.4f}."
    return Finding(claim, verdict(found.difference[1][i] < 0), said)


def named(name: str, found: Watched) -> Finding:
    """Ours: the decision of monitoring is the feature that broke, and no other."""
    column = VERSIONS[name].column
    wanted, claim = (
        ([], "On the clean test part nothing is flagged.")
        if name == CLEAN
        else ([column], f"With {name}, {column} is flagged and no other feature.")
    )
    said = f"Flagged: {listed(found.flagged)}; inputs that shifted: {listed(found.shifted)}."
    return Finding(claim, verdict(list(found.flagged) == wanted), said)


def verdict(holds: bool) -> str:
    return "confirmed" if holds else "refuted"


def listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"

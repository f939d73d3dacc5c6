"""Records: what there is to keep of a result, as numbers, words and a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clarysage.errors import InputError
from clarysage.integrations.metric_names import allowed, metric_names
from clarysage.results import Comparison, Explanation, Monitoring
from clarysage.results.comparison import MOST_PLOTTED as MOST

LEVEL = 0.95
TOP = 30  # features in a plot
LONGEST_NAME = 40  # bytes of the name of a measure or of an explanation, as part of that of a metric
PROVENANCE = ("model", "learner", "seed", "examples", "background_rows")
EXPLAINED = ("value", "std_error", "low", "high")
COMPARED = ("difference", "std_error", "low", "high", "p", "p_adjusted", "changed")
MONITORED = (
    "difference", "low", "high", "p_adjusted", "share_of_loss_change", "inputs_distance", "inputs_p_adjusted",
    "flagged",
)  # fmt: skip


@dataclass(frozen=True)
class Record:
    """What there is to keep of a result.

    Attributes
    ----------
    name : of the result, where nothing else is asked for
    kind : what it is, in a word, as its file is called
    frame : its table, one row a feature, with the ``key`` of each in the names of metrics; of several comparisons one
        row a feature and ``compared``, of slices one a feature and ``where``
    columns : those of the table that are kept as numbers, feature by feature
    numbers : those of the whole, one a step, None where there is none
    words : how it was found
    plot : options of its plot; None where it has none
    report : options of its report
    """

    name: str
    kind: str
    frame: Any
    columns: tuple[str, ...]
    numbers: Mapping[str, tuple[float | None, ...]]
    words: Mapping[str, str]
    plot: Mapping[str, Any] | None
    report: Mapping[str, Any]

    def metrics(self) -> Iterator[tuple[str, float, int]]:
        """All numbers with their names and steps; those that are none are left out."""
        for name, value, step in [*self._of_the_whole(), *self._by_feature()]:
            if value is not None and math.isfinite(value):
                yield name, float(value), step

    def _of_the_whole(self) -> Iterator[tuple[str, float | None, int]]:
        for name, values in self.numbers.items():
            for step, value in enumerate(values):
                yield name, value, step

    def _by_feature(self) -> Iterator[tuple[str, float, int]]:
        """Numbers of features: one section a column, and a comparison, if there are several; one step a slice."""
        count = len(self.frame)
        others, slices = (self.frame.get(name, [""] * count) for name in ("compared", "where"))
        sections = {"": "", **{name: f"/{key}" for name, key in metric_names(set(others) - {""}, LONGEST_NAME).items()}}
        steps = {name: step for step, name in enumerate(dict.fromkeys(slices))}
        for column in self.columns:
            rows = zip(self.frame["key"], self.frame[column], others, slices, strict=True)
            for key, value, other, where in rows:
                yield f"{column}{sections[other]}/{key}", value, steps[where]


def record(result: object, about: str | None) -> Record:
    """The record of a result, by what it is; intervals are about what is asked for."""
    for kind, recorded in KINDS.items():
        if isinstance(result, kind):
            return recorded(result, about)
    wanted = " or ".join(kind.__name__ for kind in KINDS)
    hint = "one entry at a time" if isinstance(result, (list, tuple, Mapping)) else "the result of cs.sage"
    raise InputError("result", got=type(result).__name__, wanted=wanted, hint=hint)


def _explanation(explanation: Explanation, about: str | None) -> Record:
    frame = explanation.to_frame(LEVEL, about=about)
    about = str(frame.attrs["about"])
    told = explanation.provenance
    return Record(
        name=allowed(explanation.measure, LONGEST_NAME).replace(" ", "_"),
        kind="explanation",
        frame=_with_keys(frame),
        columns=EXPLAINED,
        numbers={
            "total": (explanation.total,),
            "base": (explanation.base,),
            "model_rows": (explanation.model_rows,),
            "draws": (explanation.draws,),
        },
        words={
            **_setting(explanation),
            "method": explanation.method,
            **{key: str(told[key]) for key in PROVENANCE if told.get(key) is not None},
            "converged": _yes(explanation.converged),
            "stopped": explanation.stopped.value,
            "about": about,
            "intervals": _intervals(explanation.meaning(about)),
        },
        plot={"top": TOP, "about": about},
        report={"about": about},
    )


def _comparison(comparison: Comparison, about: str | None) -> Record:
    _check_about(comparison, about)
    return Record(
        name="comparison",
        kind="comparison",
        frame=_with_keys(comparison.to_frame(LEVEL)),
        columns=COMPARED,
        numbers={"changed_features": (len(comparison.changed),)},
        words={**_tests(comparison), "changed": ", ".join(comparison.changed)},
        plot={"top": TOP} if len(comparison.names) <= MOST else None,
        report={},
    )


def _monitoring(monitoring: Monitoring, about: str | None) -> Record:
    _check_about(monitoring, about)
    losses = monitoring.losses
    before, *after = [None] if losses is None else losses.tolist()
    return Record(
        name="monitoring",
        kind="monitoring",
        frame=_with_keys(monitoring.to_frame(LEVEL)),
        columns=MONITORED,
        numbers={
            "flagged_features": (len(monitoring.flagged),),
            "shifted_columns": (len(monitoring.shifted),),
            "reference_loss": (before,),
            "loss": tuple(after),
        },
        words={
            **_tests(monitoring.comparison),
            "flagged": ", ".join(monitoring.flagged),
            "shifted": ", ".join(monitoring.shifted),
        },
        plot={},
        report={},
    )


KINDS: dict[type, Callable[[Any, str | None], Record]] = {
    Explanation: _explanation,
    Comparison: _comparison,
    Monitoring: _monitoring,
}


def _with_keys(frame: Any) -> Any:
    """A table that also says by which key the metrics of a feature go."""
    keys = metric_names(dict.fromkeys(frame["feature"]))
    frame.insert(frame.columns.get_loc("feature") + 1, "key", [keys[name] for name in frame["feature"]])
    return frame


def _setting(explanation: Explanation) -> dict[str, str]:
    from clarysage import __version__

    found = {"measure": explanation.measure, "loss": explanation.loss, "removal": explanation.removal}
    return {"version": str(explanation.provenance.get("clarysage", __version__)), **found}


def _tests(comparison: Comparison) -> dict[str, str]:
    """What is compared, and how differences are tested."""
    kinds = sorted({one.about for one in comparison.differences})
    return {
        **_setting(comparison.reference),
        "names": ", ".join(comparison.names),
        "paired": _yes(comparison.is_paired),
        "adjust": str(comparison.adjust or "none"),
        "level": f"{comparison.level:g}",
        "converged": _yes(all(one.converged for one in comparison.explanations)),
        "about": " or ".join(kinds),
        "intervals": _intervals(" or ".join(map(comparison.reference.meaning, kinds))),
    }


def _check_about(result: object, about: str | None) -> None:
    if about is not None:
        kind = type(result).__name__
        raise InputError("about", got=f"{about!r} for a {kind}", wanted=f"None, since a {kind} says it itself")


def _intervals(meaning: str) -> str:
    return f"{100 * LEVEL:g}% intervals about {meaning}"


def _yes(holds: bool) -> str:
    return "true" if holds else "false"

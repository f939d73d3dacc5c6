"""compare: differences of explanations from a reference, by paired and unpaired two-sample tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any, cast, overload

import numpy as np

from clarysage.errors import Call, InputError, Note, Or, PythonOnly, Set, UnavailableError
from clarysage.inference.estimate import StopReason, Target
from clarysage.inference.intervals import adjustment
from clarysage.inference.population import paired, unpaired, variance_leverage
from clarysage.results.comparison import Comparison, Difference
from clarysage.results.explanation import Explanation, with_exact_zeros
from clarysage.results.files import SAVED_WITH_ROWS

HEAVY = 0.5  # share of the variance of a difference that 1 % of the rows carry
MOST_NAMED = 5  # features in a message


@overload
def compare(
    a: Sequence[Explanation],
    b: Sequence[Explanation],
    *,
    paired: bool | None = ...,
    adjust: str | None = ...,
    level: float = ...,
    names: Sequence[str] | None = ...,
) -> list[Comparison]: ...


@overload
def compare(
    a: Explanation | Sequence[Explanation] | Mapping[str, Explanation],
    b: Explanation | None = ...,
    *,
    paired: bool | None = ...,
    adjust: str | None = ...,
    level: float = ...,
    names: Sequence[str] | None = ...,
) -> Comparison: ...


def compare(
    a: Explanation | Sequence[Explanation] | Mapping[str, Explanation],
    b: Explanation | Sequence[Explanation] | None = None,
    *,
    paired: bool | None = None,
    adjust: str | None = "holm",
    level: float = 0.95,
    names: Sequence[str] | None = None,
) -> Comparison | list[Comparison]:
    r"""Compare explanations: contributions of features in b minus those in a, with intervals and tests.

    Parameters
    ----------
    a, b : two explanations by the same measure and loss, of the same features, which are matched by name. Or only a: a
        list of several explanations, or a mapping of names to explanations; the first is the reference that all others
        are compared with. Or two lists, one explanation for each of several losses: explanations with the same loss are
        compared, and a list is returned
    paired : whether both explain the same rows in the same order: two models on the same data, or the same rows before
        and after a change. Differences are then taken row by row, which usually makes them much more precise. Default:
        paired if X, y and weights are the same in both, by their fingerprints. If X was changed, ask for it:
        ``paired=True``
    adjust : adjustment of p-values for multiple tests: "holm" (the probability of any false flag is at most 1 - level),
        "benjamini hochberg" (about a share 1 - level of the flags is false), or None
    level : a difference is flagged where its adjusted p-value is below 1 - level
    names : names of the explanations in tables and plots; default "a", "b" and so on

    Returns
    -------
    Comparison, or a list of them

    Notes
    -----
    Differences are about the population of rows, with the background held fixed: explain both with the same
    ``background``. Different backgrounds add differences of their own. If both explanations have estimates about the
    population, differences are then about the populations of rows and backgrounds; otherwise a note says so. With D_x
    the contribution of row x,

    .. math:: \Delta = \bar D' - \bar D, \qquad V = s^2_{D' - D} / N \text{ (paired)}, \quad
        V = s^2_{D'} / N' + s^2_D / N \text{ (else)}

    Rows are assumed to be drawn independently.

    Examples
    --------
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> X, background = rng.normal(size=(300, 3)), rng.normal(size=(64, 3))
    >>> y = X @ [2.0, 1.0, 0.5]
    >>> f, g = (lambda X: X @ [2.0, 1.0, 0.5]), (lambda X: X @ [2.0, 0.2, 0.5])
    >>> before, after = (cs.sage(h, X, y, background=background, loss="squared error", rng=0) for h in (f, g))
    >>> comparison = cs.compare(before, after)
    >>> comparison.changed, comparison.is_paired
    (['x1'], True)
    """
    if _are_lists(a, b):
        return [
            compare(*pair, paired=paired, adjust=adjust, level=level, names=names)
            for pair in _by_loss(list(cast(Sequence[Explanation], a)), list(cast(Sequence[Explanation], b)))
        ]
    explanations, explanation_names = _explanations_and_names(a, b, names)
    check_comparison_options(paired, adjust, level)
    for other, name in zip(explanations[1:], explanation_names[1:], strict=True):
        _check_alike(explanations[0], other, (explanation_names[0], name))
    first, *others = (reordered(explanation, explanations[0].feature_names) for explanation in explanations)
    pairs = [
        _Pair(first, other, (explanation_names[0], name)).difference(paired)
        for other, name in zip(others, explanation_names[1:], strict=True)
    ]
    notes = {str(note): note for _, each in pairs for note in each}  # each once
    differences = tuple(difference for difference, _ in pairs)
    return Comparison(
        (first, *others), explanation_names, differences, adjustment(adjust), float(level), tuple(notes.values())
    )


def reordered(explanation: Explanation, names: Sequence[str]) -> Explanation:
    """Returns an explanation with its players in the order of the names."""
    if explanation.feature_names == tuple(names):
        return explanation
    order = [explanation.feature_names.index(name) for name in names]
    covariance = explanation.covariance
    arrays: dict[str, Any] = {
        part: None if (array := getattr(explanation, part)) is None else array[..., order]
        for part in ("values", "std_error", "dof", "per_example", "per_example_error", "parts", "parts_error")
    }
    targets = {about: target.map(lambda array: array[order]) for about, target in explanation.targets.items()}
    return replace(
        explanation,
        feature_names=tuple(names),
        targets=targets,
        **arrays,
        covariance=None if covariance is None else covariance[np.ix_(order, order)],
    )


def _check_alike(first: Explanation, second: Explanation, names: tuple[str, str]) -> None:
    """Raises where measures, losses, features or groups differ, so that a difference has no meaning."""
    for part in ("measure", "loss"):
        mine, its = getattr(first, part), getattr(second, part)
        if mine != its:
            raise InputError(part, got=f"{mine!r} in {names[0]} and {its!r} in {names[1]}", wanted=f"the same {part}")
    for (here, there), (name, its_name) in zip([(first, second), (second, first)], [names, names[::-1]], strict=True):
        missing = [feature for feature in there.feature_names if feature not in set(here.feature_names)]
        if missing:
            shown = ", ".join(map(repr, missing[:MOST_NAMED])) + (" and others" if len(missing) > MOST_NAMED else "")
            raise InputError(
                name,
                got=f"an explanation without {shown}, which {its_name} has",
                wanted="the same features in both",
                hint=[
                    Set("feature_names"),
                    " where columns have other names",
                    Or(),
                    "groups of the features that differ",
                ],
            )
    members = [{name: sorted(inside) for name, inside in (each.groups or {}).items()} for each in (first, second)]
    if members[0] != members[1]:
        raise InputError("groups", got=f"other members in {names[0]} than in {names[1]}", wanted="the same groups")


def check_comparison_options(paired: object, adjust: str | None, level: object) -> None:
    """Raises for invalid options."""
    if paired is not None and not isinstance(paired, (bool, np.bool_)):
        raise InputError(
            "paired", got=f"{paired!r}", wanted="True, False, or None to decide by the fingerprints of the data"
        )
    adjustment(adjust)  # raises for an unknown name
    if not isinstance(level, (int, float, np.floating)) or isinstance(level, bool) or not 0 < level < 1:
        raise InputError("level", got=f"{level!r}", wanted="a number between 0 and 1", hint=Set("level", 0.95))


def _are_lists(a: Any, b: Any) -> bool:
    return all(isinstance(argument, (list, tuple)) for argument in (a, b))


def _by_loss(a: list[Any], b: list[Any]) -> list[tuple[Explanation, Explanation]]:
    """Returns pairs of explanations with the same loss, in the order of a."""
    for argument, explanations in (("a", a), ("b", b)):
        _check_explanations(argument, explanations)
        if not explanations or len({explanation.loss for explanation in explanations}) < len(explanations):
            raise InputError(
                argument,
                got=f"explanations with losses {[explanation.loss for explanation in explanations]}",
                wanted="one explanation for each loss in each of two lists",
                hint=[Call("cs.compare", "[...]"), " for several explanations with the same loss"],
            )
    theirs = {explanation.loss: explanation for explanation in b}
    if set(theirs) != {explanation.loss for explanation in a}:
        raise InputError(
            "b", got=f"losses {list(theirs)}", wanted=f"those of a, {[explanation.loss for explanation in a]}"
        )
    return [(explanation, theirs[explanation.loss]) for explanation in a]


def _explanations_and_names(
    a: Any, b: Any, names: Sequence[str] | None
) -> tuple[tuple[Explanation, ...], tuple[str, ...]]:
    """Returns the explanations, two or more, and their names."""
    if b is not None:
        explanations, default_names = [a, b], None
        for argument, explanation in (("a", a), ("b", b)):
            _check_explanations(argument, [explanation])
    elif isinstance(a, Mapping):
        explanations, default_names = list(a.values()), [str(name) for name in a]
    elif isinstance(a, (list, tuple)):
        explanations, default_names = list(a), None
    else:
        raise InputError("b", got="None", wanted="an explanation to compare a with", hint=Call("cs.compare", "a, b"))
    _check_explanations("a", explanations)
    if len(explanations) < 2:
        raise InputError(
            "a", got=f"{len(explanations)} explanation{'s' * (len(explanations) != 1)}", wanted="two or more"
        )
    return tuple(explanations), _names(len(explanations), default_names if names is None else names)


def _check_explanations(argument: str, explanations: Sequence[object]) -> None:
    for explanation in explanations:
        if not isinstance(explanation, Explanation):
            raise InputError(
                argument,
                got=type(explanation).__name__,
                wanted="an Explanation",
                hint=PythonOnly("the result of cs.sage"),
            )


def _names(count: int, names: Any) -> tuple[str, ...]:
    if names is None:
        return tuple(ascii_lowercase[i] if count <= len(ascii_lowercase) else f"{i + 1}" for i in range(count))
    is_right = not isinstance(names, str) and all(isinstance(name, str) and name.strip() for name in names)
    if not is_right or len(set(names)) != count or len(list(names)) != count:
        raise InputError(
            "names", got=f"{names!r}", wanted=f"{count} distinct texts", hint=Set("names", ("before", "after"))
        )
    return tuple(names)


@dataclass(frozen=True)
class _Pair:
    """A reference and another explanation of the same players in the same order, and the names of both."""

    reference: Explanation
    other: Explanation
    names: tuple[str, str]

    def difference(self, paired: bool | None) -> tuple[Difference, list[Note]]:
        """Returns the other minus the reference, with notes; ``paired`` as in :func:`compare`."""
        about, notes = self.about(paired)
        is_paired, reasons = self.pairing(paired) if about == "rows" else (False, [])
        target = self.paired_target() if is_paired else self.unpaired_target(about)
        target = with_exact_zeros(target, max(self.reference.least, self.other.least))
        return Difference(target, is_paired, about), [*notes, *reasons, *self.warning_of_heavy_tails(target, is_paired)]

    def about(self, paired: bool | None) -> tuple[str, list[Note]]:
        """Returns the target of inference of the difference, and notes on removals and backgrounds that differ."""
        (here, there), notes = self.names, []
        if self.reference.removal != self.other.removal:
            text = (
                f"Removals differ ({self.reference.removal!r} in {here}, {self.other.removal!r} in {there}), so that "
                "values can differ even for the same model and the same rows."
            )
            notes.append(Note(text))
        if fingerprint_in(self.reference, "background") == fingerprint_in(self.other, "background"):
            return "rows", notes
        both = f"Backgrounds of {here} and {there} differ, if only in the order of columns"
        remedy = ("Use the same ", Set("background"), " in both to compare only the rows.")
        if paired is not True and all("population" in each.targets for each in self._both):
            text = (
                f"{both}: differences are about the populations of rows and of both backgrounds. They are differences "
                "of values corrected for the bias of a finite background, and not of the values in the columns. "
            )
            return "population", [*notes, Note((text, *remedy))]
        text = f"{both}: part of a difference may be due to the backgrounds, which intervals do not include. "
        return "rows", [*notes, Note((text, *remedy))]

    def pairing(self, paired: bool | None) -> tuple[bool, list[Note]]:
        """Decides whether to pair rows; returns a note where pairing is impossible, or might be possible."""
        if paired is False or all(each.stopped is StopReason.NO_EFFECT for each in self._both):
            return False, []
        if paired is None and not self._are_rows_the_same:
            return False, self._rows_may_be_the_same()
        reason = self._reason_not_to_pair()
        if reason and paired:
            raise UnavailableError(
                "paired",
                got=[Set("paired", True), f", where {reason}"],
                wanted="the same rows in both, with the contributions of single rows",
                hint=[
                    SAVED_WITH_ROWS,
                    " for explanations that are read from files, and ",
                    Set("paired", False),
                    " otherwise",
                ],
            )
        if not reason:
            return True, []
        text = (
            f"Both explain the same rows, but {reason}: they are compared as if the rows were different, which usually "
            "makes standard errors larger. Explanations that are read from files need "
        )
        return False, [Note((text, SAVED_WITH_ROWS, "."))]

    @property
    def _are_rows_the_same(self) -> bool:
        """True if X, weights and, where the measure uses it, y are known to be the same."""
        parts = ["X", "weights", *(["y"] if self._has_y else [])]
        return fingerprint_in(self.reference, "X") is not None and all(map(self._is_the_same, parts))

    def _rows_may_be_the_same(self) -> list[Note]:
        """Returns a note where responses and weights are the same, but X is not."""
        is_known = all(fingerprint_in(self.reference, part) is not None for part in ("X", "y"))
        if not (is_known and self._has_y and self._is_the_same("y") and self._is_the_same("weights")):
            return []
        text = "Responses are the same in both, but X is not: if the rows are the same too, in the same order, "
        return [Note((text, Set("paired", True), " compares them row by row."))]

    @property
    def _has_y(self) -> bool:
        return self.reference.values_are != "variance"  # these measures do not use y

    def _is_the_same(self, part: str) -> bool:
        return bool(fingerprint_in(self.reference, part) == fingerprint_in(self.other, part))

    def _reason_not_to_pair(self) -> str:
        (here, there), weights = self.names, [each.parts_weight for each in self._both if each.parts_weight is not None]
        without = [name for name, each in zip(self.names, self._both, strict=True) if not _has_parts(each)]
        if without:
            return f"{' and '.join(without)} did not keep the contributions of single rows"
        if len({len(each) for each in weights}) > 1:
            return f"there are {len(weights[0]):,} rows in {here} and {len(weights[1]):,} in {there}"
        if not all(np.allclose(weights[0], each, rtol=1e-9, atol=0) for each in weights):
            return "the weights of the rows differ"
        return "there are fewer than two rows" if len(weights[0]) < 2 else ""

    def paired_target(self) -> Target:
        """Estimates the difference row by row."""
        parts, weights = self._parts_of_differences()
        errors = [each.parts_error for each in self._both if each.parts_error is not None]
        return paired(parts, weights, sum((error**2 for error in errors), np.zeros(parts.shape[1])))

    def unpaired_target(self, about: str) -> Target:
        """Estimates the difference of explanations whose rows were drawn independently."""
        return unpaired(*(_target(each, about, name) for each, name in zip(self._both, self.names, strict=True)))

    def warning_of_heavy_tails(self, target: Target, is_paired: bool) -> list[Note]:
        """Returns a warning where few rows carry most of the variance of a difference."""
        if is_paired:
            parts, weights = self._parts_of_differences()
            shares, rows = variance_leverage(parts, weights), max(1, len(parts) // 100)
            return self._warning_if_heavy(np.where(target.std_error > 0, shares, 0.0), rows)
        shares, rows = np.zeros(len(target.values)), 1
        for each in self._both:
            if each.parts is not None and each.parts_weight is not None and "rows" in each.targets:
                variance = variance_leverage(each.parts, each.parts_weight) * each.targets["rows"].std_error ** 2
                nothing = np.zeros_like(variance)
                share = np.divide(variance, target.std_error**2, out=nothing, where=target.std_error > 0)
                if share.max() > shares.max():
                    shares, rows = share, max(1, len(each.parts) // 100)
        return self._warning_if_heavy(shares, rows)

    def _warning_if_heavy(self, shares: np.ndarray, rows: int) -> list[Note]:
        """Returns a warning about the feature with the heaviest tail, if its share of the variance is large."""
        heavy = np.flatnonzero(shares > HEAVY)
        if len(heavy) == 0:
            return []
        worst = heavy[np.argmax(shares[heavy])]
        which = "One row accounts" if rows == 1 else f"Only {rows:,} rows (1 %) account"
        more = len(heavy) - 1
        others = f" ({more:,} more feature{'s have' if more > 1 else ' has'} heavy tails)" if more else ""
        text = (
            f"{which} for {100 * shares[worst]:.0f} % of the variance of the difference of "
            f"{self.reference.feature_names[worst]!r} between {self.names[0]} and {self.names[1]}{others}. With such "
            "heavy tails, intervals may cover the true difference less often than their level says."
        )
        return [Note(text, advice="Explain more rows.")]

    def _parts_of_differences(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the contributions of rows to the differences, (N, p), and the weights of rows, (N,)."""
        before, after = self.reference, self.other
        if before.parts is None or before.parts_weight is None:  # no feature has an effect in the reference
            assert after.parts is not None
            assert after.parts_weight is not None
            return after.parts, after.parts_weight
        return (-before.parts if after.parts is None else after.parts - before.parts), before.parts_weight

    @property
    def _both(self) -> tuple[Explanation, Explanation]:
        return self.reference, self.other


def _target(explanation: Explanation, about: str, name: str) -> Target:
    if explanation.stopped is StopReason.NO_EFFECT:
        nothing = np.zeros(len(explanation.values))
        return Target(nothing, nothing, nothing + 1.0, nothing)
    if about in explanation.targets:
        return explanation.targets[about]
    raise UnavailableError(
        name,
        got="an explanation without the variance of values over rows",
        wanted=["one that has intervals ", Set("about", "rows")],
        hint=[Set("method", "paired walks"), " where another was used, and more than one row"],
    )


def _has_parts(explanation: Explanation) -> bool:
    return explanation.parts is not None or explanation.stopped is StopReason.NO_EFFECT


def fingerprint_in(explanation: Explanation, part: str) -> Any:
    """Returns the fingerprint of X, y, the weights or the background; None where it is unknown."""
    prints = explanation.provenance.get("fingerprints")
    return prints.get(part) if isinstance(prints, Mapping) else None

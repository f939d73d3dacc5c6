"""compare: differences of explanations, like with like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.inference.estimate import Target
from clarysage.inference.significance import adjustment
from clarysage.results.comparison import PARTS_OF_TARGET, Comparison
from clarysage.results.explanation import Explanation
from clarysage.results.two import Two

SHOWN = 5  # names in a message


def compare(
    a: Any,
    b: Any = None,
    *,
    paired: bool | None = None,
    adjust: str | None = "holm",
    level: float = 0.95,
    names: Sequence[str] | None = None,
) -> Any:
    r"""What features contribute in b less what they contribute in a, with intervals and tests.

    Parameters
    ----------
    a, b : two explanations by the same measure and loss of the same features, which are found by their names. Or a
        alone: a list of several, or a mapping of names to them, of which the first is the reference that all others are
        compared with. Or two lists, as of several losses: explanations of the same loss are then compared, and a list
        comes back
    paired : whether both explain the same rows in the same order: two models on the same data, or the same rows before
        and after something was done to them. Differences are then taken row by row, and are far better known as a
        rule. Default: where X, y and weights are those of both, by their fingerprints. Where X was changed that must be
        said: ``paired=True``
    adjust : of p-values, since there are many: "holm" (any false flag has a chance of at most 1 - level),
        "benjamini hochberg" (of the flagged, a share of about 1 - level is false), or None
    level : 1 less the adjusted p-value below which a difference is flagged
    names : what the explanations are called in tables and plots; default "a", "b" and so on

    Returns
    -------
    Comparison, or a list of them

    Notes
    -----
    Differences are about the population of rows, with the background as chosen: explain both with the same
    ``background``. Backgrounds that differ make differences of their own; where that is known, differences are then
    about the populations of rows and backgrounds, and otherwise a note says so. With D_x what row x contributes,

    .. math:: \Delta = \bar D' - \bar D, \qquad V = s^2_{D' - D} / N \text{ (paired)}, \quad
        V = s^2_{D'} / N' + s^2_D / N \text{ (else)}

    Rows are taken to be drawn independently of one another.

    Examples
    --------
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> X, background = rng.normal(size=(300, 3)), rng.normal(size=(64, 3))
    >>> y = X @ [2.0, 1.0, 0.5]
    >>> f, g = (lambda X: X @ [2.0, 1.0, 0.5]), (lambda X: X @ [2.0, 0.2, 0.5])
    >>> one, other = (cs.sage(h, X, y, background=background, loss="squared error", rng=0) for h in (f, g))
    >>> found = cs.compare(one, other)
    >>> found.changed, found.is_paired
    (['x1'], True)
    """
    if _are_lists(a, b):
        return [
            compare(*pair, paired=paired, adjust=adjust, level=level, names=names)
            for pair in _by_loss(list(a), list(b))
        ]
    explanations, called = _given(a, b, names)
    check_options(paired, adjust, level)
    for other, name in zip(explanations[1:], called[1:], strict=True):
        _check_alike(explanations[0], other, (called[0], name))
    first, *others = (arranged(one, explanations[0].feature_names) for one in explanations)
    found = [
        Two(first, other, (called[0], name)).difference(paired) for other, name in zip(others, called[1:], strict=True)
    ]
    notes = dict.fromkeys(note for _, said in found for note in said)  # each once
    differences = tuple(one for one, _ in found)
    return Comparison((first, *others), called, differences, adjustment(adjust), float(level), tuple(notes))


def arranged(explanation: Explanation, names: Sequence[str]) -> Explanation:
    """The same explanation, its players in the order of the names."""
    if explanation.feature_names == tuple(names):
        return explanation
    order = [explanation.feature_names.index(name) for name in names]
    covariance = explanation.covariance
    across: dict[str, Any] = {
        part: None if (array := getattr(explanation, part)) is None else array[..., order]
        for part in ("values", "std_error", "dof", "per_example", "per_example_error", "parts", "parts_error")
    }
    targets = {
        about: Target(*(getattr(one, part)[order] for part in PARTS_OF_TARGET))
        for about, one in explanation.targets.items()
    }
    return replace(
        explanation, feature_names=tuple(names), targets=targets, **across,
        covariance=None if covariance is None else covariance[np.ix_(order, order)],
    )  # fmt: skip


def _check_alike(one: Explanation, other: Explanation, names: tuple[str, str]) -> None:
    """An error where a difference would say nothing."""
    for part in ("measure", "loss"):
        mine, its = getattr(one, part), getattr(other, part)
        if mine != its:
            raise InputError(part, got=f"{mine!r} in {names[0]} and {its!r} in {names[1]}", wanted=f"the same {part}")
    for (here, there), (name, its_name) in zip([(one, other), (other, one)], [names, names[::-1]], strict=True):
        missing = [feature for feature in there.feature_names if feature not in set(here.feature_names)]
        if missing:
            shown = ", ".join(map(repr, missing[:SHOWN])) + (" and others" if len(missing) > SHOWN else "")
            raise InputError(
                name, got=f"an explanation without {shown}, which {its_name} has", wanted="the same features in both",
                hint="feature_names= where columns have other names, or groups of the features that differ",
            )  # fmt: skip
    members = [{name: sorted(inside) for name, inside in (each.groups or {}).items()} for each in (one, other)]
    if members[0] != members[1]:
        raise InputError("groups", got=f"other members in {names[0]} than in {names[1]}", wanted="the same groups")


def check_options(paired: object, adjust: str | None, level: object) -> None:
    """Raise for options that cannot be understood."""
    if paired is not None and not isinstance(paired, (bool, np.bool_)):
        raise InputError("paired", got=f"{paired!r}", wanted="True, False, or None to see by the data")
    adjustment(adjust)  # raises for a name that is not known
    if not isinstance(level, (int, float, np.floating)) or isinstance(level, bool) or not 0 < level < 1:
        raise InputError("level", got=f"{level!r}", wanted="a number between 0 and 1", hint="level=0.95")


def _are_lists(a: Any, b: Any) -> bool:
    return all(isinstance(one, (list, tuple)) for one in (a, b))


def _by_loss(a: list[Any], b: list[Any]) -> list[tuple[Explanation, Explanation]]:
    """Explanations of the same losses, in the order of a."""
    for argument, found in (("a", a), ("b", b)):
        _check_explanations(argument, found)
        if not found or len({one.loss for one in found}) < len(found):
            raise InputError(argument, got=f"explanations with losses {[one.loss for one in found]}", wanted="one "
                             "explanation a loss in each of two lists", hint="cs.compare([...]) for several "
                             "explanations with the same loss")  # fmt: skip
    theirs = {one.loss: one for one in b}
    if set(theirs) != {one.loss for one in a}:
        raise InputError("b", got=f"losses {list(theirs)}", wanted=f"those of a, {[one.loss for one in a]}")
    return [(one, theirs[one.loss]) for one in a]


def _given(a: Any, b: Any, names: Sequence[str] | None) -> tuple[tuple[Explanation, ...], tuple[str, ...]]:
    """The explanations, two or more, and what they are called."""
    if b is not None:
        found, own = [a, b], None
        for argument, one in (("a", a), ("b", b)):
            _check_explanations(argument, [one])
    elif isinstance(a, Mapping):
        found, own = list(a.values()), [str(name) for name in a]
    elif isinstance(a, (list, tuple)):
        found, own = list(a), None
    else:
        raise InputError("b", got="None", wanted="an explanation to compare a with", hint="cs.compare(a, b)")
    _check_explanations("a", found)
    if len(found) < 2:
        raise InputError("a", got=f"{len(found)} explanation{'s' * (len(found) != 1)}", wanted="two or more")
    return tuple(found), _names(len(found), own if names is None else names)


def _check_explanations(argument: str, found: Sequence[object]) -> None:
    for one in found:
        if not isinstance(one, Explanation):
            raise InputError(argument, got=type(one).__name__, wanted="an Explanation", hint="the result of cs.sage")


def _names(count: int, names: Any) -> tuple[str, ...]:
    if names is None:
        return tuple(ascii_lowercase[i] if count <= len(ascii_lowercase) else f"{i + 1}" for i in range(count))
    is_right = not isinstance(names, str) and all(isinstance(name, str) and name.strip() for name in names)
    if not is_right or len(set(names)) != count or len(list(names)) != count:
        raise InputError("names", got=f"{names!r}", wanted=f"{count} distinct texts", hint='names=("before", "after")')
    return tuple(names)

"""Whether explanations are of the same game, and made from different random streams: else they cannot be merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.inference.estimate import StopReason
from clarysage.results.explanation import Explanation

ROUNDING = 1e-6  # of the loss: models in single precision differ by so much from one machine to another
WORDS = ("measure", "loss", "removal", "headline")
DATA = {"X": "X", "y": "y", "weights": "sample_weight", "background": "background"}
SETTINGS = ("model", "learner", "design", "examples", "columns", "background_rows")
BACKGROUND = "background= with the same rows in every run, since without it rows are drawn with the seed"
DRAWN = "rows drawn once, and kept in a file that every run reads whole, since max_rows draws them with the seed"
REMOVAL = "removal= as an object, such as cs.TreeConditional(X_train), which learns the same in every run"
SHOWN = 5  # names in a message


def check_same_game(explanations: Sequence[Explanation]) -> tuple[str, ...]:
    """Raise where values are not of the same game; what could not be seen, and was taken on trust, is returned."""
    first, parts = explanations[0], _parts_to_see(explanations)
    for place, other in enumerate(explanations[1:], start=1):
        for part in WORDS:
            _demand_same(getattr(first, part), getattr(other, part), part, place)
        _check_features(first, other, place)
        _check_data(first, other, parts, place)
        _check_settings(first, other, place)
        _check_ends(first, other, place)
    _check_effect(explanations)
    if all(one.draws > 0 for one in explanations):
        _check_draws(explanations)
    if all(_print(one, part) is not None for one in explanations for part in parts):
        return ()
    return ("Fingerprints of the data are not in all of the merged explanations: that their data are the same was "
            "taken on trust.",)  # fmt: skip


def check_streams(explanations: Sequence[Explanation]) -> tuple[str, ...]:
    """Raise where two runs have the same stream, and so say nothing new; what was taken on trust is returned."""
    for (i, one), (j, other) in combinations(enumerate(explanations), 2):
        common = sorted(set(seeds_of(one)) & set(seeds_of(other)))
        if common:
            raise InputError(
                "explanations", got=f"the seed {common[0]} in numbers {i + 1} and {j + 1}, whose draws are then the "
                "same", wanted="a seed of its own for each run", hint=f"leaving out number {j + 1}, or another rng=",
            )  # fmt: skip
        if not (seeds_of(one) and seeds_of(other)) and _is_same(one, other):
            raise InputError(
                "explanations", got=f"the same values and errors in numbers {i + 1} and {j + 1}, which is the same run "
                "twice", wanted="each run once", hint=f"leaving out number {j + 1}",
            )  # fmt: skip
    if all(seeds_of(one) for one in explanations):
        return ()
    return ("Seeds are not in all of the merged explanations: that their draws are independent was taken on trust.",)


def seeds_of(explanation: Explanation) -> list[int]:
    """Seeds of the runs that an explanation was made of; none where they are not known."""
    found = explanation.provenance.get("seed")
    found = found if isinstance(found, (list, tuple)) else [found]
    return [seed for seed in found if isinstance(seed, int) and not isinstance(seed, bool)]


def _demand_same(mine: Any, its: Any, what: str, place: int, hint: str = "") -> None:
    if mine != its:
        raise InputError(
            "explanations", got=f"{what} {mine!r} in number 1 and {its!r} in number {place + 1}",
            wanted=f"the same {what} in all", hint=hint,
        )  # fmt: skip


def _check_features(first: Explanation, other: Explanation, place: int) -> None:
    for here, there, without, having in ((first, other, 1, place + 1), (other, first, place + 1, 1)):
        missing = [name for name in there.feature_names if name not in set(here.feature_names)]
        if missing:
            shown = ", ".join(map(repr, missing[:SHOWN])) + (" and others" if len(missing) > SHOWN else "")
            raise InputError("explanations", got=f"number {without} without {shown}, which number {having} has",
                             wanted="the same features in all")  # fmt: skip
    mine, its = ({name: sorted(inside) for name, inside in (one.groups or {}).items()} for one in (first, other))
    _demand_same(mine, its, "groups", place)


def _check_data(first: Explanation, other: Explanation, parts: Sequence[str], place: int) -> None:
    for part in parts:
        mine, its = _print(first, part), _print(other, part)
        if mine is not None and its is not None and mine != its:
            hint = BACKGROUND if part == "background" else f"the same {DATA[part]} in every run, in the same order"
            hint = DRAWN if part != "background" and "rows_of_source" in first.provenance else hint
            raise InputError("explanations", got=f"another {DATA[part]} in number {place + 1} than in number 1",
                             wanted="the same in all, by its fingerprint", hint=hint)  # fmt: skip


def _check_settings(first: Explanation, other: Explanation, place: int) -> None:
    for key in SETTINGS:
        if key in first.provenance and key in other.provenance:
            _demand_same(first.provenance[key], other.provenance[key], key.replace("_", " "), place)
    mine, its = (one.provenance.get("removal_seed") for one in (first, other))
    if mine is not None and its is not None and mine != its:
        raise InputError(
            "explanations", got=f"the removal {first.removal!r}, which learned with another seed in number {place + 1} "
            "than in number 1", wanted="the same removal in all, since it is part of the game", hint=REMOVAL,
        )  # fmt: skip


def _check_ends(first: Explanation, other: Explanation, place: int) -> None:
    """The ends of the game are known without sampling: they show a model that is another, or learners fitted anew."""
    size = max((abs(end) for end in (first.base, first.total, other.base, other.total) if end is not None), default=0.0)
    for name, words in (("base", "loss without features"), ("total", "total of all features")):
        mine, its = getattr(first, name), getattr(other, name)
        if (mine is None) != (its is None) or (mine is not None and abs(mine - its) > ROUNDING * size):
            refits = "the same folds, and learners with a random_state of their own"
            hint = refits if first.held_fixed == "learners" else f"the same model; {BACKGROUND}"
            raise InputError("explanations", got=f"the {words} {mine!r} in number 1 and {its!r} in number {place + 1}",
                             wanted="the same in all, up to rounding", hint=hint)  # fmt: skip


def _check_effect(explanations: Sequence[Explanation]) -> None:
    is_still = [one.stopped is StopReason.NO_EFFECT for one in explanations]
    if any(is_still) and not all(is_still):
        still, moves = is_still.index(True), is_still.index(False)
        raise InputError(
            "explanations", got=f"number {still + 1}, in which no feature changed any loss, and number {moves + 1}, in "
            "which some did", wanted="runs of the same game", hint="the same model and removal in every run",
        )  # fmt: skip


def _check_draws(explanations: Sequence[Explanation]) -> None:
    """Of sampled runs alone: draws must be of one kind, or counting them would mean nothing, and values be means."""
    first = explanations[0]
    if first.values_are == "heuristic":  # whose sampled values are sizes, which do not average out
        raise InputError(
            "explanations", got=f"sampled values of {first.measure!r}, which are sizes: noise makes them larger in "
            "every run alike", wanted="values that are means of draws", hint="one run with a smaller tolerance=",
        )  # fmt: skip
    for place, other in enumerate(explanations[1:], start=1):
        _demand_same(first.method, other.method, "method", place, hint="the same method= in every run")


def _parts_to_see(explanations: Sequence[Explanation]) -> list[str]:
    """Fingerprints that have to be the same: those that some explanation has, or all where none has any."""
    known = [part for part in DATA if any(_print(one, part) is not None for one in explanations)] or list(DATA)
    return [part for part in known if part != "y" or explanations[0].values_are != "variance"]


def _print(explanation: Explanation, part: str) -> Any:
    known = explanation.provenance.get("fingerprints")
    return known.get(part) if isinstance(known, Mapping) else None


def _is_same(one: Explanation, other: Explanation) -> bool:
    is_sampled = bool((one.std_error > 0).any())  # without errors, two runs may well agree to the last bit
    return is_sampled and np.array_equal(one.values, other.values) and np.array_equal(one.std_error, other.std_error)

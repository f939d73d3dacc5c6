"""Two explanations: whether their rows are the same, what a difference of theirs is about, and the difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import UnavailableError
from clarysage.inference.differences import heaviest, paired, unpaired
from clarysage.inference.estimate import StopReason, Target
from clarysage.results.comparison import Difference
from clarysage.results.explanation import Explanation, rounded

HEAVY = 0.5  # of the variance of a difference, carried by one row in a hundred
FREED = (
    "They are of values freed of the bias that a finite background brings, and so are not one shown column less the "
    "other."
)


@dataclass(frozen=True)
class Two:
    """A reference and another explanation of the same players, in the same order, with their names."""

    one: Explanation
    other: Explanation
    names: tuple[str, str]

    def difference(self, asked: bool | None) -> tuple[Difference, list[str]]:
        """The other less the reference, and what there is to say; ``asked``: whether to pair rows, None to find out."""
        about, notes = self.about(asked)
        is_paired = about == "rows" and self.is_paired(asked, notes)
        found = self.paired() if is_paired else self.unpaired(about)
        found = rounded(found, max(self.one.least, self.other.least))
        return Difference(found, is_paired, about), [*notes, *self.tails(found, is_paired)]

    def about(self, asked: bool | None) -> tuple[str, list[str]]:
        """What the difference is about, and what to say of removals and backgrounds that differ."""
        notes = []
        if self.one.removal != self.other.removal:
            notes.append(
                f"Removals differ ({self.one.removal!r} in {self.names[0]}, {self.other.removal!r} in {self.names[1]}):"
                " what features are worth without others is then not the same, whatever the model and the rows."
            )
        prints = [_fingerprint(each, "background") for each in self._both]
        if prints[0] == prints[1]:
            return "rows", notes
        both = f"Backgrounds of {self.names[0]} and {self.names[1]} differ, if only in the order of columns"
        same = "The same background=, in both, leaves the rows alone to differ."
        if asked is not True and all("population" in each.targets for each in self._both):
            said = f"{both}: differences are about the populations of rows and of both backgrounds."
            return "population", [*notes, f"{said} {FREED} {same}"]
        said = f"{both}: part of a difference may come from there, and intervals do not count it. {same}"
        return "rows", [*notes, said]

    def is_paired(self, asked: bool | None, notes: list[str]) -> bool:
        """Whether to go row by row; adds to the notes where that is not possible, or might be."""
        if asked is False or all(each.stopped is StopReason.NO_EFFECT for each in self._both):
            return False
        same = {part: _fingerprint(self.one, part) == _fingerprint(self.other, part) for part in ("X", "y", "weights")}
        same["y"] = same["y"] or self.one.values_are == "variance"  # which rows alone make
        known = _fingerprint(self.one, "X") is not None
        if asked is None and not (known and all(same.values())):
            has_responses = _fingerprint(self.one, "y") is not None and self.one.values_are != "variance"
            if known and has_responses and same["y"] and same["weights"]:
                notes.append(
                    "Responses are the same in both, but X is not: if the rows are the same too, in the same order, "
                    "paired=True compares them one by one."
                )
            return False
        why = self._why_not_paired()
        if why and asked:
            raise UnavailableError("paired", got=f"paired=True, where {why}", wanted="the same rows in both, each with "
                                   "what it contributes", hint="save(path, rows=True) for explanations that are read "
                                   "from files, and paired=False otherwise")  # fmt: skip
        if why:
            notes.append(
                f"Both explain the same rows, but {why}: they are compared as if they were different rows, which makes "
                "errors larger as a rule. Explanations that are read from files need save(path, rows=True)."
            )
        return not why

    def _why_not_paired(self) -> str:
        without = [n for n, each in zip(self.names, self._both, strict=True) if not _has_parts(each)]
        if without:
            return f"{' and '.join(without)} did not keep what single rows contribute"
        weights = [each.parts_weight for each in self._both if each.parts_weight is not None]
        if len({len(each) for each in weights}) > 1:
            return f"there are {len(weights[0]):,} rows in {self.names[0]} and {len(weights[1]):,} in {self.names[1]}"
        if not all(np.allclose(weights[0], each, rtol=1e-9, atol=0) for each in weights):
            return "weights of the rows are not the same"
        return "there are fewer than two rows" if len(weights[0]) < 2 else ""

    def paired(self) -> Target:
        parts, weights = self._differences()
        errors = [each.parts_error for each in self._both if each.parts_error is not None]
        return paired(parts, weights, sum((error**2 for error in errors), np.zeros(parts.shape[1])))

    def unpaired(self, about: str) -> Target:
        return unpaired(*(_target(each, about, name) for each, name in zip(self._both, self.names, strict=True)))

    def tails(self, found: Target, is_paired: bool) -> list[str]:
        """A warning where few rows carry most of the variance of a difference."""
        if is_paired:
            parts, weights = self._differences()
            shares, rows = heaviest(parts, weights), max(1, len(parts) // 100)
            shares = np.where(found.std_error > 0, shares, 0.0)
        else:
            shares, rows = np.zeros(len(found.values)), 1
            for each in self._both:
                if each.parts is not None and each.parts_weight is not None and "rows" in each.targets:
                    own = heaviest(each.parts, each.parts_weight) * each.targets["rows"].std_error ** 2
                    share = np.divide(own, found.std_error**2, out=np.zeros_like(own), where=found.std_error > 0)
                    if share.max() > shares.max():
                        shares, rows = share, max(1, len(each.parts) // 100)
        return self._heavy(shares, rows)

    def _heavy(self, shares: np.ndarray, rows: int) -> list[str]:
        heavy = np.flatnonzero(shares > HEAVY)
        if len(heavy) == 0:
            return []
        worst = heavy[np.argmax(shares[heavy])]
        which = "One row carries" if rows == 1 else f"The heaviest 1 % of the rows, {rows:,} in number, carry"
        more = len(heavy) - 1
        others = f" ({more:,} more feature{'s have' if more > 1 else ' has'} such tails)" if more else ""
        return [
            f"{which} {100 * shares[worst]:.0f} % of the variance of the difference of "
            f"{self.one.feature_names[worst]!r} between {self.names[0]} and {self.names[1]}{others}: with tails so "
            "heavy, intervals may hold less often than they say. More rows help."
        ]

    def _differences(self) -> tuple[np.ndarray, np.ndarray]:
        """What rows contribute to the differences, (N, p), and their weights (N,)."""
        before, after = self.one, self.other
        if before.parts is None or before.parts_weight is None:  # nothing moves there
            assert after.parts is not None
            assert after.parts_weight is not None
            return after.parts, after.parts_weight
        return (-before.parts if after.parts is None else after.parts - before.parts), before.parts_weight

    @property
    def _both(self) -> tuple[Explanation, Explanation]:
        return self.one, self.other


def _target(explanation: Explanation, about: str, name: str) -> Target:
    if explanation.stopped is StopReason.NO_EFFECT:
        nothing = np.zeros(len(explanation.values))
        return Target(nothing, nothing, nothing + 1.0, nothing)
    if about in explanation.targets:
        return explanation.targets[about]
    raise UnavailableError(
        name, got="an explanation that does not say how values vary from row to row", wanted="one that has intervals "
        'about "rows"', hint='method="paired walks" where another was used, and more than one row',
    )  # fmt: skip


def _has_parts(explanation: Explanation) -> bool:
    return explanation.parts is not None or explanation.stopped is StopReason.NO_EFFECT


def _fingerprint(explanation: Explanation, part: str) -> Any:
    prints = explanation.provenance.get("fingerprints")
    return prints.get(part) if isinstance(prints, Mapping) else None

"""What measures of refits share: a game at the door, its run, and explanations made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage._measures.best_constant import with_constant
from clarysage._measures.fingerprints import fingerprint, fingerprint_of_rows
from clarysage._measures.lineup import Lineup
from clarysage._measures.prefetch import Ahead
from clarysage._measures.problem import explained, versions
from clarysage._measures.rules import observer_of
from clarysage._measures.run import explained_run
from clarysage.estimators import Exact, estimate
from clarysage.estimators.leave_one_out import OneByOne
from clarysage.games import UniversalPower
from clarysage.inference.estimate import Estimate
from clarysage.inference.stopping import Budget, Deadline
from clarysage.losses.choice import is_auto
from clarysage.protocols import Estimator, Executor
from clarysage.results import Explanation


@dataclass(frozen=True)
class Refitting:
    """A game of refits, and what there is to say of it.

    Attributes
    ----------
    game : of a learner and data
    lineup : its players, and their order for the user
    asked : the loss as it was asked for; of a list there are as many explanations
    notes : what to say of the data and the learner
    """

    game: UniversalPower
    lineup: Lineup
    asked: Any
    entropy: int
    notes: tuple[str, ...] = ()

    def summary(
        self,
        estimator: Estimator[Any],
        *,
        measure: str,
        headline: str,
        executor: Executor,
        progress: bool | None,
        rules: Sequence[Any] = (),
        most: float = np.inf,
        notes: Sequence[str] = (),
    ) -> Any:
        """The explanation, or the list of them, that an estimator makes of the game, by ``most`` fits.

        Fits are shared out to the executor's workers. Sampling estimators judge all examples at once, since a fit tells
        of them all.
        """
        v = self.game if estimator.limit(self.game) is not None else self.game.together
        observer = observer_of(progress, list(rules))
        ahead = Ahead(
            executor, v, budget=most // v.fits_per_coalition - 1, observer=observer, of=_coalitions(estimator, v)
        )
        asked = [rule if isinstance(rule, (Budget, Deadline)) else Told(rule, v) for rule in rules]
        watching: Any = Told(observer, v)

        def explanations(result: Estimate) -> Any:
            result = replace(result, model_rows=v.rows_learned)
            chosen = [f"Loss {v.losses[0].name!r} was chosen."] if is_auto(self.asked) else []
            found = explained(
                v, result, self.lineup.players, self.lineup.order, measure=measure, removal="refit",
                held_fixed="learners",
                method=estimator.name, groups=self.lineup.members, headline=headline,
                notes=[*_notes(v), *self.notes, *chosen, *notes], provenance=_provenance(v, self.entropy),
            )  # fmt: skip
            return found if isinstance(self.asked, (list, tuple)) else found[0]

        def estimated() -> Estimate:
            return estimate(v, estimator, stop=asked, executor=ahead, seed=self.entropy, observer=watching)

        return explained_run(estimated, explanations)


@dataclass(frozen=True)
class Told:
    """A rule, or an observer, that is told the rows learned from: estimators count subsets that come up again, too."""

    inner: Any
    game: UniversalPower

    def __call__(self, estimate: Estimate, *more: Any) -> Any:
        return self.inner(replace(estimate, model_rows=self.game.rows_learned), *more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def with_the_rest(found: Any) -> Any:
    """Explanations with phi_0 = v(D) less the sum of values (Table 3), so that u(D) is v(D)."""
    return with_constant([found])[0] if isinstance(found, Explanation) else with_constant(found)


def _coalitions(estimator: Any, v: UniversalPower) -> int:
    """Coalitions between the ends that an estimator goes through; 0 where that has no end."""
    if isinstance(estimator, Exact):
        return int(2**v.n_players - 2)
    return v.n_players if isinstance(estimator, OneByOne) and v.n_players > 1 else 0


def _notes(v: UniversalPower) -> list[str]:
    refits, subsets = v.refits, v.coalitions_learned
    notes = [
        f"Learner: {refits.name}, {refits.design.words}; {subsets * v.fits_per_coalition:,} fits for {subsets:,} "
        f"subset{'s' if subsets > 1 else ''} of the features.",
        "Values are about what this learner can make of the data, from below: a better one may find more. It may do "
        "worse with more features, so that values may be negative.",
    ]
    if refits.weights is not None and refits.takes_weights is None:
        notes.append(f"{refits.name} takes no sample weights: they count in losses and constants, not in its fits.")
    elif refits.weights is not None and refits.takes_weights != "sample_weight":
        notes.append("Sample weights go to the last step of the pipeline, and to no other.")
    return notes


def _provenance(v: UniversalPower, entropy: int) -> dict[str, Any]:
    refits = v.refits
    return {
        **versions(),
        "seed": entropy,
        "learner": refits.name,
        "design": refits.design.words,
        "fits": v.coalitions_learned * v.fits_per_coalition,
        "examples": len(v.mass),
        "columns": refits.schema.width,
        "fingerprints": {
            "X": fingerprint_of_rows(refits.schema.encode(refits.table, "X"), refits.schema),
            "y": fingerprint(refits.y),
            "weights": fingerprint(v.mass),
        },
    }

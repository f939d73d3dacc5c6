"""Shapley values of a game of refits: which method, when to stop, and a budget that counts fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage._measures.fits import all_subsets, subsets_of_walks
from clarysage._measures.refits import Refitting
from clarysage._measures.rules import rules_of
from clarysage.errors import InputError
from clarysage.estimators import Exact, ExhaustedError, PairedWalks, as_estimator
from clarysage.games import UniversalPower
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import Deadline
from clarysage.protocols import Estimator


@dataclass(frozen=True)
class Ends:
    """When a run ends: its rules, and the fits it may take at most."""

    rules: list[Any]
    most: float

    @classmethod
    def of(cls, tolerance: Any, budget: Any, deadline: Any, stop: Any) -> Ends:
        """The options of the measures, checked."""
        if budget is None:
            return cls(rules_of(tolerance, None, deadline, stop), np.inf)
        is_number = isinstance(budget, (int, float, np.integer, np.floating)) and not isinstance(budget, bool)
        if not is_number or not 0 < budget < np.inf:
            raise InputError("budget", got=f"{budget!r}", wanted="a positive number of fits, such as 1_000")
        given = list(stop) if isinstance(stop, (list, tuple)) else [] if stop is None else [stop]
        return cls(rules_of(tolerance, None, deadline, [*given, AsManyDraws(float(budget))]), float(budget))


@dataclass(frozen=True)
class AsManyDraws:
    """Ends a run that has made as many draws as there may be fits: subsets that come up again cost none."""

    fits: float

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.BUDGET if estimate.draws >= self.fits else None


def over_subsets(refitting: Refitting, ends: Ends, method: Any, **told: Any) -> Any:
    """The explanation by Shapley values; ``told`` goes to :meth:`Refitting.summary`."""
    v = refitting.game
    estimator, why = _estimator(method, v, ends)
    try:
        return refitting.summary(estimator, rules=ends.rules, most=ends.most, notes=why, **told)
    except ExhaustedError:
        first = 2 * (v.n_players - 1) * max(2, estimator.chunk(v.together))  # subsets of the shortest run at most
        raise _too_small(ends.most, v, min(all_subsets(v.n_players), 1 + first)) from None


def _estimator(method: Any, v: UniversalPower, ends: Ends) -> tuple[Estimator[Any], list[str]]:
    """The estimator that was asked for, or that fits the game, and why."""
    fits = all_subsets(v.n_players) * v.fits_per_coalition
    is_open = isinstance(method, str) and method.lower().strip() == "auto" and v.n_players > 1
    estimator = as_estimator("exact" if is_open else method, v)
    if isinstance(estimator, Exact) and isinstance(method, str):
        estimator = Exact(max_rows=np.inf)  # fits are what counts here, and they are limited by the budget
    if is_open:
        pairs = subsets_of_walks(v.n_players) * v.fits_per_coalition
        would = f"all subsets would take {fits:,.0f} fits" if v.n_players < 64 else "there are very many subsets"
        chosen = "Method 'paired walks' was chosen: " + would
        if any(isinstance(rule, Deadline) for rule in ends.rules):
            return PairedWalks(), [f"{chosen}, which cannot be cut short at a deadline."]
        if fits > ends.most:
            return PairedWalks(), [f"{chosen}, more than the budget."]
        if fits > pairs:
            return PairedWalks(), [f"{chosen}, walks about {pairs:,} at most."]
        return estimator, [f"Method 'exact' was chosen: all subsets take {fits:,} fits, no more than walks would."]
    if isinstance(estimator, Exact) and fits > ends.most:
        raise _too_small(ends.most, v, all_subsets(v.n_players), 'method="paired walks"')
    return estimator, []


def _too_small(most: float, v: UniversalPower, coalitions: int, hint: str = "a larger budget") -> InputError:
    return InputError(
        "budget", got=f"{most:,.0f} fits", wanted=f"{coalitions * v.fits_per_coalition:,}, "
        f"{v.fits_per_coalition} for each subset", hint=hint,
    )  # fmt: skip

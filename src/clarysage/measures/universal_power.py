"""Universal predictive power: what features bring a learner, fitted anew on each subset of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.estimate import Estimate, StopReason
from clarysage.estimators import Exact, ExhaustedError, PairedWalks, as_estimator, estimate
from clarysage.execution.parallel import as_executor
from clarysage.execution.seeds import entropy_of
from clarysage.games import UniversalPower
from clarysage.inference.stopping import Budget, Deadline
from clarysage.losses.choice import is_auto
from clarysage.measures.ahead import Ahead
from clarysage.measures.rules import observer_of, rules_of
from clarysage.measures.setting import explained, fingerprint, given_names, versions
from clarysage.players import Players
from clarysage.protocols import Estimator
from clarysage.tables import as_table, labels_of

HEADLINE = "Universal predictive power: the {loss} that each feature saves a learner"
TYPICAL_PAIRS = 128  # that walks commonly need at the default tolerance, where all examples are judged at once


def universal_power(
    learner: Any,
    X: Any,
    y: Any,
    *,
    folds: int = 5,
    test: Any = None,
    test_size: float | None = None,
    loss: Any = "auto",
    method: Any = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    tolerance: float | None = 0.025,
    budget: float | None = None,
    deadline: float | None = None,
    stop: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    feature_names: Sequence[str] | None = None,
    rng: Any = None,
) -> Any:
    """Universal predictive power of features: what each adds for the best model to be had (Shapley values of Eq. 3).

    No model is explained, but the data: for every subset of features that comes up the learner is fitted anew, and
    judged by rows it was not fitted on.

    Parameters
    ----------
    learner : an estimator as scikit-learn has them (pipelines and the boosters' wrappers among them), fitted or not; it
        is copied and left alone. Parts whose ``random_state`` is None get seeds derived from ``rng`` and the subset.
        Lists of columns, as in a ColumnTransformer or ``cat_features``, are narrowed to the subset
    X, y : rows to fit on and to judge by
    folds : cross-fitting: each row is predicted by a learner fitted on the other folds; classes are in like shares
    test, test_size : instead of folds, rows ``(X_test, y_test)`` to judge by, or the share of X to draw for it
    loss : as in :func:`~clarysage.sage`; subset by subset it is compared with that of its best constant
    method : "auto" (exact where that takes no more fits than walks are expected to, else paired walks), "exact",
        "paired walks", "permutation" (Algorithm 1), "kernel", or an object such as ``Permutation()``
    groups : mapping of names to columns that play as one; columns not named stay players of their own
    sample_weight : one weight a row of X: for losses, for best constants, and for fits where the learner's ``fit``
        takes ``sample_weight``; of a pipeline its last step. ``test`` may have weights of its own as a third entry
    tolerance, budget, deadline : stop when the largest standard error is below this share of the range of the values,
        at this many fits of the learner, or after this many seconds, whichever comes first
    stop : a further rule, or a list of them: called with the Estimate, it returns a StopReason or None
    n_jobs : workers, among whom subsets are shared out; results are the same bits for any number
    progress : True for a bar on stderr
    feature_names : names for the columns, where X has none or others are wanted
    rng : seed or Generator

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    A learner finds the best model of a subset only nearly: values are about what this learner makes of this much data,
    and their sum falls short of the whole power. It may do worse with more features, so that values of features
    that tell nothing scatter around zero or below. Correlated features share what they both tell: a feature is not
    given less for being ignored by some model.

    Exact values come with intervals about the population of rows, which take the learners as they were fitted. Sampled
    methods judge all rows at once, and their intervals are about their own sampling alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = universal_power(LinearRegression(), X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.top(2)
    ['x0', 'x1']
    """
    rules, most = _rules(tolerance, budget, deadline, stop)
    executor, entropy = as_executor(n_jobs), entropy_of(rng)
    X = as_table(X, "X")
    names = _names(X, feature_names)
    players = Players.of(names, groups)
    game = UniversalPower.of(
        learner, X, y, loss=loss, folds=folds, test=test, test_size=test_size, players=players,
        sample_weight=sample_weight, seed=entropy,
    )  # fmt: skip
    estimator, why = _estimator(method, game, most, rules)
    v = game if isinstance(estimator, Exact) else game.together
    observer = observer_of(progress, rules)
    whole = 2**v.n_players - 2 if isinstance(estimator, Exact) else 0
    ahead = Ahead(executor, v, budget=most // v.fits_per_coalition - 1, observer=observer, of=whole)
    asked = [rule if isinstance(rule, (Budget, Deadline)) else Told(rule, v) for rule in rules]
    watching: Any = Told(observer, v)

    def explanations(result: Estimate) -> Any:
        result = replace(result, model_rows=v.rows_learned)
        notes = [*_notes(v), *([f"Loss {v.losses[0].name!r} was chosen."] if is_auto(loss) else []), *why]
        members = None if groups is None else players.members(names)
        found = explained(
            v, result, players, range(len(players)), measure="universal power", removal="refit", method=estimator.name,
            groups=members, notes=notes, provenance=_provenance(v, entropy), headline=HEADLINE,
        )  # fmt: skip
        return found if isinstance(loss, (list, tuple)) else found[0]

    try:
        result = estimate(v, estimator, stop=asked, executor=ahead, seed=entropy, observer=watching)
    except ExhaustedError:
        first = 2 * (v.n_players - 1) * max(2, estimator.chunk(v))  # subsets of the shortest run at most
        raise _too_small(most, v, min(2**v.n_players - 1, 1 + first)) from None
    except Exception as error:
        if hasattr(error, "estimate"):
            error.explanation = explanations(error.estimate)  # type: ignore[attr-defined]
        raise
    return explanations(result)


def _rules(tolerance: Any, budget: Any, deadline: Any, stop: Any) -> tuple[list[Any], float]:
    """The rules that a run stops by, and fits at most, which are counted elsewhere."""
    if budget is None:
        return rules_of(tolerance, None, deadline, stop), np.inf
    is_number = isinstance(budget, (int, float, np.integer, np.floating)) and not isinstance(budget, bool)
    if not is_number or not 0 < budget < np.inf:
        raise InputError("budget", got=f"{budget!r}", wanted="a positive number of fits, such as 1_000")
    given = list(stop) if isinstance(stop, (list, tuple)) else [] if stop is None else [stop]
    return rules_of(tolerance, None, deadline, [*given, AsManyDraws(float(budget))]), float(budget)


@dataclass(frozen=True)
class AsManyDraws:
    """Ends a run that has made as many draws as there may be fits: subsets that come up again cost none."""

    fits: float

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.BUDGET if estimate.draws >= self.fits else None


@dataclass(frozen=True)
class Told:
    """A rule, or an observer, that is told the rows learned from: estimators count subsets that come up again, too."""

    inner: Any
    game: UniversalPower

    def __call__(self, estimate: Estimate, *more: Any) -> Any:
        return self.inner(replace(estimate, model_rows=self.game.rows_learned), *more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _names(X: Any, given: Any) -> tuple[str, ...]:
    if given is not None:
        return given_names(given, X.shape[1])
    labels = labels_of(X)
    return tuple(map(str, labels)) if labels is not None else tuple(f"x{i}" for i in range(X.shape[1]))


def _estimator(method: Any, v: UniversalPower, most: float, rules: list[Any]) -> tuple[Estimator[Any], list[str]]:
    """The estimator that was asked for, or that fits the game, and why."""
    fits = (2**v.n_players - 1) * v.fits_per_coalition
    is_open = isinstance(method, str) and method.lower().strip() == "auto" and v.n_players > 1
    estimator = as_estimator("exact" if is_open else method, v)
    if isinstance(estimator, Exact) and isinstance(method, str):
        estimator = Exact(max_rows=np.inf)  # fits are what counts here, and they are limited by the budget
    if is_open:
        pairs = 2 * (v.n_players - 1) * TYPICAL_PAIRS * v.fits_per_coalition
        would = f"all subsets would take {fits:,.0f} fits" if v.n_players < 64 else "there are very many subsets"
        chosen = "Method 'paired walks' was chosen: " + would
        if any(isinstance(rule, Deadline) for rule in rules):
            return PairedWalks(), [f"{chosen}, which cannot be cut short at a deadline."]
        if fits > most:
            return PairedWalks(), [f"{chosen}, more than the budget."]
        if fits > pairs:
            return PairedWalks(), [f"{chosen}, walks about {pairs:,} at most."]
        return estimator, [f"Method 'exact' was chosen: all subsets take {fits:,} fits, no more than walks would."]
    if isinstance(estimator, Exact) and fits > most:
        raise _too_small(most, v, 2**v.n_players - 1, 'method="paired walks"')
    return estimator, []


def _too_small(most: float, v: UniversalPower, coalitions: int, hint: str = "a larger budget") -> InputError:
    return InputError(
        "budget", got=f"{most:,.0f} fits", wanted=f"{coalitions * v.fits_per_coalition:,}, "
        f"{v.fits_per_coalition} for each subset", hint=hint,
    )  # fmt: skip


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
            "X": fingerprint(refits.schema.encode(refits.table, "X")),
            "y": fingerprint(refits.y),
            "weights": fingerprint(v.mass),
        },
    }

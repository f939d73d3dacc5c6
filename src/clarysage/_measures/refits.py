"""Measures of refits: rows to fit on and to judge by, runs whose budget counts fits, explanations made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage._measures.best_constant import with_constant
from clarysage._measures.examples import taken_apart
from clarysage._measures.explain import explained
from clarysage._measures.fits import all_subsets, subsets_of_walks
from clarysage._measures.lineup import Lineup, column_names
from clarysage._measures.options import DataOptions, Run, SharedOptions
from clarysage._measures.prefetch import Prefetching
from clarysage._measures.provenance import fingerprint, fingerprint_of_rows, versions
from clarysage._measures.run import as_asked, explained_run, is_auto, observer_of, rules_of
from clarysage._measures.table import MEASURES
from clarysage.errors import ClarysageError, InputError, Note, Set, Words
from clarysage.estimators import ExhaustedError, PairedWalks, as_estimator, chosen_note, estimate
from clarysage.estimators.leave_one_out import OneByOne
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.seeds import entropy_of
from clarysage.games import UniversalPower
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import Budget, Deadline
from clarysage.losses.choice import is_auto as is_auto_loss
from clarysage.models import Predictor, as_predictor
from clarysage.models.learners import refittable
from clarysage.protocols import (
    CostLimited,
    Enumerates,
    Estimator,
    Kind,
    LossLike,
    LossList,
    MethodLike,
    ModelLike,
    Observer,
    Rule,
    StoppingRule,
    TableLike,
    TargetLike,
    ability,
)
from clarysage.results import Explanation
from clarysage.tables import as_table, labels_of, read_target, read_weights, select

TrainLike = Sequence[Any]  # (X, y), or (X, y, weights)
OF_REFITS: dict[str, str] = {  # shared options that measures of refits have no use for
    **dict.fromkeys(("background", "removal"), "learners are fitted without features, and nothing stands in"),
    "checkpoint": "runs of refits are not kept",
    **dict.fromkeys(("max_rows", "memory_limit", "batch_size"), "learners are fitted on whole tables in memory"),
    "check_manifold": "no hybrid rows are made",
}
ONE_FIT_EACH: dict[str, str] = dict.fromkeys(
    ("tolerance", "budget", "deadline", "stop"), "there is one fit for each feature and one for all, times the folds"
)


class RefitOptions(SharedOptions, total=False):
    """Options of measures that fit learners anew."""

    learner: object
    train: TrainLike | None
    folds: int


PLACES = {"X": "train", "y": "train", "sample_weight": "train", "test": "X"}  # names of ours for those of the game


@dataclass(frozen=True)
class RefitData:
    """X and y, by which learners are judged, and rows to fit on, where they are others.

    Attributes
    ----------
    X, y, weights : to judge by
    train : rows, responses and weights to fit on; None for cross-fitting on X
    """

    X: Any
    y: np.ndarray
    weights: Any = None
    train: tuple[Any, np.ndarray, Any] | None = None

    @classmethod
    def of(cls, X: Any, y: Any, *, train: Any, sample_weight: Any) -> RefitData:
        """Both tables, checked, with the columns of X in the order of those to fit on."""
        X = as_table(X, "X")
        if y is None:
            raise InputError("y", got="None", wanted="a response for each row of X")
        target = read_target(y, X, len(X))
        read_weights(sample_weight, X, len(X))
        if train is None:
            return cls(X, target, sample_weight)
        if not isinstance(train, (tuple, list)) or len(train) not in (2, 3):
            raise InputError(
                "train",
                got=type(train).__name__,
                wanted="(X_train, y_train), or with weights as a third",
                hint=[Set("train"), "(X_train, y_train)"],
            )
        rows, responses = as_table(train[0], "train"), train[1]
        try:
            responses = read_target(responses, rows, len(rows))
        except InputError as error:
            raise InputError("train", **error.parts) from error
        kinds = [(one.shape[1:], one.dtype.kind in "OUS") for one in (target, responses)]
        if kinds[0] != kinds[1]:
            raise InputError(
                "train",
                got=f"responses of shape {responses.shape} and dtype {responses.dtype}",
                wanted=f"such as y, of shape {target.shape} and dtype {target.dtype}",
            )
        weights = train[2] if len(train) == 3 else None
        read_weights(weights, rows, len(rows), "train", "train")
        return cls(as_in(rows, X, "X", "train"), target, sample_weight, (rows, responses, weights))

    @property
    def notes(self) -> tuple[Note | str, ...]:
        """A note on what learners are fitted on, where that was left open."""
        if self.train is not None:
            return ()
        text = "Learners are fitted on parts of X, since no rows to fit on were given: "
        return (Note((text, Set("train"), "(X_train, y_train).")),)

    def rows_to_fit_on(self, folds: Any) -> int:
        """Rows that a learner is fitted on, at least; all of X for a number of folds that the game will refuse."""
        if self.train is not None:
            return len(self.train[0])
        n = len(self.X)
        return n - -(-n // int(folds)) if isinstance(folds, (int, np.integer)) and folds > 0 else n

    def arranged(self, arrange: Callable[[Any], Any]) -> RefitData:
        """These data with the columns of both tables put in order by their names; as it is where one has none."""
        if labels_of(self.X) is None or (self.train is not None and labels_of(self.train[0]) is None):
            return self  # columns that go by their places in both
        train = None if self.train is None else (arrange(self.train[0]), *self.train[1:])
        return RefitData(arrange(self.X), self.y, self.weights, train)

    def game(self, learner: Any, **options: Any) -> UniversalPower:
        """The game of a learner that is fitted and judged so; options are those of :class:`UniversalPower`."""
        if self.train is None:
            return UniversalPower.of(learner, self.X, self.y, sample_weight=self.weights, **options)
        rows, responses, weights = self.train
        there = (self.X, self.y) if self.weights is None else (self.X, self.y, self.weights)
        try:
            return UniversalPower.of(learner, rows, responses, sample_weight=weights, test=there, **options)
        except InputError as error:
            if type(error) is InputError and error.argument in PLACES:
                raise InputError(PLACES[error.argument], **error.parts) from error
            raise


def as_in(rows: Any, table: Any, argument: str, of: str) -> Any:
    """A table with its columns in the order of others', where both have names."""
    own, labels = labels_of(table), labels_of(rows)
    if rows.shape[1] != table.shape[1]:
        raise InputError(argument, got=f"{table.shape[1]} columns", wanted=f"{rows.shape[1]}, as in {of}")
    if own is None or labels is None or own == labels:
        return table
    place = {str(label): label for label in own}
    missing = [str(label) for label in labels if str(label) not in place]
    if missing:
        raise InputError(argument, got=f"no column {missing[0]!r}", wanted=f"the columns of {of}, in any order")
    return select(table, [place[str(label)] for label in labels])


@dataclass(frozen=True)
class RefitProblem:
    """A game of refits, whose players are in the order of its columns, and what there is to say of it.

    Attributes
    ----------
    game : of a learner and data
    lineup : its players, and their order for the user
    loss : as it was asked for; of a list there are as many explanations
    seed : of the run
    notes : on the data and the learner
    """

    game: UniversalPower
    lineup: Lineup
    loss: Any
    seed: int
    notes: tuple[Note | str, ...] = ()

    def explained(
        self,
        estimator: Estimator[Any],
        *,
        measure: str,
        headline: str,
        run: Run,
        rules: Sequence[Rule] = (),
        most: float = np.inf,
        notes: Sequence[Note | str] = (),
    ) -> Explanation | list[Explanation]:
        """The explanation, or the list of them, that an estimator makes of the game, by ``most`` fits.

        Fits are shared out to the executor's workers. Sampling estimators judge all examples at once, since a fit tells
        of them all.
        """
        v = self.game if estimator.limit(self.game) is not None else self.game.together
        observer = observer_of(run.progress, rules)
        executor = Prefetching(
            as_executor(run.n_jobs),
            v,
            budget=most // v.fits_per_coalition - 1,
            observer=observer,
            of=_coalitions(estimator, v),
        )
        asked = [rule if isinstance(rule, (Budget, Deadline)) else RuleOfRefits(rule, v) for rule in rules]
        watching = ObserverOfRefits(observer, v)

        def explain(result: Estimate) -> Explanation | list[Explanation]:
            result = replace(result, model_rows=v.rows_learned)
            chosen = [f"Loss {v.losses[0].name!r} was chosen."] if is_auto_loss(self.loss) else []
            explanations = explained(
                v,
                result,
                self.lineup.players,
                self.lineup.order,
                measure=measure,
                removal="refit",
                held_fixed="learners",
                method=estimator.name,
                groups=self.lineup.members,
                headline=headline,
                notes=[*_notes(v), *self.notes, *chosen, *notes],
                provenance=_provenance(v, self.seed),
            )
            return as_asked(explanations, self.loss)

        def estimated() -> Estimate:
            return estimate(v, estimator, stop=asked, executor=executor, seed=self.seed, observer=watching)

        return explained_run(estimated, explain)


@dataclass(frozen=True)
class RuleOfRefits:
    """A rule that gets the rows of distinct refits; estimators count repeated subsets, too."""

    inner: StoppingRule
    game: UniversalPower

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return self.inner(replace(estimate, model_rows=self.game.rows_learned))

    def __conform__(self, kind: type[Kind]) -> Kind | None:
        """A rule that decides does so here, too."""
        return ability(self.inner, kind)


@dataclass(frozen=True)
class ObserverOfRefits:
    """An observer that gets the rows of distinct refits; estimators count repeated subsets, too."""

    inner: Observer
    game: UniversalPower

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        self.inner(replace(estimate, model_rows=self.game.rows_learned), elapsed)

    def count(self, share: float, elapsed: float) -> None:
        self.inner.count(share, elapsed)

    def close(self) -> None:
        self.inner.close()


def with_the_rest(found: Explanation | list[Explanation]) -> Explanation | list[Explanation]:
    """Explanations with phi_0 = v(D) less the sum of values (Table 3), so that u(D) is v(D)."""
    return with_constant([found])[0] if isinstance(found, Explanation) else with_constant(found)


def _coalitions(estimator: Estimator[Any], v: UniversalPower) -> int:
    """Coalitions between the ends that an estimator goes through; 0 where that has no end."""
    enumerates = ability(estimator, Enumerates)
    return 0 if enumerates is None else enumerates.coalitions(v)


def _notes(v: UniversalPower) -> list[Note | str]:
    refits, subsets = v.refits, v.coalitions_learned
    learner = (
        f"Learner: {refits.name}, {refits.design.words}; {subsets * v.fits_per_coalition:,} fits for {subsets:,} "
        f"subset{'s' if subsets > 1 else ''} of the features."
    )
    notes: list[Note | str] = [
        Note(learner, topic="learner"),
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


def one_by_one(
    measure: str,
    estimator: OneByOne,
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None,
    data: DataOptions,
    run: Run,
    *,
    learner: object,
    train: TrainLike | None,
    folds: int,
    loss: LossLike | LossList,
) -> Explanation | list[Explanation]:
    """The explanation by a measure that fits a learner once a feature: without it, or on it alone."""
    as_executor(run.n_jobs)  # raises where there are no such workers, before anything is fitted
    seed = entropy_of(data.get("rng"))
    copied, f = refittable(model, learner), _predictor(model) if learner is None else None
    X, y, weight = taken_apart(X, y, data.get("sample_weight"))
    refit = RefitData.of(X, y, train=train, sample_weight=weight)
    fitted_on = None if refit.train is None else labels_of(refit.train[0])
    names = column_names(X, data.get("feature_names"), fitted_on, None if f is None else f.feature_names)
    refit = refit if f is None else refit.arranged(f.arrange)  # it may know columns by their places
    lineup = Lineup.of(names, X, refit.X, data.get("groups"))
    game = refit.game(copied, loss=loss, folds=folds, players=lineup.players, seed=seed)
    problem = RefitProblem(game, lineup, loss, seed, refit.notes)
    return problem.explained(estimator, measure=measure, headline=MEASURES[measure].headline, run=run)


def _predictor(model: Any) -> Predictor | None:
    """The model as it was fitted; None where it was not, which does no harm."""
    try:
        return as_predictor(model)
    except ClarysageError:
        return None


@dataclass(frozen=True)
class AsManyDraws:
    """Ends a run that has made as many draws as there may be fits: subsets that come up again cost none."""

    fits: float

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.BUDGET if estimate.draws >= self.fits else None


def fits_of(run: Run) -> float:
    """The budget of a run, which counts fits here."""
    budget = run.budget
    if budget is None:
        return np.inf
    is_number = isinstance(budget, (int, float, np.integer, np.floating)) and not isinstance(budget, bool)
    if not is_number or not 0 < budget < np.inf:
        raise InputError("budget", got=f"{budget!r}", wanted="a positive number of fits, such as 1_000")
    return float(budget)


def rules_of_refits(run: Run) -> list[Rule]:
    """The rules that a run of refits stops by: of a budget, as many draws."""
    further = [] if run.budget is None else [AsManyDraws(fits_of(run))]
    return rules_of(replace(run, stop=[*run.further_rules, *further]), budget=False)


def over_subsets(
    problem: RefitProblem, method: MethodLike, *, measure: str, headline: str, run: Run, rules: Sequence[Rule]
) -> Explanation | list[Explanation]:
    """The explanation by Shapley values of all subsets, or of those that walks come by."""
    v, most = problem.game, fits_of(run)
    estimator, why = _estimator(method, v, rules, most)
    try:
        return problem.explained(
            estimator, measure=measure, headline=headline, run=run, rules=rules, most=most, notes=why
        )
    except ExhaustedError:
        first = 2 * (v.n_players - 1) * max(2, estimator.chunk(v.together))  # subsets of the shortest run at most
        raise _too_small(most, v, min(all_subsets(v.n_players), 1 + first)) from None


def _estimator(method: Any, v: UniversalPower, rules: Sequence[Rule], most: float) -> tuple[Estimator[Any], list[Note]]:
    """The estimator that was asked for, or that fits the game, and why."""
    fits = all_subsets(v.n_players) * v.fits_per_coalition
    is_open = is_auto(method) and v.n_players > 1
    estimator = as_estimator("exact" if is_open else method, v)
    limited = ability(estimator, CostLimited)
    if limited is not None and isinstance(method, str):
        estimator = limited.without_limit()  # fits are what counts here, and they are limited by the budget
    if is_open:
        pairs = subsets_of_walks(v.n_players) * v.fits_per_coalition
        would = f"all subsets would take {fits:,.0f} fits" if v.n_players < 64 else "there are very many subsets"
        if any(isinstance(rule, Deadline) for rule in rules):
            return PairedWalks(), [chosen_note("paired walks", f"{would}, which cannot be cut short at a deadline")]
        if fits > most:
            return PairedWalks(), [chosen_note("paired walks", f"{would}, more than the budget")]
        if fits > pairs:
            return PairedWalks(), [chosen_note("paired walks", f"{would}, walks about {pairs:,} at most")]
        return estimator, [chosen_note("exact", f"all subsets take {fits:,} fits, no more than walks would")]
    enumerates = ability(estimator, Enumerates)
    if enumerates is not None and (1 + enumerates.coalitions(v)) * v.fits_per_coalition > most:
        raise _too_small(most, v, 1 + enumerates.coalitions(v), Set("method", "paired walks"))
    return estimator, []


def _too_small(most: float, v: UniversalPower, coalitions: int, hint: Words = "a larger budget") -> InputError:
    return InputError(
        "budget",
        got=f"{most:,.0f} fits",
        wanted=f"{coalitions * v.fits_per_coalition:,}, {v.fits_per_coalition} for each subset",
        hint=hint,
    )

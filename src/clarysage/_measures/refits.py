"""Refits: data to fit and to judge learners on, runs whose budget counts fits, and their explanations."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage._measures.explain import explained
from clarysage._measures.options import Run, SharedOptions
from clarysage._measures.player_order import PlayerOrder
from clarysage._measures.provenance import fingerprint, fingerprint_of_rows, versions
from clarysage._measures.run import as_asked, explained_run, observer_of
from clarysage._utils.lru_cache import LRUCache
from clarysage.errors import InputError, Note, Set
from clarysage.estimators import ExhaustedError, estimate
from clarysage.execution.n_jobs import as_executor
from clarysage.games import UniversalPower
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import LIMITS
from clarysage.losses.choice import is_auto as is_auto_loss
from clarysage.protocols import (
    Enumerates,
    Estimator,
    Executor,
    Kind,
    Observer,
    Result,
    Rule,
    StoppingRule,
    Task,
    ability,
    without_end,
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
    player_order : its players, and their order for the user
    loss : as it was asked for; of a list there are as many explanations
    seed : of the run
    notes : on the data and the learner
    """

    game: UniversalPower
    player_order: PlayerOrder
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
        asked = [rule if isinstance(rule, LIMITS) else RuleOfRefits(rule, v) for rule in rules]
        watching = ObserverOfRefits(observer, v)

        def explain(result: Estimate) -> Explanation | list[Explanation]:
            result = replace(result, model_rows=v.rows_learned)
            chosen = [f"Loss {v.losses[0].name!r} was chosen."] if is_auto_loss(self.loss) else []
            explanations = explained(
                v,
                result,
                self.player_order.players,
                self.player_order.order,
                measure=measure,
                removal="refit",
                held_fixed="learners",
                method=estimator.name,
                groups=self.player_order.members,
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
        "examples": len(v.example_weights),
        "columns": refits.schema.width,
        "fingerprints": {
            "X": fingerprint_of_rows(refits.schema.encode(refits.table, "X"), refits.schema),
            "y": fingerprint(refits.y),
            "weights": fingerprint(v.example_weights),
        },
    }


class Prefetching:
    """An executor for the chunks of a game of refits, which has the fits made before the chunks that need them.

    Why: here a payoff costs a fit, and chunks ask for the same coalitions again and again. Were chunks shared out to
    workers, as elsewhere, two of them would fit the same coalition, and nobody would know when a budget is spent.

    How, for each round of chunks:

    1. Rehearse. Each chunk is drawn with a game whose memory is a :class:`Script`: it answers every question with
       zeros, at no cost, and writes down which coalitions were asked for. Draws come from random streams and do not
       depend on payoffs, so that the chunk will ask for the same ones in earnest.
    2. Learn. Coalitions on the list that are not in the game's memory are fitted by the workers, each once.
    3. Play. Each chunk is drawn again, from the same stream, with the game itself: all it asks for is in memory now.

    The budget is looked at in the first step: a chunk that it does not suffice for is not begun.

    Parameters
    ----------
    executor : the workers, who learn
    game : whose memory takes up what was learned
    budget : coalitions to be learned at most, none for no limit
    observer : told how far an enumeration of all coalitions is, where ``of`` says how many it has
    """

    def __init__(
        self, executor: Executor, game: UniversalPower, *, budget: float = np.inf, observer: Observer, of: int = 0
    ) -> None:
        self.executor, self.game, self.budget, self.observer, self.of = executor, game, budget, observer, of
        self.learned = game.learned  # one object for all rounds, which is sent to workers once
        self.done, self.begun = 0, time.monotonic()

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = without_end,
    ) -> Generator[Result, None, None]:
        wanted = self._rehearsed(function, tasks)
        keys = [key for new in wanted for key in new]
        with closing(self.executor.map(self.learned, keys, time_left)) as coming:
            for task, new in zip(tasks, wanted, strict=False):
                for key in new:
                    self.game.memo.put(key, next(coming))
                    self.done += 1
                    if self.of:
                        self.observer.count(self.done / self.of, time.monotonic() - self.begun)
                yield function(task)
        if len(wanted) < len(tasks):
            raise ExhaustedError

    def _rehearsed(self, function: Any, tasks: Sequence[Any]) -> list[list[bytes]]:
        """New coalitions of each task, up to the first that the budget is too small for."""
        wanted: list[list[bytes]] = []
        planned: set[bytes] = set()
        for task in tasks:
            script = Script(len(self.game.weights), len(self.game.losses))
            replace(function, game=replace(self.game, memo=script))(task)
            new = [key for key in script.asked if key not in planned and key not in self.game.memo]
            if self.done + len(planned) + len(new) > self.budget:
                break
            planned.update(new)
            wanted.append(new)
        return wanted


class Script(LRUCache[np.ndarray]):
    """A memory that knows nothing, answers zeros, and takes down what it was asked."""

    def __init__(self, states: int, losses: int) -> None:
        super().__init__()
        self.asked: dict[bytes, None] = {}
        self.zeros = np.zeros((states, losses))

    def get(self, key: bytes, compute: Callable[[], np.ndarray]) -> np.ndarray:
        self.asked[key] = None
        return self.zeros

"""Refits of learners on subsets of features: training and test data, runs whose budget counts fits, prefetching."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage._measures.examples import about_empty_columns, known_columns, separate_targets
from clarysage._measures.explanations import explanations_of
from clarysage._measures.options import DataOptions, Run, SharedOptions
from clarysage._measures.player_order import PlayerOrder, column_names
from clarysage._measures.provenance import fingerprint, fingerprint_of_rows, versions
from clarysage._measures.run import explain_run, remaining, single_or_list
from clarysage._utils.lru_cache import LRUCache
from clarysage.errors import InputError, Note, Set
from clarysage.estimators import ExhaustedError, estimate
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import follow, observer_of
from clarysage.games import UniversalPower
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import LIMITS, convergence_rule
from clarysage.losses.choice import is_auto as is_auto_loss
from clarysage.losses.choice import note_on_choice
from clarysage.models import Predictor
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
    unlimited_time,
)
from clarysage.results import Explanation
from clarysage.tables import as_table, check_order, labels_of, read_target, read_weights, schema_of, select_columns

TrainLike = Sequence[Any]  # (X, y), or (X, y, weights)
UNUSED_BY_REFITS: dict[str, str] = {  # shared options that measures with refits do not use
    **dict.fromkeys(("background", "removal"), "learners are fitted without features, which need no replacement"),
    "checkpoint": "runs with refits have no checkpoints",
    **dict.fromkeys(("max_rows", "memory_limit", "batch_size"), "learners are fitted on whole tables in memory"),
    "check_manifold": "no hybrid rows are made",
}


class RefitOptions(SharedOptions, total=False):
    """Options of measures that refit learners."""

    learner: object
    train: TrainLike | None
    folds: int


ARGUMENTS = {"X": "train", "y": "train", "sample_weight": "train", "test": "X"}  # of measures, by those of games


@dataclass(frozen=True)
class RefitData:
    """The test data of learners, X and y, and their training data, if these are separate.

    Attributes
    ----------
    X, y, weights : the test data
    train : the training rows, responses and weights; None for cross-fitting on X
    about_columns : notes on columns that were left out
    """

    X: Any
    y: np.ndarray
    weights: Any = None
    train: tuple[Any, np.ndarray, Any] | None = None
    about_columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, X: Any, y: Any, *, train: Any, sample_weight: Any, model: Predictor | None = None) -> RefitData:
        """Checks both tables, and puts the columns of X into the order of the training data.

        If a model is given, columns that it was not fitted on are left out.
        """
        X, about_X = known_columns(model, as_table(X, "X"), "X")
        if y is None:
            raise InputError("y", got="None", wanted="a response for each row of X")
        target = read_target(y, X, len(X))
        read_weights(sample_weight, X, len(X))
        if train is None:
            return cls(X, target, sample_weight, about_columns=about_X)
        if not isinstance(train, (tuple, list)) or len(train) not in (2, 3):
            raise InputError(
                "train",
                got=type(train).__name__,
                wanted="(X_train, y_train), or (X_train, y_train, weights)",
                hint=[Set("train"), "(X_train, y_train)"],
            )
        for values in train[1:]:
            check_order(values, train[0], "train", "train")
        rows, about_train = known_columns(model, as_table(train[0], "train"), "train")
        responses = train[1]
        try:
            responses = read_target(responses, rows, len(rows))
        except InputError as error:
            raise InputError("train", **error.parts) from error
        kinds = [(values.shape[1:], values.dtype.kind in "OUS") for values in (target, responses)]
        if kinds[0] != kinds[1]:
            raise InputError(
                "train",
                got=f"responses of shape {responses.shape} and dtype {responses.dtype}",
                wanted=f"the same as y, of shape {target.shape} and dtype {target.dtype}",
            )
        weights = train[2] if len(train) == 3 else None
        read_weights(weights, rows, len(rows), "train", "train")
        ordered, notes = in_column_order(rows, X, "X", "train"), (*about_X, *about_train)
        return cls(ordered, target, sample_weight, (rows, responses, weights), notes)

    @property
    def notes(self) -> tuple[Note | str, ...]:
        """Notes on columns left out or without values, and on cross-fitting, if no training data are given."""
        notes: tuple[Note | str, ...] = (
            *self.about_columns,
            *about_columns_without_values(self.X, self.train and self.train[0]),
        )
        if self.train is not None:
            return notes
        text = "Learners are fitted on folds of X, since no training rows were given: "
        return (*notes, Note((text, Set("train"), "(X_train, y_train).")))

    def rows_to_fit_on(self, folds: Any) -> int:
        """Returns the smallest number of training rows; all of X for invalid folds, which the game refuses."""
        if self.train is not None:
            return len(self.train[0])
        n = len(self.X)
        return n - -(-n // int(folds)) if isinstance(folds, (int, np.integer)) and folds > 0 else n

    def reorder(self, arrange: Callable[[Any], Any]) -> RefitData:
        """Returns the data with the columns of both tables ordered by name; unchanged if a table has no names."""
        if labels_of(self.X) is None or (self.train is not None and labels_of(self.train[0]) is None):
            return self  # columns are identified by their positions
        train = None if self.train is None else (arrange(self.train[0]), *self.train[1:])
        return replace(self, X=arrange(self.X), train=train)

    def game(self, learner: Any, **options: Any) -> UniversalPower:
        """Makes the game of a learner on these data; the options are those of :class:`UniversalPower`."""
        if self.train is None:
            return UniversalPower.of(learner, self.X, self.y, sample_weight=self.weights, **options)
        rows, responses, weights = self.train
        test = (self.X, self.y) if self.weights is None else (self.X, self.y, self.weights)
        try:
            return UniversalPower.of(learner, rows, responses, sample_weight=weights, test=test, **options)
        except InputError as error:
            if type(error) is InputError and error.argument in ARGUMENTS:
                raise InputError(ARGUMENTS[error.argument], **error.parts) from error
            raise


def prepare_refits(
    X: Any,
    y: Any,
    data: DataOptions,
    train: TrainLike | None,
    *,
    model: Predictor | None = None,
    reorder: Callable[[Any], Any] | None = None,
) -> tuple[RefitData, PlayerOrder]:
    """Checks the data of refits and returns them with their players.

    The columns are those of ``model``, if it knows them, in its order; its names are used if neither the user nor the
    tables name the columns. Without a model, ``reorder`` puts the columns of a table into the order for refits.
    """
    X, y, weight = separate_targets(X, y, data.get("sample_weight"))
    refit_data = RefitData.of(X, y, train=train, sample_weight=weight, model=model)
    X, _ = known_columns(model, X, "X")
    train_labels = None if refit_data.train is None else labels_of(refit_data.train[0])
    names = None if model is None else model.feature_names
    columns = column_names(X, data.get("feature_names"), train_labels, names)
    arrange = reorder if model is None else model.arrange
    refit_data = refit_data if arrange is None else refit_data.reorder(arrange)
    return refit_data, PlayerOrder.of(columns, X, refit_data.X, data.get("groups"))


def about_columns_without_values(X: Any, train: Any = None) -> tuple[Note, ...]:
    """Returns a warning of columns without values; none for tables that cannot be encoded, which learners may take."""
    try:
        schema = schema_of(X, train, argument="train")
        codes = {"X": schema.encode(X, "X")}
        codes |= {} if train is None else {"the training rows": schema.encode(train, "train")}
    except InputError:
        return ()
    return about_empty_columns(schema.names, codes)


def in_column_order(rows: Any, table: Any, argument: str, other: str) -> Any:
    """Returns a table with its columns in the order of another table, if both have names."""
    labels_of_table, labels = labels_of(table), labels_of(rows)
    if rows.shape[1] != table.shape[1]:
        raise InputError(argument, got=f"{table.shape[1]} columns", wanted=f"{rows.shape[1]}, as in {other}")
    if labels_of_table is None or labels is None or labels_of_table == labels:
        return table
    label_by_name = {str(label): label for label in labels_of_table}
    missing = [str(label) for label in labels if str(label) not in label_by_name]
    if missing:
        raise InputError(argument, got=f"no column {missing[0]!r}", wanted=f"the columns of {other}, in any order")
    return select_columns(table, [label_by_name[str(label)] for label in labels])


@dataclass(frozen=True)
class RefitProblem:
    """A game of refits with its players and notes; a measure runs an estimator on it.

    Attributes
    ----------
    game : the game of a learner and data
    player_order : its players, in the order of columns and of the user
    loss : the argument of the user; a list of losses gives a list of explanations
    seed : the seed of the run
    notes : on the data and the learner
    """

    game: UniversalPower
    player_order: PlayerOrder
    loss: Any
    seed: int
    notes: tuple[Note | str, ...] = ()

    def explain(
        self,
        estimator: Estimator[Any],
        *,
        measure: str,
        headline: str,
        run: Run,
        rules: Sequence[Rule] = (),
        max_fits: float = np.inf,
        notes: Sequence[Note | str] = (),
    ) -> Explanation | list[Explanation]:
        """Runs an estimator on the game with at most ``max_fits`` fits, and returns its explanations.

        Fits are distributed to the workers. Sampling estimators evaluate all examples at once, since a fit predicts all
        of them.
        """
        v = self.game if estimator.limit(self.game) is not None else self.game.together
        v.pace.seconds, v.pace.final_at = run.seconds, run.called + run.seconds
        follow(v.pace)
        observer = observer_of(convergence_rule(rules).progress)
        executor = Prefetching(
            as_executor(run.n_jobs),
            v,
            budget=max_fits // v.fits_per_coalition - 1,
            observer=observer,
            total=_coalitions(estimator, v),
        )
        stop = [rule if isinstance(rule, LIMITS) else RuleOfRefits(rule, v) for rule in remaining(run, rules)]
        watching = ObserverOfRefits(observer, v)

        def explain(result: Estimate) -> Explanation | list[Explanation]:
            result = replace(result, model_rows=v.rows_learned)
            chosen = [note_on_choice(v.losses[0], v.facts, "learner")] if is_auto_loss(self.loss) else []
            explanations = explanations_of(
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
            return single_or_list(explanations, self.loss)

        def estimated() -> Estimate:
            return estimate(v, estimator, stop=stop, executor=executor, seed=self.seed, observer=watching)

        return explain_run(run, estimated, explain)


@dataclass(frozen=True)
class RuleOfRefits:
    """A stopping rule whose ``model_rows`` count distinct refits, while estimators also count repeated subsets."""

    inner: StoppingRule
    game: UniversalPower

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return self.inner(replace(estimate, model_rows=self.game.rows_learned))

    def __conform__(self, kind: type[Kind]) -> Kind | None:
        """Passes on the abilities of the inner rule, such as sequential decisions."""
        return ability(self.inner, kind)


@dataclass(frozen=True)
class ObserverOfRefits:
    """An observer whose ``model_rows`` count distinct refits, while estimators also count repeated subsets."""

    inner: Observer
    game: UniversalPower

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        self.inner(replace(estimate, model_rows=self.game.rows_learned), elapsed)

    def count(self, share: float, elapsed: float) -> None:
        self.inner.count(share, elapsed)

    def close(self) -> None:
        self.inner.close()


def _coalitions(estimator: Estimator[Any], v: UniversalPower) -> int:
    """Returns the number of coalitions that an estimator enumerates; 0 for a sampling estimator."""
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
        "Values are lower bounds for what the data can predict: a better learner may gain more. A learner may also do "
        "worse with more features, so that values may be negative.",
    ]
    if refits.weights is not None and refits.takes_weights is None:
        notes.append(f"{refits.name} takes no sample weights: they are used in losses and constants, not in its fits.")
    elif refits.weights is not None and refits.takes_weights != "sample_weight":
        notes.append("Sample weights are passed to the last step of the pipeline only.")
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
    """An executor for the chunks of a game of refits that makes all fits before the chunks that need them.

    Every payoff costs a fit, and chunks need the same coalitions again and again. If whole chunks were distributed to
    workers, as for other games, several workers would fit the same coalition, and a budget of fits could not be
    checked. Therefore each round of chunks has three steps:

    1. Dry run. Each chunk is drawn with a game whose cache is a :class:`CoalitionRecorder`: it records the coalitions
       and returns zeros at no cost. Random draws do not depend on payoffs, so that the real chunk needs the same ones.
    2. Fitting. The workers fit each recorded coalition that is not in the game's cache, once.
    3. Real run. Each chunk is drawn again from the same random stream, and finds all payoffs in the cache.

    The budget is checked in the first step: a chunk that would exceed it is not started.

    Parameters
    ----------
    executor : the workers that fit
    game : the game, whose cache stores the payoffs
    budget : the largest number of coalitions to fit
    observer : is informed of the progress of an enumeration of ``total`` coalitions
    """

    def __init__(
        self, executor: Executor, game: UniversalPower, *, budget: float = np.inf, observer: Observer, total: int = 0
    ) -> None:
        self.executor, self.game, self.budget, self.observer, self.total = executor, game, budget, observer, total
        self.learned = game.learned  # one object for all rounds, so that it is sent to workers only once
        self.done, self.started = 0, time.monotonic()

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = unlimited_time,
    ) -> Generator[Result, None, None]:
        new_keys = self._dry_run(function, tasks)
        keys = [key for new in new_keys for key in new]
        with closing(self.executor.map(self.learned, keys, time_left)) as payoffs:
            for task, new in zip(tasks, new_keys, strict=False):
                for key in new:
                    began = time.monotonic()
                    self.game.memo.put(key, next(payoffs))
                    self.game.pace.record(self.game.refits.rows, time.monotonic() - began)
                    self.done += 1
                    if self.total:
                        self.observer.count(self.done / self.total, time.monotonic() - self.started)
                yield function(task)
        if len(new_keys) < len(tasks):
            raise ExhaustedError

    def _dry_run(self, function: Any, tasks: Sequence[Any]) -> list[list[bytes]]:
        """Returns the new coalitions of each task, up to the first task that exceeds the budget."""
        new_keys: list[list[bytes]] = []
        planned: set[bytes] = set()
        for task in tasks:
            recorder = CoalitionRecorder(len(self.game.weights), len(self.game.losses))
            replace(function, game=replace(self.game, memo=recorder))(task)
            new = [key for key in recorder.recorded if key not in planned and key not in self.game.memo]
            if self.done + len(planned) + len(new) > self.budget:
                break
            planned.update(new)
            new_keys.append(new)
        return new_keys


class CoalitionRecorder(LRUCache[np.ndarray]):
    """An empty cache that records the coalitions that are looked up, and returns zeros."""

    def __init__(self, states: int, losses: int) -> None:
        super().__init__()
        self.recorded: dict[bytes, None] = {}
        self.zeros = np.zeros((states, losses))

    def get(self, key: bytes, compute: Callable[[], np.ndarray]) -> np.ndarray:
        self.recorded[key] = None
        return self.zeros

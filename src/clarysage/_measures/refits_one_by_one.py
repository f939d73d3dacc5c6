"""Measures that fit a learner once a feature: without it, or on it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clarysage._measures.examples import taken_apart
from clarysage._measures.judged import Judged
from clarysage._measures.lineup import Lineup, column_names
from clarysage._measures.refits import Refitting
from clarysage._measures.table import MEASURES
from clarysage.errors import ClarysageError
from clarysage.estimators.leave_one_out import OneByOne
from clarysage.execution.parallel import as_executor
from clarysage.execution.seeds import entropy_of
from clarysage.models import Predictor, as_predictor
from clarysage.models.learners import refittable
from clarysage.tables import labels_of


def refits_one_by_one(
    measure: str,
    estimator: OneByOne,
    model: Any,
    X: Any,
    y: Any,
    *,
    learner: Any,
    train: Any,
    folds: int,
    loss: Any,
    groups: Mapping[str, Sequence[Any]] | None,
    sample_weight: Any,
    n_jobs: Any,
    progress: bool | None,
    feature_names: Sequence[str] | None,
    rng: Any,
) -> Any:
    """The explanation by a measure of the table, or the list of them for a list of losses."""
    executor, entropy = as_executor(n_jobs), entropy_of(rng)
    copied, f = refittable(model, learner), _predictor(model) if learner is None else None
    X, y, sample_weight = taken_apart(X, y, sample_weight)
    judged = Judged.of(X, y, train=train, sample_weight=sample_weight)
    theirs = None if judged.train is None else labels_of(judged.train[0])
    names = column_names(X, feature_names, theirs, None if f is None else f.feature_names)
    judged = judged if f is None else judged.arranged(f.arrange)  # it may know columns by their places
    lineup = Lineup.of(names, X, judged.X, groups)
    game = judged.game(copied, loss=loss, folds=folds, players=lineup.players, seed=entropy)
    refitting = Refitting(game, lineup, loss, entropy, judged.notes)
    headline = MEASURES[measure].headline
    return refitting.summary(estimator, measure=measure, headline=headline, executor=executor, progress=progress)


def _predictor(model: Any) -> Predictor | None:
    """The model as it was fitted; None where it was not, which is as well."""
    try:
        return as_predictor(model)
    except ClarysageError:
        return None

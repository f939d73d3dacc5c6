"""Removal error: the mean squared error of f_S against f, to compare removals by their distance to E[f | x_S]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clarysage._measures.examples import known_columns
from clarysage._measures.problem import Problem
from clarysage.catalogue import REMOVALS, ROWS_TO_LEARN_FROM
from clarysage.errors import InputError, Set, as_note
from clarysage.execution.seeds import BACKGROUND, REMOVAL, TRIAL, entropy_of, stream
from clarysage.models import as_predictor
from clarysage.protocols import (
    GroupsLike,
    HasBackground,
    ModelLike,
    Removal,
    RemovalLike,
    Seed,
    TableLike,
    WeightsLike,
    ability,
)
from clarysage.removal import as_removal, default_rows, is_auto_conditional, name_of
from clarysage.removal.background import bound_to, match_by_cells
from clarysage.removal.removal_error import (
    MEMORY,
    EvaluationSample,
    RemovalError,
    RemovalEvaluation,
    mean_and_covariance,
)
from clarysage.results import RemovalQuality
from clarysage.synonyms import with_synonyms
from clarysage.tables import as_table, read_weights, rows_of

MIN_ROWS = 4  # of X, to split it in two halves


@with_synonyms
def removal_quality(
    removals: RemovalLike | Sequence[RemovalLike] | Mapping[str, RemovalLike],
    model: ModelLike,
    X: TableLike,
    *,
    background: TableLike | None = None,
    coalitions: int = 4,
    rows: int = 256,
    groups: GroupsLike | None = None,
    sample_weight: WeightsLike | None = None,
    feature_names: Sequence[str] | None = None,
    rng: Seed = None,
) -> RemovalQuality:
    r"""Measures how close removals are to the conditional expectation E[f | x_S], by which SAGE is defined (Eq. 1).

    For every removal,

    .. math:: E\|f - f_S\|^2 = E[Var(f | X_S)] + E\|f_S - E[f | X_S]\|^2

    where the first part does not depend on the removal: the smaller the error, the closer f_S is to E[f | x_S]. The
    mean is over rows of X and coalitions other than the empty and the full one; all sizes are equally likely.

    Parameters
    ----------
    removals : a list of names and objects, a single one, a mapping of labels to them, or "all": every removal that has
        a name and can be made from the data
    model : anything fitted, any callable of rows, or a :class:`~clarysage.Predictor`
    X : rows to evaluate removals on; labels are not needed
    background : rows from which removals given by name are made; default: a random half of X, or at most 512 rows of it
        for removals that average over them, and 4,096 for others. The other half is used for the evaluation, so that no
        removal is evaluated on rows that it was made from
    coalitions, rows : the number of coalitions for each row, and the largest number of rows, which are sampled
    groups : mapping of names to columns that are withheld together
    sample_weight : one weight for each row of X; removals are made without, as in :func:`~clarysage.sage`
    feature_names : names of the columns, if X has none
    rng : seed or Generator

    Returns
    -------
    RemovalQuality

    Notes
    -----
    A removal that averages over m draws has an error that is larger by about Var(f | x_S) / m. This is a part of its
    error, since such an f_S is used in explanations. Removal objects are evaluated as they are; make them from other
    rows than X. A small error says that f_S is close to E[f | x_S] on average, not that this is the right question: a
    marginal removal explains how the model uses its inputs, a conditional one what information they carry.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> X = np.hstack([x, x, x])  # withheld columns can be predicted from kept ones
    >>> quality = removal_quality(["marginal", "baseline"], lambda X: X.sum(axis=1) ** 2, X, rng=0)
    >>> quality.best
    'marginal'
    """
    _check_count("coalitions", coalitions)
    _check_count("rows", rows)
    f, entropy = as_predictor(model), entropy_of(rng)
    table, notes = f.known_columns(as_table(X, "X"), "X")
    labelled, is_all = _label_removals(removals)
    weights = read_weights(sample_weight, table, len(table))
    numbers = np.arange(len(table))
    made_of = None if background is None else as_table(background, "background")
    made_of, about_background = known_columns(f, made_of, "background")
    notes += about_background
    if made_of is None and any(isinstance(removal, str) for removal in labelled.values()):
        made_of, numbers, about_halves = _halves(table, stream(entropy, BACKGROUND, 0))
        notes += about_halves
    problem = Problem.of(
        f,
        rows_of(table, numbers),
        background=made_of,
        groups=groups,
        feature_names=feature_names,
        rng=entropy,
        combine=False,
    )
    sample = _trial(weights[numbers], rows, coalitions, len(problem.players), stream(entropy, TRIAL, 0))
    evaluation = RemovalEvaluation.of(
        problem.predictor, problem.X, problem.X if made_of is None else made_of, sample, problem.players
    )

    def make(removal: Any) -> Removal:
        few = (
            made_of if background is not None or not isinstance(removal, str) else _take_default_rows(made_of, removal)
        )
        return as_removal(removal, few, None, stream(entropy, REMOVAL, 0))

    def draws() -> np.random.Generator:
        return stream(entropy, TRIAL, 1)  # the same for each removal

    if is_all:
        makers = {label: partial(make, removal) for label, removal in labelled.items()}
        judged, left_out = evaluation.errors_of_all(makers, draws)
    else:
        judged, left_out = (
            {label: evaluation.error_of(make(removal), draws()) for label, removal in labelled.items()},
            {},
        )
    notes += _about_overlap(
        {label: labelled[label] for label in judged}, made_of, problem.predictor, table, numbers[sample.rows]
    )
    return _quality(judged, evaluation, weights[numbers][sample.rows], left_out, notes)


def _quality(
    judged: dict[str, RemovalError],
    evaluation: RemovalEvaluation,
    weights: np.ndarray,
    left_out: dict[str, str],
    notes: tuple[str, ...],
) -> RemovalQuality:
    errors = np.column_stack([result.errors for result in judged.values()])
    scores, covariance = mean_and_covariance(errors, weights, evaluation.sample.cluster)
    n, shares = len(weights), weights / weights.sum()
    f = evaluation.outputs - evaluation.outputs[:1]  # so that the variance of a constant is exactly zero
    variance = float(shares @ ((f - shares @ f) ** 2).sum(axis=1) * n / (n - 1))
    return RemovalQuality(
        names=tuple(judged),
        scores=scores,
        covariance=covariance,
        variance=variance,
        seconds=np.array([result.seconds for result in judged.values()]),
        model_rows=np.array([result.model_rows for result in judged.values()]),
        rows=n,
        coalitions=evaluation.sample.coalitions.shape[1],
        left_out=left_out,
        notes=tuple(map(as_note, notes)),
    )


def _label_removals(removals: Any) -> tuple[dict[str, Any], bool]:
    """Returns removals by label, and whether the user asked for all."""
    if isinstance(removals, str) and removals.lower().strip() == "all":
        return {name: name for name in REMOVALS}, True
    if isinstance(removals, Mapping):
        by_label = {str(label): removal for label, removal in removals.items()}
    else:
        by_label = {}
        for removal in removals if isinstance(removals, (list, tuple)) else [removals]:
            label = _label(removal)
            count = sum(other == label or other.startswith(f"{label} (") for other in by_label)
            by_label[f"{label} ({count + 1})" if count else label] = removal
    if not by_label:
        raise InputError("removals", got="none", wanted="one removal or more", hint=Set("removals", "all"))
    return by_label, False


def _label(removal: Any) -> str:
    if is_auto_conditional(removal):
        raise InputError(
            "removals",
            got="'auto conditional', which chooses a removal",
            wanted="removals to compare",
            hint=Set("removals", "all"),
        )
    return name_of(removal)


def _halves(X: Any, rng: np.random.Generator) -> tuple[Any, np.ndarray, tuple[str, ...]]:
    """Splits X: returns rows to make removals from, the numbers of rows to evaluate on, and a note."""
    n = len(X)
    if n < MIN_ROWS:
        raise InputError(
            "X",
            got=f"{n:,} rows, and no background",
            wanted=f"at least {MIN_ROWS} rows to split in two",
            hint=[Set("background"), ", rows that removals are made from"],
        )
    order = rng.permutation(n)
    made_of, judged = np.sort(order[: n // 2][:ROWS_TO_LEARN_FROM]), np.sort(order[n // 2 :])
    note = f"Removals were made from {len(made_of):,} rows of X, and evaluated on {len(judged):,} others."
    return rows_of(X, made_of), judged, (note,)


def _take_default_rows(rows: Any, removal: str) -> Any:
    """Returns as many of the rows as a removal takes by default."""
    size = default_rows(removal)
    return rows if len(rows) <= size else rows_of(rows, np.linspace(0, len(rows) - 1, int(size)).astype(np.intp))


def _trial(weights: np.ndarray, rows: int, coalitions: int, p: int, rng: np.random.Generator) -> EvaluationSample:
    if p < 2:
        raise InputError(
            "X", got="one player", wanted="two or more: a single player has no coalition between empty and full"
        )
    if (weights > 0).sum() < 2:
        raise InputError("X", got="one row to evaluate on", wanted="two or more")
    return EvaluationSample.draw(weights, rows, coalitions, p, rng)


def _about_overlap(labelled: dict[str, Any], made_of: Any, f: Any, X: Any, judged: np.ndarray) -> tuple[str, ...]:
    """Returns notes on removals that are evaluated on rows they were made from."""
    notes = []
    for label, removal in labelled.items():
        of_rows = ability(removal, HasBackground)
        background = made_of if isinstance(removal, str) else None if of_rows is None else of_rows.background
        if background is None:
            continue
        bound = bound_to(f, X, background, MEMORY)
        self_match = match_by_cells(bound.examples.codes, bound.background)
        count = 0 if self_match is None else int((self_match[judged] >= 0).sum())
        if count:
            notes.append(
                f"{label!r} was made from {count:,} of the {len(judged):,} rows it was evaluated on: its error is "
                "larger for other rows."
            )
    return tuple(notes)


def _check_count(argument: str, value: Any) -> None:
    least = 2 if argument == "rows" else 1
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InputError(argument, got=f"{value!r}", wanted=f"a whole number of {least} or more")

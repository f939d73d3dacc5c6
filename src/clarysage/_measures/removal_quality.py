"""Which removal comes nearest to E[f | x_S] on given data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clarysage._measures.problem import Problem
from clarysage.catalogue import REMOVALS, ROWS_TO_LEARN_FROM
from clarysage.errors import InputError, Set, as_note
from clarysage.execution.seeds import BACKGROUND, REMOVAL, TRIAL, entropy_of, stream
from clarysage.protocols import (
    GroupsLike,
    MadeOfRows,
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
from clarysage.removal.removal_error import MEMORY, Judged, Panel, Trial, mean_and_covariance
from clarysage.results import RemovalQuality
from clarysage.tables import as_table, read_weights, rows_of

FEWEST = 4  # rows of X that can be split in two


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
    r"""How near removals come to withholding features by the conditional distribution, as SAGE is defined (Eq. 1).

    Whatever stands in for withheld features,

    .. math:: E\|f - f_S\|^2 = E[Var(f | X_S)] + E\|f_S - E[f | X_S]\|^2

    where the first part does not depend on the removal: the smaller the error, the nearer f_S is to E[f | x_S]. The
    mean is over rows of X and coalitions of all sizes but the empty and the full one, sizes alike.

    Parameters
    ----------
    removals : names and objects in a list, one of them alone, a mapping of labels to them, or "all": every removal that
        has a name and can be made of the data
    model : anything fitted, any callable of rows, or a :class:`~clarysage.Predictor`
    X : rows to judge on; labels are not needed
    background : rows of which removals that are given by name are made; default: a random half of X, of which
        removals that average over it take 512 rows at most, others 4,096; the other half is judged, so that no removal
        is judged on rows it was made of
    coalitions, rows : how many coalitions each row is judged with, and how many rows at most, drawn at random
    groups : mapping of names to columns that are withheld together
    sample_weight : one weight a row of X; removals are made without, as in :func:`~clarysage.sage`
    feature_names : names for the columns, where X has none
    rng : seed or Generator

    Returns
    -------
    RemovalQuality

    Notes
    -----
    A removal that averages over m draws has an error larger by Var(f | x_S) / m, or so: this is part of what is judged,
    since it is part of the f_S that is used. Removal objects are judged as they are; make them of other rows than X. A
    small error says that f_S is near E[f | x_S] on the whole, not that this is what one wants to explain: a marginal
    removal tells what the model does with its inputs, a conditional one what information they carry.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> X = np.hstack([x, x, x])  # whatever is withheld can be told from what is kept
    >>> quality = removal_quality(["marginal", "baseline"], lambda X: X.sum(axis=1) ** 2, X, rng=0)
    >>> quality.best
    'marginal'
    """
    _check_count("coalitions", coalitions)
    _check_count("rows", rows)
    entropy, table = entropy_of(rng), as_table(X, "X")
    asked, is_all = _asked(removals)
    weights = read_weights(sample_weight, table, len(table))
    numbers, notes = np.arange(len(table)), tuple[str, ...]()
    made_of = None if background is None else as_table(background, "background")
    if made_of is None and any(isinstance(one, str) for one in asked.values()):
        made_of, numbers, notes = _halves(table, stream(entropy, BACKGROUND, 0))
    problem = Problem.of(
        model,
        rows_of(table, numbers),
        background=made_of,
        groups=groups,
        feature_names=feature_names,
        rng=entropy,
    )
    trial = _trial(weights[numbers], rows, coalitions, len(problem.players), stream(entropy, TRIAL, 0))
    panel = Panel.of(problem.predictor, problem.X, problem.X if made_of is None else made_of, trial, problem.players)

    def make(removal: Any) -> Removal:
        few = made_of if background is not None or not isinstance(removal, str) else _thinned(made_of, removal)
        return as_removal(removal, few, None, stream(entropy, REMOVAL, 0))

    def draws() -> np.random.Generator:
        return stream(entropy, TRIAL, 1)  # the same for each

    if is_all:
        makers = {label: partial(make, removal) for label, removal in asked.items()}
        found, left_out = panel.judge_those_that_can(makers, draws)
    else:
        found, left_out = {label: panel.judge(make(removal), draws()) for label, removal in asked.items()}, {}
    notes += _about_own(
        {label: asked[label] for label in found}, made_of, problem.predictor, table, numbers[trial.rows]
    )
    return _quality(found, panel, weights[numbers][trial.rows], left_out, notes)


def _quality(
    found: dict[str, Judged], panel: Panel, weights: np.ndarray, left_out: dict[str, str], notes: tuple[str, ...]
) -> RemovalQuality:
    errors = np.column_stack([one.errors for one in found.values()])
    scores, covariance = mean_and_covariance(errors, weights, panel.trial.share)
    n, mass = len(weights), weights / weights.sum()
    f = panel.outputs - panel.outputs[:1]  # so that a constant has a variance of zero to the last bit
    variance = float(mass @ ((f - mass @ f) ** 2).sum(axis=1) * n / (n - 1))
    return RemovalQuality(
        names=tuple(found),
        scores=scores,
        covariance=covariance,
        variance=variance,
        seconds=np.array([one.seconds for one in found.values()]),
        model_rows=np.array([one.model_rows for one in found.values()]),
        rows=n,
        coalitions=panel.trial.coalitions.shape[1],
        left_out=left_out,
        notes=tuple(map(as_note, notes)),
    )


def _asked(removals: Any) -> tuple[dict[str, Any], bool]:
    """Removals by their labels, and whether all were asked for."""
    if isinstance(removals, str) and removals.lower().strip() == "all":
        return {name: name for name in REMOVALS}, True
    if isinstance(removals, Mapping):
        found = {str(label): removal for label, removal in removals.items()}
    else:
        found = {}
        for removal in removals if isinstance(removals, (list, tuple)) else [removals]:
            label = _label(removal)
            count = sum(known == label or known.startswith(f"{label} (") for known in found)
            found[f"{label} ({count + 1})" if count else label] = removal
    if not found:
        raise InputError("removals", got="none", wanted="one removal or more", hint=Set("removals", "all"))
    return found, False


def _label(removal: Any) -> str:
    if is_auto_conditional(removal):
        raise InputError(
            "removals",
            got="'auto conditional', a choice among removals",
            wanted="removals to judge",
            hint=Set("removals", "all"),
        )
    return name_of(removal)


def _halves(X: Any, rng: np.random.Generator) -> tuple[Any, np.ndarray, tuple[str, ...]]:
    """Rows of X to make removals of, the numbers of those to judge, and a word about it."""
    n = len(X)
    if n < FEWEST:
        raise InputError(
            "X",
            got=f"{n:,} rows, and no background",
            wanted=f"at least {FEWEST} rows to split in two",
            hint=[Set("background"), ", rows of which removals are made"],
        )
    order = rng.permutation(n)
    made_of, judged = np.sort(order[: n // 2][:ROWS_TO_LEARN_FROM]), np.sort(order[n // 2 :])
    note = f"Removals were made of {len(made_of):,} rows of X, and judged on {len(judged):,} others."
    return rows_of(X, made_of), judged, (note,)


def _thinned(rows: Any, removal: str) -> Any:
    """As many of the rows as a removal takes where the user does not say."""
    size = default_rows(removal)
    return rows if len(rows) <= size else rows_of(rows, np.linspace(0, len(rows) - 1, int(size)).astype(np.intp))


def _trial(weights: np.ndarray, rows: int, coalitions: int, p: int, rng: np.random.Generator) -> Trial:
    if p < 2:
        raise InputError("X", got="one player", wanted="two or more: one alone is either known or not")
    if (weights > 0).sum() < 2:
        raise InputError("X", got="one row to judge", wanted="two or more")
    return Trial.draw(weights, rows, coalitions, p, rng)


def _about_own(asked: dict[str, Any], made_of: Any, f: Any, X: Any, judged: np.ndarray) -> tuple[str, ...]:
    """A word on removals that were made of rows they are judged on."""
    notes = []
    for label, removal in asked.items():
        of_rows = ability(removal, MadeOfRows)
        background = made_of if isinstance(removal, str) else None if of_rows is None else of_rows.background
        if background is None:
            continue
        bound = bound_to(f, X, background, MEMORY)
        own = match_by_cells(bound.examples.codes, bound.background)
        count = 0 if own is None else int((own[judged] >= 0).sum())
        if count:
            notes.append(
                f"{label!r} was made of {count:,} of the {len(judged):,} rows it was judged on: its error looks "
                "smaller than it is for others."
            )
    return tuple(notes)


def _check_count(argument: str, value: Any) -> None:
    least = 2 if argument == "rows" else 1
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InputError(argument, got=f"{value!r}", wanted=f"a whole number of {least} or more")

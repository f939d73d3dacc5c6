"""Model selection among conditional removals by their error against E[f | x_S]: removal="auto conditional"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from clarysage.catalogue import REMOVALS
from clarysage.errors import InputError, Note
from clarysage.execution.seeds import REMOVAL, TRIAL, stream
from clarysage.models import Predictor
from clarysage.players import Players
from clarysage.protocols import Removal
from clarysage.removal import as_removal
from clarysage.removal.background import bound_to, match_by_cells, match_by_source
from clarysage.removal.removal_error import MEMORY, EvaluationSample, RemovalEvaluation, mean_and_covariance
from clarysage.tables import rows_of

ROWS, COALITIONS = 128, 2  # removals are judged on these: a coalition and its complement for each row
SHARES = 32  # distinct draws of coalitions, each for four rows: fitting to coalitions takes most of the time
ANY_COLUMNS = "copula"  # a removal for columns of any type
ENOUGH = 32  # rows outside the background; with fewer the background is split in halves


@dataclass(frozen=True)
class RemovalChoice:
    """The chosen removal, a note on the choice, and the model rows that it took."""

    removal: Removal
    note: Note
    model_rows: int


def choose_removal(
    f: Predictor,
    X: Any,
    background: Any,
    players: Players,
    entropy: int,
    *,
    source: np.ndarray | None = None,
    candidates: Sequence[str] | None = None,
) -> RemovalChoice:
    """Chooses the conditional removal with the smallest mean squared error of f_S against f.

    Removals are judged on rows of X outside the background; if there are hardly any, they are made from one half of the
    background and judged on the other. The chosen one is then made from the full background. ``source`` (m,) are the
    row numbers of the background in X, if known; ``candidates`` are the names to choose from, by default all.
    """
    rng = stream(entropy, TRIAL, 0)
    if candidates is None:
        candidates = [row.name for row in REMOVALS.values() if row.is_conditional]
    if len(players) < 2:
        note = f"Removal {ANY_COLUMNS!r} was used: with a single player, all removals give the same values."
        return RemovalChoice(_made(ANY_COLUMNS, background, entropy), Note(note), 0)
    made_of, X = _split(f, X, background, source, rng)
    sample = EvaluationSample.draw(np.ones(len(X)), ROWS, COALITIONS, len(players), rng, clusters=SHARES)
    evaluation = RemovalEvaluation.of(f, X, made_of, sample, players)
    quick = [name for name in candidates if len(players) <= REMOVALS[name].max_players]
    makers: dict[str, Callable[[], Removal]] = {name: partial(_made, name, made_of, entropy) for name in quick}
    errors_by_name, left_out = evaluation.errors_of_all(makers, partial(stream, entropy, TRIAL, 1))
    scores, covariance = mean_and_covariance(
        np.column_stack([trial_errors.errors for trial_errors in errors_by_name.values()]),
        np.ones(len(sample.rows)),
        sample.cluster,
    )
    names, order = tuple(errors_by_name), np.argsort(scores, kind="stable")
    best, error = int(order[0]), float(np.sqrt(covariance[order[0], order[0]]))
    others = [f", {names[i]} {scores[i]:.3g}" for i in order[1:]] + [f", {name} could not be used" for name in left_out]
    others += [f", {name} not tried with so many features" for name in candidates if name not in quick]
    variance = covariance[best, best] + np.diagonal(covariance) - 2 * covariance[best]
    alike = [names[i] for i in order[1:] if scores[i] - scores[best] < 2 * np.sqrt(variance[i])]
    note = (
        f"Removal {names[best]!r} was chosen: mean squared error of f_S against f {scores[best]:.3g} "
        f"(± {error:.2g}){''.join(others)}."
    )
    note += (
        f" On so few rows it cannot be distinguished from {', '.join(alike)}; see cs.removal_quality." if alike else ""
    )
    rows = len(sample.rows) + sum(trial_errors.model_rows for trial_errors in errors_by_name.values())
    return RemovalChoice(_made(names[best], background, entropy), Note(note, topic="removal"), rows)


def _made(name: str, background: Any, entropy: int) -> Removal:
    return as_removal(name, background, None, stream(entropy, REMOVAL, 0))  # the same bits as by its name


def _split(
    f: Predictor, X: Any, background: Any, source: np.ndarray | None, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Returns rows to make removals from, and other rows to judge them on."""
    if source is None:
        bound = bound_to(f, X, background, MEMORY)
        self_match = match_by_cells(bound.examples.codes, bound.background)
    else:
        self_match = match_by_source(source, len(X))
    free = np.arange(len(X)) if self_match is None else np.flatnonzero(self_match < 0)
    m = len(background)
    if len(free) >= ENOUGH or len(free) == len(X) > 1:
        return background, rows_of(X, free)
    if m < 4:
        raise InputError(
            "removal",
            got=f"'auto conditional' with {m} background rows",
            wanted="4 or more of them",
            hint="a removal by its name, or more rows",
        )
    order = rng.permutation(m)
    made_of, judged = np.sort(order[: m // 2]), np.sort(order[m // 2 :])
    return rows_of(background, made_of), rows_of(background, judged)

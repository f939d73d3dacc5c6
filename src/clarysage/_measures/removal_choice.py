"""The conditional removal that comes nearest to E[f | x_S] on given data: removal="auto conditional"."""

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
from clarysage.removal.removal_error import MEMORY, Panel, Trial, mean_and_covariance
from clarysage.tables import rows_of

ROWS, COALITIONS = 128, 2  # pairs on which removals are judged: a coalition and its complement for each row
SHARES = 32  # draws of them, each for four rows: fitting to coalitions is what takes the time
ANY_COLUMNS = "copula"  # a removal for columns of any kind
ENOUGH = 32  # rows outside the background, below which the background is split instead


@dataclass(frozen=True)
class Choice:
    """The removal that was chosen, in words, and the model rows that went into choosing it."""

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
    among: Sequence[str] | None = None,
) -> Choice:
    """The conditional removal with the smallest squared distance of f_S from f, made of the whole background.

    Judged are rows of X that are no background rows; where there are hardly any, removals are made of one half of the
    background and judged on the other. ``source`` (m,) are the numbers of the background rows in X, where known;
    ``among`` are the names of those to choose from, where these are not all.
    """
    rng = stream(entropy, TRIAL, 0)
    among = [row.name for row in REMOVALS.values() if row.is_conditional] if among is None else among
    if len(players) < 2:
        note = f"Removal {ANY_COLUMNS!r} was taken: one player alone is known or not, whatever the removal."
        return Choice(_made(ANY_COLUMNS, background, entropy), Note(note), 0)
    made_of, X = _apart(f, X, background, source, rng)
    trial = Trial.draw(np.ones(len(X)), ROWS, COALITIONS, len(players), rng, shares=SHARES)
    panel = Panel.of(f, X, made_of, trial, players)
    quick = [name for name in among if len(players) <= REMOVALS[name].max_players]
    makers: dict[str, Callable[[], Removal]] = {name: partial(_made, name, made_of, entropy) for name in quick}
    found, left_out = panel.judge_those_that_can(makers, partial(stream, entropy, TRIAL, 1))
    scores, covariance = mean_and_covariance(
        np.column_stack([one.errors for one in found.values()]), np.ones(len(trial.rows)), trial.share
    )
    names, order = tuple(found), np.argsort(scores, kind="stable")
    best, error = int(order[0]), float(np.sqrt(covariance[order[0], order[0]]))
    others = [f", {names[i]} {scores[i]:.3g}" for i in order[1:]] + [f", {name} could not be used" for name in left_out]
    others += [f", {name} not tried with so many features" for name in among if name not in quick]
    variance = covariance[best, best] + np.diagonal(covariance) - 2 * covariance[best]
    alike = [names[i] for i in order[1:] if scores[i] - scores[best] < 2 * np.sqrt(variance[i])]
    note = (
        f"Removal {names[best]!r} was chosen: mean squared error of f_S against f {scores[best]:.3g} "
        f"(± {error:.2g}){''.join(others)}."
    )
    note += f" On so few rows it cannot be told from {', '.join(alike)}; see cs.removal_quality." if alike else ""
    rows = len(trial.rows) + sum(one.model_rows for one in found.values())
    return Choice(_made(names[best], background, entropy), Note(note, topic="removal"), rows)


def _made(name: str, background: Any, entropy: int) -> Removal:
    return as_removal(name, background, None, stream(entropy, REMOVAL, 0))  # as by its name, to the last bit


def _apart(
    f: Predictor, X: Any, background: Any, source: np.ndarray | None, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Rows to make removals of, and others to judge them on."""
    if source is None:
        bound = bound_to(f, X, background, MEMORY)
        own = match_by_cells(bound.examples.codes, bound.background)
    else:
        own = match_by_source(source, len(X))
    free = np.arange(len(X)) if own is None else np.flatnonzero(own < 0)
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
